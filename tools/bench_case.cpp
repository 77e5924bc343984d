#include "tools/bench_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

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

// Into the view, whose strides may repeat elements: then the packed copy becomes what the view holds, so that
// all that is compared reads the same tensor.
void copy_into_view(const FileView& view, ir::DType dtype, const Buffer& packed, const Buffer& strided) {
  if (view.packed()) return;
  scatter(view, dtype, packed.data(), strided.data());
  gather(view, dtype, strided.data(), packed.data());
}

// Blocks of channels, and indices that count otherwise, are for kernels beside each other only.
bool can_measure(const frontend::PoolSpec& spec, Measured beside) {
  const bool is_for_all = spec.index_scope == ir::IndexScope::plane && channel_block(spec.layout) == 1 &&
                          channel_block(output_layout(spec)) == 1;
  const bool is_forward = spec.direction == ir::Direction::forward;
  return !is_pools(spec) && !make_nest(spec).is_norm_gradient() && spec.index_dtype == ir::DType::i64 &&
         (is_for_all || (beside == Measured::beside_kernels && is_forward && spec.epilogue.empty())) &&
         (!is_unpool(spec) || output_layout(spec) == spec.layout);
}

// Whether an epilogue can be done in place behind the plain loop: nothing in it converts.
bool has_plain_epilogue(const frontend::PoolSpec& spec) {
  if (spec.epilogue.empty()) return true;
  const ir::PoolNest nest = make_nest(spec);
  const std::vector<ir::View> operands = operand_views(nest);
  return nest.result_dtype() == spec.dtype &&
         std::all_of(operands.begin(), operands.end(),
                     [&](const ir::View& view) { return view.dtype == spec.dtype; });
}

// The largest value that the steps make of data from 1 to 2, about.
double magnitude_of(const frontend::PoolSpec& spec) {
  double size = spec.epilogue.empty() ? 0 : 2;
  for (const ir::EpilogueStep& step : spec.epilogue) {
    const std::string_view operands = info(step.kind).operands;
    if (step.kind == ir::StepKind::scale)
      size = size * std::abs(step.numbers[0]) + std::abs(step.numbers[1]);
    else if (!operands.empty())
      size = 2 * size + 2;
  }
  return size;
}

PlainEpilogue plain_epilogue(const frontend::PoolSpec& spec) {
  PlainEpilogue epilogue;
  epilogue.is_double = spec.dtype == ir::DType::f64;
  epilogue.channels_last = output_layout(spec) == frontend::Layout::nhwc;
  epilogue.channels = spec.channels;
  int64_t elements = 1, planes = spec.batch.value_or(1) * spec.channels;
  for (int64_t extent : output_shape(spec)) elements *= extent;
  epilogue.row = epilogue.channels_last ? spec.channels : elements / planes;
  epilogue.rows = elements / epilogue.row;
  for (const ir::EpilogueStep& step : spec.epilogue)
    for (const ir::StepPart& part : info(step.kind).parts)
      epilogue.part[epilogue.parts++] = {.kind = static_cast<PlainPartKind>(part.kind),
                                         .number = step.numbers[part.argument]};
  return epilogue;
}

PlainUnpool plain_unpool(const frontend::PoolSpec& spec) {
  const ir::PoolNest nest = make_nest(spec);
  PlainUnpool unpool{.element_bytes = ir::bytes(spec.dtype),
                     .channels_last = spec.layout == frontend::Layout::nhwc,
                     .gathers = spec.unpool_gradient,
                     .batch = spec.batch.value_or(1),
                     .channels = spec.channels};
  for (const ir::NestDim& dim : nest.dims) unpool.values *= dim.input, unpool.places *= dim.output;
  if (unpool.gathers) std::swap(unpool.values, unpool.places);
  return unpool;
}

}  // namespace

BenchCase::BenchCase(runtime::KernelPtr kernel, int threads)
    : kernel_(std::move(kernel)),
      plain_(plain_pool(kernel_->spec())),
      plain_epilogue_(plain_epilogue(kernel_->spec())),
      plain_unpool_(plain_unpool(kernel_->spec())),
      from_(input_view(kernel_->spec())),
      to_(output_view(kernel_->spec())),
      threads_(threads) {}

