#include "tools/bench/corners.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/schedule_text.h"
#include "runtime/compile.h"
#include "runtime/tuning/workload.h"
#include "tools/bench/corner_layers.h"
#include "tools/bench_case.h"
#include "tools/fuzz/shrink.h"
#include "tools/measure.h"

namespace pooljit::tools {
namespace {

constexpr int64_t most_view_bytes = int64_t{1} << 28;  // with their gaps
MeasureOptions quick() {
  return {.sample_seconds = 150e-6, .budget_seconds = 0.02, .fewest_samples = 5, .settle_seconds = 200e-6};
}

struct Bytes {
  int64_t read = 0, written = 0, spanned = 0;
};

Bytes bytes_of(const runtime::Kernel& kernel) {
  Bytes bytes;
  const auto add = [&](const runtime::MemoryView& view, int64_t& to) {
    // The elements, once each where dimensions repeat themselves.
    to += std::min(view.span_bytes(), view.element_count() * view.element_bytes);
    bytes.spanned += view.span_bytes();
  };
  add(kernel.input_view(), bytes.read);
  const bool reads_indices = kernel.spec().direction != ir::Direction::forward;
  for (const runtime::MemoryView& view : kernel.output_views()) add(view, bytes.written);
  for (const runtime::MemoryView& view : kernel.index_views())
    add(view, reads_indices ? bytes.read : bytes.written);
  for (const runtime::MemoryView& view : kernel.operand_views()) add(view, bytes.read);
  return bytes;
}

// What the plain loop does is measured on a BenchCase.
void time_with_plain_loop(const BenchCase& bench, Corner& corner) {
  const std::function<void()> contenders[] = {[&] { (void)bench.run_kernel(); },
                                              [&] { bench.run_copy(false); }, [&] { bench.run_plain(); }};
  const std::vector<Timing> timings = measure(contenders, quick());
  corner.call = timings[0].median, corner.copy = timings[1].median, corner.plain = timings[2].median;
}

ir::Result<void> time_alone(const runtime::Kernel& kernel, const Bytes& bytes, Corner& corner) {
  const auto workload = runtime::Workload::make(kernel);
  if (!workload) return tl::unexpected(workload.error());
  if (auto ran = workload->run(kernel); !ran) return tl::unexpected(ran.error());
  auto from = Buffer::allocate(static_cast<size_t>(bytes.read));
  auto to = Buffer::allocate(static_cast<size_t>(bytes.written));
  for (auto* buffer : {&from, &to}) {
    if (!*buffer) return tl::unexpected(buffer->error());
    std::ranges::fill((*buffer)->span(), std::byte{1});
  }
  const std::function<void()> contenders[] = {
      [&] { (void)workload->run(kernel); },
      [&] {
        copy_part({from->data(), from->size(), to->data(), to->size()}, 0, 1, false);
      }};
  const std::vector<Timing> timings = measure(contenders, quick());
  corner.call = timings[0].median, corner.copy = timings[1].median;
  return {};
}

}  // namespace

ir::Result<Corner> measure_corner(const frontend::PoolSpec& spec, const runtime::Options& options) {
  const auto kernel = runtime::compile_uncached(print(spec), options);
  if (!kernel) return tl::unexpected(kernel.error());
  const Bytes bytes = bytes_of(**kernel);
  if (bytes.spanned > most_view_bytes)
    return ir::unsupported("corners.memory", "the layer's views take too much memory to be measured");
  const runtime::CodeInfo& code = (*kernel)->code().info;
  Corner corner{.spec = (*kernel)->text(), .schedule = code.schedule};
  corner.cause = cause_of(spec, ir::parse_schedule(code.schedule).value_or(ir::Schedule{}));
  corner.bytes = bytes.read + bytes.written;
  const auto bench = BenchCase::make(*kernel, 1);
  if (bench && (*bench)->run_kernel())
    time_with_plain_loop(**bench, corner);
  else if (auto timed = time_alone(**kernel, bytes, corner); !timed)
    return tl::unexpected(timed.error());
  return corner;
}

Corner shrink_corner(const Corner& corner, double (Corner::*slowness)() const,
                     const runtime::Options& options, const std::function<bool()>& is_over) {
  constexpr double tolerance = 1.1;
  // Below it the call itself counts.
  const int64_t least_bytes = std::min<int64_t>(corner.bytes, 16 << 10);
  Corner best = corner;
  std::set<std::string> seen;
  const auto try_smaller = [&] {
    for (const std::string& text : fuzz::simpler_texts(best.spec)) {
      if (is_over()) return false;
      const auto spec = frontend::parse_spec(text);
      if (!spec || moved_bytes(*spec) < least_bytes || spec->batch == 0 || !seen.insert(print(*spec)).second)
        continue;
      const auto smaller = measure_corner(*spec, options);
      if (!smaller || (slowness == &Corner::speedup && !smaller->plain) ||
          ((*smaller).*slowness)() > tolerance * (corner.*slowness)())
        continue;
      best = *smaller;
      return true;
    }
    return false;
  };
  while (try_smaller()) {
  }
  return best;
}

std::vector<CornerCause> group_corners(const std::vector<Corner>& corners) {
  std::map<std::string, std::vector<const Corner*>> by_cause;
  for (const Corner& corner : corners) by_cause[corner.cause].push_back(&corner);
  std::vector<CornerCause> causes;
  for (auto& [cause, of_cause] : by_cause) {
    std::ranges::sort(of_cause, {}, [](const Corner* corner) { return corner->share(); });
    causes.push_back({.cause = cause,
                      .layers = of_cause.size(),
                      .median_share = of_cause[of_cause.size() / 2]->share(),
                      .slowest = *of_cause.front()});
  }
  std::ranges::sort(causes, {}, &CornerCause::median_share);
  return causes;
}

}  // namespace pooljit::tools
