#include "runtime/free_kernel.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "ir/pools.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lowering/narrow_rows.h"
#include "ir/schedules/windows/stretch.h"
#include "runtime/compile.h"
#include "runtime/limits.h"
#include "runtime/options.h"
#include "runtime/sized_code.h"

namespace pooljit::runtime {
namespace {

// Never destroyed: threads may run kernels while the process ends.
std::shared_mutex& sizes_mutex() {
  alignas(std::shared_mutex) static std::byte room[sizeof(std::shared_mutex)];
  static std::shared_mutex& mutex = *new (room) std::shared_mutex;
  return mutex;
}

// Calls look(nest, schedule) of each pool: whether all of them hold.
template <typename Look>
bool holds_for_pools(const ir::PoolNest& nest, const ir::Schedule& schedule, const Look& look) {
  for (size_t i = 0; i < pools_of(nest).size(); ++i)
    if (!look(pools_of(nest)[i], pools_of(schedule)[i])) return false;
  return true;
}

// Elements of a row of outputs, of pixels or of a plane.
int64_t outputs_of_row(const ir::PoolNest& sized, const ir::Schedule& schedule) {
  return sized.dims.back().output * (has_rows_of_pixels(schedule) ? sized.channels : 1);
}

// Narrow rows that have code of their own in that code for all sizes.
bool have_own_code(const ir::PoolNest& sized, const ir::Schedule& schedule, const Code& general) {
  const auto isa = ir::find_isa(general.info.isa);
  if (!isa || !row_fields(schedule)) return false;
  return ir::NarrowRows::take(in_code(sized, schedule), schedule, *isa);
}

// Rows that do not fill two vectors.
bool is_narrow(const ir::PoolNest& sized, const ir::Schedule& schedule) {
  return row_fields(schedule) && outputs_of_row(sized, schedule) < 2 * int64_t{schedule.lanes};
}

// Vectors of outputs, or of a window's taps, of one image. Of rows and of pixels also those that are not
// full.
double vectors_of(const ir::PoolNest& pool, const ir::Schedule& schedule) {
  const bool has_planes = row_fields(schedule) && !has_rows_of_pixels(schedule);
  double rows = has_planes ? double(pool.channels) : 1;
  for (size_t i = 0; i + 1 < pool.dims.size(); ++i) rows *= double(pool.dims[i].output);
  if (row_fields(schedule))
    return rows * double(ir::ceil_div(outputs_of_row(pool, schedule), int64_t{schedule.lanes}));
  const double windows = rows * double(pool.dims.back().output);
  return schedule.family() == ir::Family::channels_last
             ? windows * double(ir::ceil_div(pool.channels, int64_t{schedule.lanes}))
             : windows * double(pool.channels) / schedule.lanes;
}

// Taps of an output: separable takes three of each vector along either dimension, whatever the window.
int64_t taps_of(const ir::PoolNest& pool, const ir::Schedule& schedule) {
  constexpr int64_t taps_of_two_dims = 6;
  const size_t rank = pool.dims.size();
  if (schedule.family() != ir::Family::separable) return pool.full_taps();
  return taps_of_two_dims * pool.full_taps() / (pool.dims[rank - 1].kernel * pool.dims[rank - 2].kernel);
}

// The share of a run that code for one size saves, with the same schedule.
double share_of_same(const ir::PoolNest& sized, const ir::Schedule& schedule) {
  constexpr double of_pixels = 0.1, of_rows = 0.25, of_narrow_rows = 0.5;
  if (is_narrow(sized, schedule)) return of_narrow_rows;
  return row_fields(schedule) ? of_rows : of_pixels;
}

// What other families, which are for one size, save of a run; 0: not much. Vectors of few channels are mostly
// empty, where rows of pixels are full; long windows along rows share most of their taps, and those that are
// side by side are vectors of taps.
double share_of_others(const ir::PoolNest& sized, const ir::Schedule& schedule, ir::Isa isa) {
  constexpr int64_t long_window = 12, long_window_apart = 9;
  constexpr double of_few_channels = 0.6, of_long_windows = 0.75;
  const ir::NestDim& columns = sized.dims.back();
  if (const ir::RowFields* const rows = row_fields(schedule)) {
    // Rolling rows of pixels share them too.
    const bool shares_taps = has_rows_of_pixels(schedule) && rows->scan == ir::RowFields::Scan::rolling;
    const bool are_long = columns.stride == 1 ? columns.kernel >= long_window
                                              : std::min(columns.kernel, columns.stride) >= long_window_apart;
    return !shares_taps && are_long ? of_long_windows : 0;
  }
  return 4 * schedule.lanes * ir::bytes(sized.input.dtype) <= info(isa).vector_bytes ? of_few_channels : 0;
}

// What code for one size saves of a plane of such rows. Of strided ones the same schedule saves little.
double saved_of_plane(const ir::PoolNest& sized, const ir::Schedule& schedule, bool by_the_same_schedule) {
  const int64_t vectors = ir::ceil_div(outputs_of_row(sized, schedule), schedule.lanes);
  return double(vectors) * (by_the_same_schedule && sized.dims.back().stride > 1 ? 3e-9 : 10e-9);
}

// Of one pool: 100 to 400 us.
constexpr double compile_seconds = 250e-6;

// Windows of an adaptive layer, along rows of one channel, that fill few lanes.
bool has_short_windows(const ir::PoolNest& sized, const ir::Schedule& schedule) {
  constexpr int64_t short_window = 8;
  const ir::NestDim& row = sized.dims.back();
  return schedule.family() == ir::Family::window_rows && row.output > 1 &&
         row.input < short_window * row.output;
}

// Gradients of rows that fill half a vector, 0.3 to 1 times as fast; of few outputs, where these go one by
// one. Adaptive ones take some time for each of at most twice as many stretches of a row as it has windows.
bool suits_gradient(const ir::PoolNest& sized, const ir::Schedule& schedule, bool follows) {
  constexpr double saved_seconds_of_stretch = 12e-9, saved_seconds_of_output = 2e-9, least_seconds = 50e-6;
  if (!follows && schedule.lanes > 1) return 2 * outputs_of_row(sized, schedule) >= schedule.lanes;
  const ir::NestDim& row = sized.dims.back();
  double parts = double(sized.channels) * double(follows ? std::min(row.output, 2 * row.input) : row.output);
  for (size_t i = 0; i + 1 < sized.dims.size(); ++i) parts *= double(sized.dims[i].output);
  return parts * (follows ? saved_seconds_of_stretch : saved_seconds_of_output) < least_seconds;
}

}  // namespace

size_t FreeKernel::SizeHash::operator()(const Size& size) const {
  uint64_t hash = 0;
  for (const int64_t extent : size) hash = (hash ^ static_cast<uint64_t>(extent)) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 32;
}

FreeKernel::FreeKernel(frontend::PoolSpec spec, Options options, bool needs_database, General general)
    : spec_(std::move(spec)),
      text_(frontend::print(spec_)),
      signature_(frontend::signature(spec_)),
      options_([&] {
        options.sizes = options.sizes == 0 ? usual_kept_sizes : options.sizes;
        // Proofs of exact code take long: they are made for those who ask for it.
        if (options.exact_after == 0 && options.verify) options.exact_after = never_exact;
        return std::move(options);
      }()),
      needs_database_(needs_database),
      general_(std::move(general)),
      general_schedule_(general_.code ? *ir::parse_schedule(general_.code->info.schedule) : ir::Schedule{}),
      threads_(thread_count(options_)) {}

ir::Error FreeKernel::sizes_not_said() const {
  return {ir::ErrorKind::invalid, "run.dims",
          "the spec leaves " + frontend::free_letters(spec_) + " free, and the call does not say them",
          "dims of pooljit_args; pooljit_kernel_sized, or sized(), for what is known of one size"};
}

size_t FreeKernel::kept_sizes() const {
  const std::shared_lock lock(sizes_mutex());
  return kernels_.size();
}

size_t FreeKernel::exact_sizes() const {
  const std::shared_lock lock(sizes_mutex());
  return static_cast<size_t>(
      std::ranges::count_if(kernels_, [](const auto& each) { return each.second.exact.kernel != nullptr; }));
}

// False: the size is compiled at its first run, since it would keep the code for all sizes for good, or for
// too long, which is slow there. Rows of one channel that do not fill two vectors are 0.2 to 0.6 times as
// fast, but those with code of their own, where they fill half a vector at least. Longer ones are 0.6 to
// 0.97, mostly above 0.75 (docs/performance.md, "Free dims"; docs/notes/free_dims.md has the layers).
bool FreeKernel::suits_general_code(const ir::PoolNest& sized) const {
  if (options_.exact_after != 0) return true;
  const ir::SameBits bits = same_bits(sized);
  constexpr double least_seconds = 50e-6;  // code for the size pays from the fifth run on
  if (bits == ir::SameBits::by_any_schedule)
    return saved_seconds(sized, Saved::by_any_schedule) < compile_seconds;
  if (saved_seconds(sized, Saved::by_others) > least_seconds) return false;
  if (bits == ir::SameBits::by_the_same_schedule) return true;
  return holds_for_pools(sized, general_schedule_, [&](const ir::PoolNest& pool, const ir::Schedule& own) {
    if (pool.is_backward() && row_fields(own))
      return suits_gradient(pool, own, general_.code->info.nest.extents == ir::Extents::any_windows);
    return (!is_narrow(pool, own) && !has_short_windows(pool, own)) ||
           (2 * (has_rows_of_pixels(own) ? outputs_of_row(pool, own) : pool.dims.back().input) >= own.lanes &&
            have_own_code(pool, own, *general_.code));
  });
}

// The run from which code for one size pays, for a size in code for all sizes: the time of compiling, divided
// by the time that a run saves. Unless the option says it.
int FreeKernel::exact_after(const ir::PoolNest& sized) const {
  const ir::SameBits bits = same_bits(sized);
  if (bits == ir::SameBits::never) return never_exact;
  if (options_.exact_after != 0) return options_.exact_after;
  const double pools = double(pools_of(sized).size());
  const Saved saved =
      bits == ir::SameBits::by_any_schedule ? Saved::by_any_schedule : Saved::by_the_same_schedule;
  const double runs = pools * compile_seconds / saved_seconds(sized, saved);
  return static_cast<int>(std::clamp(runs, 2.0, double(last_exact_after)));
}

// The time of a run that code for one size saves. Nothing is timed, so that the same runs do the same.
// docs/performance.md, "Free dims", has the measurements: code for one size saves 0.1 us of a run of 1 us in
// NHWC, and mostly less than a quarter in NCHW. seconds_per_tap, the time of a vector's tap, is in no table.
double FreeKernel::saved_seconds(const ir::PoolNest& sized, Saved by) const {
  constexpr double seconds_per_tap = 0.4e-9, saved_seconds_of_window = 10e-9;
  double seconds = 0;
  holds_for_pools(sized, general_schedule_, [&](const ir::PoolNest& pool, const ir::Schedule& own) {
    double windows = double(pool.channels);
    for (const ir::NestDim& dim : pool.dims) windows *= double(dim.output);
    if (has_short_windows(pool, own)) {
      if (by != Saved::by_others) seconds += windows * saved_seconds_of_window;
      return true;
    }
    const double taps = vectors_of(pool, own) * double(taps_of(pool, own));
    const double of_others = share_of_others(pool, own, *ir::find_isa(general_.code->info.isa));
    const double run = std::max(taps, 1.0) * seconds_per_tap;
    const double planes = has_rows_of_pixels(own) ? 1 : double(pool.channels);
    if (have_own_code(pool, own, *general_.code))
      seconds +=
          by == Saved::by_others ? 0 : planes * saved_of_plane(pool, own, by == Saved::by_the_same_schedule);
    else if (by != Saved::by_the_same_schedule && of_others > 0)
      seconds += of_others * run;
    else if (by != Saved::by_others)
      seconds += share_of_same(pool, own) * run;
    return true;
  });
  return seconds * double(spec_.batch.value_or(1));
}

ir::SameBits FreeKernel::same_bits(const ir::PoolNest& sized) const {
  const CodeInfo& general = general_.code->info;
  return ir::same_bits(general.nest, sized, general_schedule_, *ir::find_isa(general.isa));
}

// Not of a size that has its own code already.
bool FreeKernel::counts_runs(const Entry& entry) {
  return entry.exact_after != never_exact && entry.made.key.empty() && !entry.exact.kernel;
}

FreeKernel::Found FreeKernel::find(const Size& size, bool is_run) const {
  const std::shared_lock lock(sizes_mutex());
  const auto found = kernels_.find(size);
  if (found == kernels_.end()) return {};
  const Entry& entry = found->second;
  if (entry.used.load(std::memory_order_relaxed) != now_) entry.used.store(now_, std::memory_order_relaxed);
  if (!is_run) return {entry.made.kernel};
  if (!counts_runs(entry)) return {entry.exact.kernel ? entry.exact.kernel : entry.made.kernel};
  // Behind the run that makes exact code nobody counts: it may be at work still.
  if (entry.runs.load(std::memory_order_relaxed) >= entry.exact_after) return {entry.made.kernel};
  return {entry.made.kernel, entry.runs.fetch_add(1, std::memory_order_relaxed) + 1 == entry.exact_after};
}

ir::Result<KernelPtr> FreeKernel::code_for(std::span<const int64_t> sizes) const { return get(sizes, false); }
ir::Result<KernelPtr> FreeKernel::code_for_run(std::span<const int64_t> sizes) const {
  return get(sizes, true);
}

ir::Result<KernelPtr> FreeKernel::get(std::span<const int64_t> sizes, bool is_run) const {
  Size size = {};
  if (sizes.size() == spec_.dims.size()) {
    std::ranges::copy(sizes, size.begin());
    Found known = find(size, is_run);
    if (known.is_due)
      if (KernelPtr exact = add_exact(size, sizes)) return exact;
    if (known.kernel) return std::move(known.kernel);
  }
  return add(size, sizes, is_run);
}

ir::Result<KeyedKernel> FreeKernel::make(frontend::PoolSpec sized) const {
  const auto for_size_alone = [&] { return compile_keyed(std::move(sized), options_, needs_database_); };
  if (!general_.code) return for_size_alone();
  ir::PoolNest nest = make_nest(sized);
  if (!suits_general_code(nest)) return for_size_alone();
  if (!options_.tune_db.empty()) {
    const auto tuned = is_tuned(sized, options_, needs_database_);
    if (!tuned) return tl::unexpected(tuned.error());
    if (*tuned) return for_size_alone();
  }
  auto code = SizedCode::make(general_.code, std::move(nest));
  if (!code && code.error().id == "general.window") {
    if (general_.makes_code) return for_size_alone();
    return ir::unsupported("general.window", code.error().message,
                           "export the layer for this size, or compile it");
  }
  if (!code) return tl::unexpected(code.error());
  return KeyedKernel{std::make_shared<const Kernel>(std::move(sized), std::move(*code), threads_,
                                                    Kernel::Remarks{general_.why, "", options_.label}),
                     ""};
}

// Threads that miss the same size make it at once where only its words are new; for code they wait in the
// cache for the one that makes it.
ir::Result<KernelPtr> FreeKernel::add(const Size& size, std::span<const int64_t> sizes, bool is_run) const {
  auto sized = frontend::with_sizes(spec_, sizes);
  if (!sized) return tl::unexpected(sized.error());
  auto made = make(std::move(*sized));
  if (!made) return tl::unexpected(made.error());
  decltype(kernels_)::node_type oldest;  // gone after the lock is
  KernelPtr kernel;
  {
    const std::unique_lock lock(sizes_mutex());
    Entry& entry = kernels_[size];
    entry.used = ++now_;
    if (!entry.made.kernel) {
      entry.made = std::move(*made);
      entry.exact_after = entry.made.key.empty() ? exact_after(entry.made.kernel->code().info.nest) : 0;
    }
    // Of several threads that add it none makes exact code: a later run is to.
    if (is_run && counts_runs(entry) && entry.runs < entry.exact_after - 1) ++entry.runs;
    kernel = entry.made.kernel;
    if (kernels_.size() > static_cast<size_t>(options_.sizes))
      oldest = kernels_.extract(std::ranges::min_element(
          kernels_, {}, [](const auto& each) { return each.second.used.load(std::memory_order_relaxed); }));
  }
  if (oldest) forget(oldest.mapped());
  return kernel;
}

// None where the size has no such code, or there is no memory for it: what runs it already goes on.
KernelPtr FreeKernel::add_exact(const Size& size, std::span<const int64_t> sizes) const {
  auto sized = frontend::with_sizes(spec_, sizes);
  if (!sized) return nullptr;
  Options options = options_;
  if (same_bits(make_nest(*sized)) != ir::SameBits::by_any_schedule)
    options.schedule = general_.code->info.schedule;
  auto made = compile_keyed(std::move(*sized), options, needs_database_);
  if (!made) return nullptr;
  KernelPtr kernel = made->kernel;
  const std::unique_lock lock(sizes_mutex());
  const auto found = kernels_.find(size);
  if (found != kernels_.end()) found->second.exact = std::move(*made);
  return kernel;
}

void FreeKernel::forget(const Entry& entry) {
  for (const KeyedKernel* made : {&entry.made, &entry.exact})
    if (!made->key.empty()) cache().forget(made->key, made->kernel->code());
}

void lock_sizes_before_fork() { sizes_mutex().lock(); }
void unlock_sizes_in_parent() { sizes_mutex().unlock(); }
// By a thread that the child does not have.
void unlock_sizes_in_child() { new (&sizes_mutex()) std::shared_mutex; }

}  // namespace pooljit::runtime
