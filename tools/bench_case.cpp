#include "tools/bench_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ir/element_type.h"
#include "runtime/tuning/workload.h"
#include "tools/parallel.h"

namespace pooljit::tools {
namespace {

// Of values that come from others of `magnitude`, which may have cancelled out.
int64_t count_different(const Buffer& a, const Buffer& b, ir::DType dtype, double relative_error,
                        double magnitude = 0) {
  return ir::with_element_type(dtype, [&]<typename T>(T) {
    int64_t different = 0;
    for (size_t at = 0; at < a.size(); at += sizeof(T)) {
      if (std::memcmp(a.data() + at, b.data() + at, sizeof(T)) == 0) continue;
      T x{}, y{};
      std::memcpy(&x, a.data() + at, sizeof x);
      std::memcpy(&y, b.data() + at, sizeof y);
      const double error = std::abs(static_cast<double>(x) - static_cast<double>(y));
      different += !(error <= relative_error * std::max(magnitude, std::abs(static_cast<double>(y))));
    }
    return different;
  });
}

// Blocks of channels, and indices that count otherwise, are for kernels beside each other only.
bool can_measure(const frontend::PoolSpec& spec, Measured beside) {
  const bool is_for_all = spec.index_scope == ir::IndexScope::plane && spec.index_dtype == ir::DType::i64 &&
                          channel_block(spec.layout) == 1 && channel_block(output_layout(spec)) == 1;
  const bool is_forward = spec.direction == ir::Direction::forward;
  return !make_nest(spec).is_norm_gradient() &&
         (is_for_all || (beside == Measured::beside_kernels && is_forward)) &&
         (!is_unpool(spec) || output_layout(spec) == spec.layout);
}

// The largest value that the steps make of data from 1 to 2, about.
double magnitude_of(const frontend::PoolSpec& spec) {
  double size = spec.epilogue.empty() ? 0 : 2;
  for (const ir::EpilogueStep& step : spec.epilogue) {
    if (step.kind == ir::StepKind::scale)
      size = size * std::abs(step.numbers[0]) + std::abs(step.numbers[1]);
    else if (!info(step.kind).operands.empty())
      size = 2 * size + 2;
  }
  return size;
}

// Of what two right results may differ by.
double relative_bound(const frontend::PoolSpec& spec) {
  const bool only_moves = is_unpool(spec) || (make_nest(spec).is_extreme() && !make_nest(spec).is_backward());
  if (only_moves || !ir::is_float(spec.dtype)) return 0;
  const double epsilon = spec.dtype == ir::DType::f64 ? 0x1p-53 : 0x1p-24;
  // Halves, which are summed as floats, may differ where a last rounding makes much of little.
  const double last = spec.dtype == ir::DType::f16 ? 0x1p-10 : spec.dtype == ir::DType::bf16 ? 0x1p-7 : 0;
  return 2.0 * static_cast<double>(make_nest(spec).full_taps()) * epsilon + last;
}

int64_t bytes_of(std::span<const Buffer* const> buffers) {
  return std::accumulate(buffers.begin(), buffers.end(), int64_t{0},
                         [](int64_t sum, const Buffer* one) { return sum + int64_t(one->size()); });
}

}  // namespace

ir::Result<BenchCase::Tensor> BenchCase::Tensor::make(FileView view, ir::DType dtype, std::byte* room) {
  auto packed = Buffer::allocate(file_bytes(view, dtype));
  auto apart = Buffer::allocate(room || view.packed() ? 0 : tensor_bytes(view, dtype));
  for (auto* buffer : {&packed, &apart}) {
    if (!*buffer) return tl::unexpected(buffer->error());
    if ((*buffer)->size() > 0)  // the pages are there before anything is timed
      std::memset((*buffer)->data(), 0, (*buffer)->size());
  }
  std::byte* const seen = room ? room : view.packed() ? packed->data() : apart->data();
  return Tensor{std::move(view), dtype, std::move(*packed), std::move(*apart), seen};
}

// Strides may repeat elements: then the packed copy becomes what the view holds, so that all that is compared
// reads the same tensor.
void BenchCase::Tensor::put() const {
  if (seen == packed.data()) return;
  scatter(view, dtype, packed.data(), seen);
  gather(view, dtype, seen, packed.data());
}

void BenchCase::Tensor::take(const Buffer& to) const {
  if (seen == packed.data())
    std::memcpy(to.data(), seen, to.size());
  else
    gather(view, dtype, seen, to.data());
}

ir::Result<std::unique_ptr<BenchCase>> BenchCase::make(runtime::KernelPtr kernel, int threads,
                                                       Measured beside) {
  const frontend::PoolSpec& spec = kernel->spec();
  if (spec.batch == 0)
    return ir::invalid("bench.empty", "a batch of 0 is no work to measure", "give the spec a batch of 1");
  const auto all = [&](auto holds) { return std::ranges::all_of(pools_of(spec), holds); };
  const bool converts = !all([](const frontend::PoolSpec& pool) {
    return !pool.output_dtype && !pool.quantized && has_plain_epilogue(pool);
  });
  if (converts && beside == Measured::beside_all)
    return ir::unsupported("bench.conversion", "the plain loop converts and requantizes nothing",
                           "leave output_dtype and scales out; give epilogues to float32 or float64 only");
  if (!all([&](const frontend::PoolSpec& pool) { return can_measure(pool, beside); }))
    return ir::unsupported(
        "bench.no_plain_loop", "nothing that bench compares with does this",
        "give a layer of nchw or nhwc with int64 indices of the plane, other than an unpool of two layouts "
        "or a gradient of a norm; with --peers none also forward layers of blocks and indices of the tensor");
  std::unique_ptr<BenchCase> bench(new BenchCase(std::move(kernel), threads));
  bench->has_plain_loop_ = beside == Measured::beside_all;
  auto made = bench->make_input();
  if (made) made = bench->make_pools();
  if (made) made = bench->make_operands();
  if (!made) return tl::unexpected(made.error());
  bench->list_arguments();
  bench->threads_ = useful_threads(threads, bench->bytes_read() + bench->bytes_written());
  return bench;
}

ir::Result<void> BenchCase::make_input() {
  const frontend::PoolSpec& spec = kernel_->spec();
  auto input = Tensor::make(input_view(spec), spec.dtype);
  if (!input) return tl::unexpected(input.error());
  input_ = std::move(*input);
  // Ordinary numbers: the plain loop's results are comparable one by one.
  runtime::fill_ordinary(spec.dtype, input_.packed.span());
  input_.put();
  if (!spec.concat) return {};
  auto joined = Buffer::allocate(static_cast<size_t>(kernel_->output_view().span_bytes()));
  if (!joined) return tl::unexpected(joined.error());
  joined_ = std::move(*joined);
  std::memset(joined_.data(), 0, joined_.size());
  if (!spec.include_input) return {};
  auto copied = Tensor::make(copied_view(spec), spec.dtype, joined_.data());
  if (!copied) return tl::unexpected(copied.error());
  copied_ = std::move(*copied);
  return {};
}

ir::Result<void> BenchCase::make_pools() {
  const frontend::PoolSpec& spec = kernel_->spec();
  const ir::PoolNest& nest = kernel_->code().info.nest;
  const size_t count = pools_of(spec).size(), before = pools_of(nest).size() - count;
  for (size_t i = 0; i < count; ++i) {
    Pool pool{.spec = pools_of(spec)[i]};
    if (spec.concat) pool.spec.output_layout = spec.output_layout;
    const ir::DType dtype = output_dtype(pool.spec);
    const int64_t offset = nest.member_place(before + i).offset * ir::bytes(dtype);
    auto output = Tensor::make(output_view(spec, i), dtype, spec.concat ? joined_.data() + offset : nullptr);
    if (!output) return tl::unexpected(output.error());
    pool.output = std::move(*output);
    if (has_indices(pool.spec)) {
      auto indices = Tensor::make(indices_view(spec, i), pool.spec.index_dtype);
      if (!indices) return tl::unexpected(indices.error());
      pool.indices = std::move(*indices);
      if (reads_indices()) fill_indices(pool);
    }
    if (has_plain_loop_) {
      pool.plain = plain_pool(pool.spec);
      pool.plain_epilogue = plain_epilogue(pool.spec);
      pool.plain_unpool = plain_unpool(pool.spec);
    }
    pools_.push_back(std::move(pool));
  }
  return {};
}

// Of the epilogues' steps, given to the parts of the plain epilogue that take them.
ir::Result<void> BenchCase::make_operands() {
  const std::vector<FileView> views = operand_views(kernel_->spec());
  const std::vector<ir::View> types = operand_views(kernel_->code().info.nest);
  size_t number = 0;
  for (Pool& pool : pools_) {
    PlainPart* plain = pool.plain_epilogue.part;
    for (const ir::EpilogueStep& step : pool.spec.epilogue) {
      const ir::StepInfo& row = info(step.kind);
      const size_t first = pool.operands.size();
      for (size_t i = 0; i < row.operands.size(); ++i, ++number) {
        auto operand = Tensor::make(views[number], types[number].dtype);
        if (!operand) return tl::unexpected(operand.error());
        runtime::fill_ordinary(operand->dtype, operand->packed.span());
        operand->put();
        pool.operands.push_back(std::move(*operand));
      }
      if (!has_plain_loop_) continue;
      for (const ir::StepPart& part : row.parts) {
        if (!row.operands.empty()) {
          plain->operand = pool.operands[first + part.argument].packed.data();
          plain->is_tensor = row.operands[part.argument] == 'T';
        }
        ++plain;
      }
    }
  }
  return {};
}

void BenchCase::list_arguments() {
  read_ = {&input_.packed};
  if (joined_.size() > 0) outputs_ = {joined_.data()}, written_ = {&joined_};
  for (const Pool& pool : pools_) {
    if (joined_.size() == 0) outputs_.push_back(pool.output.seen), written_.push_back(&pool.output.packed);
    if (pool.has_indices()) {
      indices_.push_back(pool.indices.seen);
      (reads_indices() ? read_ : written_).push_back(&pool.indices.packed);
    }
    for (const Tensor& operand : pool.operands)
      operands_.push_back(operand.seen), read_.push_back(&operand.packed);
  }
}

// Of each window the index of one place, as a forward pass gives it.
void BenchCase::fill_indices(const Pool& pool) const {
  const frontend::PoolSpec& spec = pool.spec;
  const ir::PoolNest nest = make_nest(spec);
  std::vector<ir::NestDim> dims = nest.dims, forward = dims;  // from windows to places
  if (nest.is_backward()) forward = forward_of(nest).dims;
  if (spec.unpool_gradient)
    for (ir::NestDim& dim : dims) std::swap(dim.input, dim.output);
  const auto place = [&](size_t d, int64_t window, int64_t tap) {
    const ir::NestDim& dim = dims[d];
    if (!nest.is_backward())
      return std::clamp<int64_t>(window * dim.stride - dim.pad_begin + tap % dim.kernel, 0, dim.output - 1);
    const ir::Window taps = forward[d].window(window);
    return taps.taps == 0 ? -1 : taps.first + tap % taps.taps * taps.step;
  };
  int64_t windows = 1;
  for (const ir::NestDim& dim : dims) windows *= dim.input;
  const int64_t step = spec.layout == frontend::Layout::nhwc ? spec.channels : 1;  // from window to window
  const int64_t count = std::ssize(pool.indices.packed.span()) / static_cast<int64_t>(sizeof(int64_t));
  auto* const indices = reinterpret_cast<int64_t*>(pool.indices.packed.data());
  for (int64_t i = 0; i < count; ++i) {
    int64_t window = i / step % windows, index = 0, weight = 1;
    for (size_t d = dims.size(); d-- > 0; window /= dims[d].input, weight *= dims[d].output) {
      const int64_t at = place(d, window % dims[d].input, i * 7 / (int64_t(d) + 1));
      index = at < 0 || index < 0 ? -1 : index + at * weight;
    }
    indices[i] = index;
  }
  pool.indices.put();
}

int64_t BenchCase::bytes_read() const { return bytes_of(read_); }
int64_t BenchCase::bytes_written() const { return bytes_of(written_); }

ir::Result<void> BenchCase::run_kernel(const runtime::Kernel& kernel) const {
  return kernel.run(input_.seen, {outputs_, indices_}, nullptr, -1, operands_);
}

void BenchCase::run_plain() const {
  for (const Pool& pool : pools_) run_plain(pool);
}

void BenchCase::run_plain(const Pool& pool) const {
  const void* const input = is_unpool(pool.spec) ? input_.packed.data() : input_.seen;
  std::byte* const output = pool.plain.writes_view ? pool.output.seen : pool.output.packed.data();
  const bool sees_view = reads_indices() ? !is_unpool(pool.spec) : pool.plain.writes_view;
  auto* const indices =
      reinterpret_cast<int64_t*>(sees_view ? pool.indices.seen : pool.indices.packed.data());
  if (is_unpool(pool.spec))
    return in_parallel(threads_, plain_tasks(pool.plain_unpool), [&](int64_t begin, int64_t end) {
      run_plain_unpool(pool.plain_unpool, input, indices, output, begin, end);
    });
  if (pool.spec.direction == ir::Direction::backward)
    return in_parallel(threads_, plain_gradient_tasks(pool.plain), [&](int64_t begin, int64_t end) {
      run_plain_gradient(pool.plain, input, indices, output, begin, end);
    });
  in_parallel(threads_, plain_tasks(pool.plain), [&](int64_t begin, int64_t end) {
    tools::run_plain(pool.plain, input, output, indices, begin, end);
  });
  if (pool.plain_epilogue.parts == 0) return;
  in_parallel(threads_, pool.plain_epilogue.rows, [&](int64_t begin, int64_t end) {
    run_plain_epilogue(pool.plain_epilogue, output, begin, end);
  });
}

void BenchCase::run_copy(bool streaming) const {
  // Each stream that is read goes to each that is written, in shares by their sizes. All threads do a part.
  const size_t read = static_cast<size_t>(bytes_read()), written = static_cast<size_t>(bytes_written());
  in_parallel(threads_, threads_, [&](int64_t begin, int64_t) {
    const auto part = static_cast<size_t>(begin), parts = static_cast<size_t>(threads_);
    size_t written_before = 0;
    for (const Buffer* to : written_) {
      size_t read_before = 0;
      for (const Buffer* from : read_) {
        const auto share = [](const Buffer& of, size_t before, size_t size, size_t all) {
          const auto at = [&](size_t bytes) {
            return static_cast<size_t>(double(of.size()) * double(bytes) / double(all)) / 64 * 64;
          };
          return std::span(of.data() + at(before),
                           (before + size == all ? of.size() : at(before + size)) - at(before));
        };
        const auto input = share(*from, written_before, to->size(), written);
        const auto output = share(*to, read_before, from->size(), read);
        copy_part({input.data(), input.size(), output.data(), output.size()}, part, parts, streaming);
        read_before += from->size();
      }
      written_before += to->size();
    }
  });
}

ir::Result<std::vector<BenchCase::Theirs>> BenchCase::theirs() const {
  std::vector<Theirs> all;
  for (const Pool& pool : pools_) {
    auto output = Buffer::allocate(pool.output.packed.size());
    auto indices = Buffer::allocate(pool.indices.packed.size());
    for (const auto* buffer : {&output, &indices})
      if (!*buffer) return tl::unexpected(buffer->error());
    all.push_back({input_.packed.data(), std::move(*output), std::move(*indices)});
  }
  return all;
}

ir::Result<std::vector<BenchCase::Theirs>> BenchCase::run_once(const runtime::Kernel& kernel) const {
  auto ours = theirs();
  if (!ours) return ours;
  if (auto ok = run_kernel(kernel); !ok) return tl::unexpected(ok.error());
  for (size_t i = 0; i < pools_.size(); ++i) {
    pools_[i].output.take((*ours)[i].output);
    if (pools_[i].has_indices()) pools_[i].indices.take((*ours)[i].indices);
  }
  return ours;
}

int64_t BenchCase::count_differences(std::span<const Theirs> ours, size_t pool, const Buffer& output,
                                     const Buffer& indices) const {
  const frontend::PoolSpec& spec = pools_[pool].spec;
  return count_different(ours[pool].output, output, output_dtype(spec), relative_bound(spec),
                         magnitude_of(spec)) +
         count_different(ours[pool].indices, indices, spec.index_dtype, 0);
}

// Of what the last run left.
int64_t BenchCase::copy_differences() const {
  if (!copied_) return 0;
  copied_->take(copied_->packed);
  return count_different(copied_->packed, input_.packed, copied_->dtype, 0);
}

ir::Result<int64_t> BenchCase::differences() {
  const auto ours = run_once(*kernel_);
  if (!ours) return tl::unexpected(ours.error());
  int64_t count = copy_differences();
  for (const Pool& pool : pools_)  // what the plain loop leaves out differs
    if (pool.plain.writes_view) std::memset(pool.output.apart.data(), 0, pool.output.apart.size());
  run_plain();
  for (size_t i = 0; const Pool& pool : pools_) {
    if (pool.plain.writes_view) pool.output.take(pool.output.packed);
    if (pool.plain.writes_view && pool.has_indices()) pool.indices.take(pool.indices.packed);
    count += count_differences(*ours, i++, pool.output.packed, pool.indices.packed);
  }
  return count;
}

ir::Result<int64_t> BenchCase::differences_from(std::span<const Theirs> theirs) const {
  const auto ours = run_once(*kernel_);
  if (!ours) return tl::unexpected(ours.error());
  int64_t count = copy_differences();
  for (size_t i = 0; i < pools_.size(); ++i)
    count += count_differences(*ours, i, theirs[i].output, theirs[i].indices);
  return count;
}

ir::Result<int64_t> BenchCase::differences_from(const runtime::Kernel& other) const {
  const auto theirs = run_once(other);
  if (!theirs) return tl::unexpected(theirs.error());
  return differences_from(*theirs);
}

// The rows of all, one after the other: images, or pixels where channels are innermost.
void BenchCase::join(std::span<const Theirs> theirs) const {
  if (joined_.size() == 0) return;
  const FileView& view = pools_[0].output.view;
  int64_t rows = 1;
  for (size_t axis = 0; axis < view.channel; ++axis) rows *= view.shape[axis];
  std::vector<const Buffer*> parts;
  if (copied_) parts.push_back(&input_.packed);
  for (const Theirs& each : theirs) parts.push_back(&each.output);
  const size_t row_bytes = joined_.size() / static_cast<size_t>(rows);
  in_parallel(threads_, rows, [&](int64_t begin, int64_t end) {
    for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
      std::byte* to = joined_.data() + row * row_bytes;
      for (const Buffer* part : parts) {
        const size_t bytes = part->size() / static_cast<size_t>(rows);
        std::memcpy(to, part->data() + row * bytes, bytes);
        to += bytes;
      }
    }
  });
}

}  // namespace pooljit::tools
