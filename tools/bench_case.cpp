#include "tools/bench_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/element_type.h"
#include "runtime/limits.h"
#include "runtime/threads.h"

namespace pooljit::tools {
namespace {

// Random data without NaN, infinities, zeros of either sign or cancellation, so that the plain loop's results
// are comparable one by one.
template <typename T>
void fill(const Buffer& buffer) {
  std::mt19937 random(1);
  T* values = reinterpret_cast<T*>(buffer.data());
  std::generate_n(values, buffer.size() / sizeof(T), [&] {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(random());
    else
      return static_cast<T>(1 + static_cast<double>(random() % (1 << 20)) / (1 << 20));
  });
}

int64_t count_different(const Buffer& a, const Buffer& b, ir::DType dtype, double relative_error) {
  return ir::with_element_type(dtype, [&]<typename T>(T) {
    int64_t different = 0;
    for (size_t at = 0; at < a.size(); at += sizeof(T)) {
      if (std::memcmp(a.data() + at, b.data() + at, sizeof(T)) == 0) continue;
      T x{}, y{};
      std::memcpy(&x, a.data() + at, sizeof x);
      std::memcpy(&y, b.data() + at, sizeof y);
      const double error = std::abs(static_cast<double>(x) - static_cast<double>(y));
      different += !(error <= relative_error * std::abs(static_cast<double>(y)));
    }
    return different;
  });
}

// As many as the bytes are worth, as the library itself decides.
int useful_threads(int threads, int64_t bytes) {
  return static_cast<int>(std::clamp<int64_t>(bytes / runtime::bytes_per_thread, 1, threads));
}

void in_parallel(int threads, int64_t tasks, FunctionRef<void(int64_t begin, int64_t end)> work) {
  if (threads == 1) return work(0, tasks);
  runtime::builtin_pool(threads).parallel(
      threads, [&](int64_t part) { work(tasks * part / threads, tasks * (part + 1) / threads); });
}

// Ordinary pooling of one layout, and adaptive pooling that comes to the same.
bool has_plain_loop(const frontend::PoolSpec& spec) {
  if (spec.direction != ir::Direction::forward || spec.index_dtype != ir::DType::i64 ||
      spec.index_scope != ir::IndexScope::plane || output_layout(spec) != spec.layout ||
      channel_block(spec.layout) > 1)
    return false;
  const ir::PoolNest nest = make_nest(spec);
  return std::all_of(nest.dims.begin(), nest.dims.end(),
                     [](const ir::NestDim& dim) { return dim.kind == ir::DimKind::pool; });
}

}  // namespace

BenchCase::BenchCase(runtime::KernelPtr kernel, int threads)
    : kernel_(std::move(kernel)),
      plain_(plain_pool(kernel_->spec())),
      from_(input_view(kernel_->spec())),
      to_(output_view(kernel_->spec())),
      threads_(threads) {}

ir::Result<std::unique_ptr<BenchCase>> BenchCase::make(runtime::KernelPtr kernel, int threads) {
  if (kernel->spec().output_dtype || kernel->spec().quantized)
    return ir::unsupported("bench.conversion", "the plain loop converts and requantizes nothing",
                           "leave output_dtype and scales out");
  if (kernel->spec().batch == 0)
    return ir::invalid("bench.empty", "a batch of 0 is no work to measure", "give the spec a batch of 1");
  if (!has_plain_loop(kernel->spec()))
    return ir::unsupported("bench.no_plain_loop", "the plain loop that bench compares with does not do this",
                           "give a forward pooling with windows, int64 indices of the plane, and one layout");
  std::unique_ptr<BenchCase> bench(new BenchCase(std::move(kernel), threads));
  if (auto ok = bench->allocate(); !ok) return tl::unexpected(ok.error());
  bench->fill_input();
  bench->threads_ = useful_threads(threads, bench->bytes_read() + bench->bytes_written());
  return bench;
}

ir::Result<void> BenchCase::allocate() {
  const frontend::PoolSpec& spec = kernel_->spec();
  const size_t index_elements = spec.return_indices ? 1 : 0;
  const struct {
    Buffer& buffer;
    size_t bytes;
  } wanted[] = {
      {packed_input_, file_bytes(from_, spec.dtype)},
      {packed_output_, file_bytes(to_, spec.dtype)},
      {packed_indices_, file_bytes(to_, ir::DType::i64) * index_elements},
      {strided_input_, from_.packed() ? 0 : tensor_bytes(from_, spec.dtype)},
      {strided_output_, to_.packed() ? 0 : tensor_bytes(to_, spec.dtype)},
      {strided_indices_, to_.packed() ? 0 : tensor_bytes(to_, ir::DType::i64) * index_elements},
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
  ir::with_element_type(kernel_->spec().dtype, [&]<typename T>(T) { fill<T>(packed_input_); });
  if (!from_.packed()) scatter(from_, kernel_->spec().dtype, packed_input_.data(), strided_input_.data());
}

ir::Result<void> BenchCase::run_kernel() const {
  const Buffer& output = to_.packed() ? packed_output_ : strided_output_;
  const Buffer& indices = to_.packed() ? packed_indices_ : strided_indices_;
  return kernel_->run((from_.packed() ? packed_input_ : strided_input_).data(), output.data(),
                      kernel_->spec().return_indices ? indices.data() : nullptr);
}

void BenchCase::run_plain() const {
  auto* indices =
      kernel_->spec().return_indices ? reinterpret_cast<int64_t*>(packed_indices_.data()) : nullptr;
  in_parallel(threads_, plain_tasks(plain_), [&](int64_t begin, int64_t end) {
    tools::run_plain(plain_, packed_input_.data(), packed_output_.data(), indices, begin, end);
  });
}

void BenchCase::run_copy(bool streaming) const {
  // Output and indices are one stream after the other: a part of the work of each thread for each.
  in_parallel(threads_, threads_, [&](int64_t begin, int64_t) {
    const auto part = static_cast<size_t>(begin), parts = static_cast<size_t>(threads_);
    const size_t written = packed_output_.size() + packed_indices_.size();
    const size_t for_output = packed_input_.size() * packed_output_.size() / written / 64 * 64;
    copy_part({packed_input_.data(), for_output, packed_output_.data(), packed_output_.size()}, part, parts,
              streaming);
    copy_part({packed_input_.data() + for_output, packed_input_.size() - for_output, packed_indices_.data(),
               packed_indices_.size()},
              part, parts, streaming);
  });
}

ir::Result<BenchCase::Outputs> BenchCase::run_once() const {
  const frontend::PoolSpec& spec = kernel_->spec();
  if (auto ok = run_kernel(); !ok) return tl::unexpected(ok.error());
  auto output = Buffer::allocate(packed_output_.size());
  auto indices = Buffer::allocate(packed_indices_.size());
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
  if (make_nest(spec).is_extreme() || !ir::is_float(spec.dtype)) return 0;
  const double epsilon = spec.dtype == ir::DType::f64 ? 0x1p-53 : 0x1p-24;
  // Halves, which are summed as floats, may differ where a last rounding makes much of little.
  const double last = spec.dtype == ir::DType::f16 ? 0x1p-10 : spec.dtype == ir::DType::bf16 ? 0x1p-7 : 0;
  return 2.0 * static_cast<double>(make_nest(spec).full_taps()) * epsilon + last;
}

ir::Result<int64_t> BenchCase::differences() {
  const auto ours = run_once();
  if (!ours) return tl::unexpected(ours.error());
  run_plain();
  return count_different(ours->output, packed_output_, kernel_->spec().dtype, relative_bound()) +
         count_different(ours->indices, packed_indices_, ir::DType::i64, 0);
}

ir::Result<BenchCase::Theirs> BenchCase::theirs() const {
  auto output = Buffer::allocate(packed_output_.size());
  if (!output) return tl::unexpected(output.error());
  return Theirs{packed_input_.data(), std::move(*output)};
}

ir::Result<int64_t> BenchCase::differences_from(const Theirs& theirs) const {
  const auto ours = run_once();
  if (!ours) return tl::unexpected(ours.error());
  return count_different(ours->output, theirs.output, kernel_->spec().dtype, relative_bound());
}

}  // namespace pooljit::tools