ir::Result<std::unique_ptr<BenchCase>> BenchCase::make(runtime::KernelPtr kernel, int threads,
                                                       Measured beside) {
  if (kernel->spec().batch == 0)
    return ir::invalid("bench.empty", "a batch of 0 is no work to measure", "give the spec a batch of 1");
  if (kernel->spec().output_dtype || kernel->spec().quantized || !has_plain_epilogue(kernel->spec()))
    return ir::unsupported("bench.conversion", "the plain loop converts and requantizes nothing",
                           "leave output_dtype and scales out; give epilogues to float32 or float64 only");
  if (!can_measure(kernel->spec(), beside))
    return ir::unsupported(
        "bench.no_plain_loop", "nothing that bench compares with does this",
        "give a layer of nchw or nhwc with int64 indices of the plane, other than an unpool of two layouts "
        "or a gradient of a norm; with --peers none also forward layers of blocks and indices of the tensor");
  std::unique_ptr<BenchCase> bench(new BenchCase(std::move(kernel), threads));
  if (auto ok = bench->allocate(); !ok) return tl::unexpected(ok.error());
  bench->fill_input();
  if (has_indices(bench->kernel_->spec()) && bench->reads_indices()) bench->fill_indices();
  if (auto ok = bench->make_operands(); !ok) return tl::unexpected(ok.error());
  bench->threads_ = useful_threads(threads, bench->bytes_read() + bench->bytes_written());
  return bench;
}

ir::Result<void> BenchCase::allocate() {
  const frontend::PoolSpec& spec = kernel_->spec();
  const size_t index_elements = has_indices(spec) ? 1 : 0;
  const struct {
    Buffer& buffer;
    size_t bytes;
  } wanted[] = {
      {packed_input_, file_bytes(from_, spec.dtype)},
      {packed_output_, file_bytes(to_, spec.dtype)},
      {packed_indices_, file_bytes(index_view(), ir::DType::i64) * index_elements},
      {strided_input_, from_.packed() ? 0 : tensor_bytes(from_, spec.dtype)},
      {strided_output_, to_.packed() ? 0 : tensor_bytes(to_, spec.dtype)},
      {strided_indices_,
       index_view().packed() ? 0 : tensor_bytes(index_view(), ir::DType::i64) * index_elements},
  };
  for (const auto& [buffer, bytes] : wanted) {
    auto memory = Buffer::allocate(bytes);
    if (!memory) return tl::unexpected(memory.error());
    buffer = std::move(*memory);
    std::memset(buffer.data(), 0, buffer.size());  // the pages are there before anything is timed
  }
  return {};
}

void BenchCase::fill_input() {
  // Ordinary numbers: the plain loop's results are comparable one by one.
  runtime::fill_ordinary(kernel_->spec().dtype, {packed_input_.data(), packed_input_.size()});
  copy_into_view(from_, kernel_->spec().dtype, packed_input_, strided_input_);
}

// Of each window the index of one place, as a forward pass gives it.
void BenchCase::fill_indices() {
  const frontend::PoolSpec& spec = kernel_->spec();
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
  const int64_t count = std::ssize(packed_indices_.span()) / static_cast<int64_t>(sizeof(int64_t));
  auto* const indices = reinterpret_cast<int64_t*>(packed_indices_.data());
  for (int64_t i = 0; i < count; ++i) {
    int64_t window = i / step % windows, index = 0, weight = 1;
    for (size_t d = dims.size(); d-- > 0; window /= dims[d].input, weight *= dims[d].output) {
      const int64_t at = place(d, window % dims[d].input, i * 7 / (int64_t(d) + 1));
      index = at < 0 || index < 0 ? -1 : index + at * weight;
    }
    indices[i] = index;
  }
  copy_into_view(index_view(), ir::DType::i64, packed_indices_, strided_indices_);
}

void* BenchCase::indices() const {
  if (!has_indices(kernel_->spec())) return nullptr;
  return (index_view().packed() ? packed_indices_ : strided_indices_).data();
}

ir::Result<void> BenchCase::make_operands() {
  const frontend::PoolSpec& spec = kernel_->spec();
  for (const ir::EpilogueStep& step : spec.epilogue)
    for (char form : info(step.kind).operands) {
      const bool is_tensor = form == 'T';
      auto packed = Buffer::allocate(is_tensor ? file_bytes(to_, spec.dtype)
                                               : static_cast<size_t>(spec.channels * ir::bytes(spec.dtype)));
      auto strided = Buffer::allocate(is_tensor && !to_.packed() ? tensor_bytes(to_, spec.dtype) : 0);
      for (const auto* buffer : {&packed, &strided})
        if (!*buffer) return tl::unexpected(buffer->error());
      runtime::fill_ordinary(spec.dtype, {packed->data(), packed->size()});
      if (strided->size() > 0) scatter(to_, spec.dtype, packed->data(), strided->data());
      packed_operands_.push_back(std::move(*packed));
      strided_operands_.push_back(std::move(*strided));
    }
  give_operands();
  return {};
}

// To the parts of the plain epilogue that take them.
void BenchCase::give_operands() {
  PlainPart* plain = plain_epilogue_.part;
  size_t first = 0;
  for (const ir::EpilogueStep& step : kernel_->spec().epilogue) {
    const ir::StepInfo& row = info(step.kind);
    for (const ir::StepPart& part : row.parts) {
      if (!row.operands.empty()) {
        plain->operand = packed_operands_[first + part.argument].data();
        plain->is_tensor = row.operands[part.argument] == 'T';
      }
      ++plain;
    }
    first += row.operands.size();
  }
}

int64_t BenchCase::bytes_read() const {
  size_t bytes = packed_input_.size() + (reads_indices() ? packed_indices_.size() : 0);
  for (const Buffer& operand : packed_operands_) bytes += operand.size();
  return static_cast<int64_t>(bytes);
}

ir::Result<void> BenchCase::run_kernel(const runtime::Kernel& kernel) const {
  const Buffer& output = to_.packed() ? packed_output_ : strided_output_;
  std::array<const void*, ir::most_operands> operands = {};
  for (size_t i = 0; i < packed_operands_.size(); ++i)
    operands[i] = (strided_operands_[i].size() > 0 ? strided_operands_ : packed_operands_)[i].data();
  return kernel.run((from_.packed() ? packed_input_ : strided_input_).data(), output.data(), indices(),
                    nullptr, -1, std::span(operands).first(packed_operands_.size()));
}

void BenchCase::run_plain() const {
  const frontend::PoolSpec& spec = kernel_->spec();
  const bool reads_view = !from_.packed() && !is_unpool(spec);
  const void* const input = (reads_view ? strided_input_ : packed_input_).data();
  void* const output = packed_output_.data();
  const Buffer& index_buffer = reads_view && reads_indices() ? strided_indices_ : packed_indices_;
  auto* const indices = has_indices(spec) ? reinterpret_cast<int64_t*>(index_buffer.data()) : nullptr;
  if (is_unpool(spec))
    return in_parallel(threads_, plain_tasks(plain_unpool_), [&](int64_t begin, int64_t end) {
      run_plain_unpool(plain_unpool_, input, indices, output, begin, end);
    });
  if (spec.direction == ir::Direction::backward)
    return in_parallel(threads_, plain_gradient_tasks(plain_), [&](int64_t begin, int64_t end) {
      run_plain_gradient(plain_, input, indices, output, begin, end);
    });
  in_parallel(threads_, plain_tasks(plain_), [&](int64_t begin, int64_t end) {
    tools::run_plain(plain_, input, output, indices, begin, end);
  });
  if (plain_epilogue_.parts == 0) return;
  in_parallel(threads_, plain_epilogue_.rows,
              [&](int64_t begin, int64_t end) { run_plain_epilogue(plain_epilogue_, output, begin, end); });
}

void BenchCase::run_copy(bool streaming) const {
  // Each stream that is read goes to each that is written, in shares by their sizes: a part of the work of
  // each thread for each.
  std::vector<const Buffer*> sources = {&packed_input_};
  for (const Buffer& operand : packed_operands_) sources.push_back(&operand);
  std::vector<const Buffer*> targets = {&packed_output_};
  (reads_indices() ? sources.push_back(&packed_indices_) : targets.push_back(&packed_indices_));
  const size_t read = static_cast<size_t>(bytes_read()), written = static_cast<size_t>(bytes_written());
  in_parallel(threads_, threads_, [&](int64_t begin, int64_t) {
    const auto part = static_cast<size_t>(begin), parts = static_cast<size_t>(threads_);
    size_t written_before = 0;
    for (const Buffer* to : targets) {
      size_t read_before = 0;
      for (const Buffer* from : sources) {
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

ir::Result<BenchCase::Outputs> BenchCase::run_once(const runtime::Kernel& kernel) const {
  const frontend::PoolSpec& spec = kernel_->spec();
  if (auto ok = run_kernel(kernel); !ok) return tl::unexpected(ok.error());
  auto output = Buffer::allocate(packed_output_.size());
  auto indices = Buffer::allocate(spec.return_indices ? packed_indices_.size() : 0);
  for (const auto* buffer : {&output, &indices})
    if (!*buffer) return tl::unexpected(buffer->error());
  if (to_.packed()) {
    std::memcpy(output->data(), packed_output_.data(), output->size());
    std::memcpy(indices->data(), packed_indices_.data(), indices->size());
  } else {
    gather(to_, spec.dtype, strided_output_.data(), output->data());
    if (spec.return_indices) gather(to_, ir::DType::i64, strided_indices_.data(), indices->data());
  }
  return Outputs{std::move(*output), std::move(*indices)};
}

double BenchCase::relative_bound() const {
  const frontend::PoolSpec& spec = kernel_->spec();
  const bool only_moves = is_unpool(spec) || (make_nest(spec).is_extreme() && !make_nest(spec).is_backward());
  if (only_moves || !ir::is_float(spec.dtype)) return 0;
  const double epsilon = spec.dtype == ir::DType::f64 ? 0x1p-53 : 0x1p-24;
  // Halves, which are summed as floats, may differ where a last rounding makes much of little.
  const double last = spec.dtype == ir::DType::f16 ? 0x1p-10 : spec.dtype == ir::DType::bf16 ? 0x1p-7 : 0;
  return 2.0 * static_cast<double>(make_nest(spec).full_taps()) * epsilon + last;
}

ir::Result<int64_t> BenchCase::differences() {
  const auto ours = run_once(*kernel_);
  if (!ours) return tl::unexpected(ours.error());
  run_plain();
  return count_different(ours->output, packed_output_, kernel_->spec().dtype, relative_bound(),
                         magnitude_of(kernel_->spec())) +
         count_different(ours->indices, packed_indices_, ir::DType::i64, 0);
}

ir::Result<BenchCase::Theirs> BenchCase::theirs() const {
  auto output = Buffer::allocate(packed_output_.size());
  auto indices = Buffer::allocate(packed_indices_.size());
  for (const auto* buffer : {&output, &indices})
    if (!*buffer) return tl::unexpected(buffer->error());
  return Theirs{packed_input_.data(), std::move(*output), std::move(*indices)};
}

ir::Result<int64_t> BenchCase::differences_from(const Theirs& theirs) const {
  const auto ours = run_once(*kernel_);
  if (!ours) return tl::unexpected(ours.error());
  return count_different(ours->output, theirs.output, kernel_->spec().dtype, relative_bound(),
                         magnitude_of(kernel_->spec())) +
         count_different(ours->indices, theirs.indices, ir::DType::i64, 0);
}

ir::Result<int64_t> BenchCase::differences_from(const runtime::Kernel& other) const {
  auto theirs = run_once(other);
  if (!theirs) return tl::unexpected(theirs.error());
  return differences_from(Theirs{nullptr, std::move(theirs->output), std::move(theirs->indices)});
}

}  // namespace pooljit::tools
