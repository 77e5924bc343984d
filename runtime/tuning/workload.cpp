#include "runtime/tuning/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "ir/element_type.h"

namespace pooljit::runtime {
namespace {

constexpr size_t line_bytes = 64;

}  // namespace

void fill_ordinary(ir::DType dtype, std::span<std::byte> bytes) {
  ir::with_element_type(dtype, [&]<typename T>(T) {
    std::mt19937 random(1);
    for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
      T value{};
      if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(random());
      else
        value = static_cast<T>(1 + static_cast<double>(random() % (1 << 20)) / (1 << 20));
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
  });
}

ir::Result<Workload::Memory> Workload::allocate(const MemoryView& view) {
  const size_t bytes = (static_cast<size_t>(view.span_bytes()) / line_bytes + 1) * line_bytes;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(line_bytes, bytes)));
  if (!memory)
    return ir::system_error("system.memory", fmt::format("there is no memory for {} bytes", bytes));
  std::memset(memory.get(), 0, bytes);  // the pages are there; indices that are read are in range
  return memory;
}

ir::Result<Workload> Workload::make(const Kernel& kernel, const Fill& fill) {
  Workload made;
  const auto add = [](const MemoryView& view, std::vector<Memory>& to) -> ir::Result<void> {
    auto memory = allocate(view);
    if (!memory) return tl::unexpected(memory.error());
    to.push_back(std::move(*memory));
    return {};
  };
  auto input = allocate(kernel.input_view());
  if (!input) return tl::unexpected(input.error());
  made.input_ = std::move(*input);
  for (const MemoryView& view : kernel.output_views()) {
    if (auto ok = add(view, made.outputs_); !ok) return tl::unexpected(ok.error());
    made.output_bytes_.push_back(static_cast<size_t>(view.span_bytes()));
  }
  for (const MemoryView& view : kernel.index_views()) {
    if (auto ok = add(view, made.indices_); !ok) return tl::unexpected(ok.error());
    if (!kernel.code().info.nest.is_backward())
      made.index_bytes_.push_back(static_cast<size_t>(view.span_bytes()));
  }
  for (const MemoryView& view : kernel.operand_views())
    if (auto ok = add(view, made.operands_); !ok) return tl::unexpected(ok.error());
  made.refill(kernel, fill);
  return made;
}

void Workload::refill(const Kernel& kernel, const Fill& fill) {
  const auto one = [&](const Memory& memory, const MemoryView& view) {
    fill(kernel.spec().dtype, {memory.get(), static_cast<size_t>(view.span_bytes())});
  };
  one(input_, kernel.input_view());
  for (size_t i = 0; i < operands_.size(); ++i) one(operands_[i], kernel.operand_views()[i]);
}

std::vector<std::span<std::byte>> Workload::written() const {
  std::vector<std::span<std::byte>> all;
  for (size_t i = 0; i < output_bytes_.size(); ++i) all.emplace_back(outputs_[i].get(), output_bytes_[i]);
  for (size_t i = 0; i < index_bytes_.size(); ++i) all.emplace_back(indices_[i].get(), index_bytes_[i]);
  return all;
}

void Workload::clear_results() {
  for (const std::span<std::byte> one : written()) std::memset(one.data(), 0xa5, one.size());
}

std::vector<std::byte> Workload::results() const {
  std::vector<std::byte> all;
  for (const std::span<std::byte> one : written()) all.insert(all.end(), one.begin(), one.end());
  return all;
}

bool Workload::has_results(std::span<const std::byte> expected) const {
  for (const std::span<std::byte> one : written()) {
    if (!std::ranges::equal(one, expected.first(one.size()))) return false;
    expected = expected.subspan(one.size());
  }
  return true;
}

std::vector<const void*> Workload::operands() const {
  std::vector<const void*> operands;
  for (const Memory& memory : operands_) operands.push_back(memory.get());
  return operands;
}

ir::Result<void> Workload::run(const Kernel& kernel) const {
  std::array<void*, ir::most_member_outputs> outputs{}, indices{};
  const auto pointers = [](const std::vector<Memory>& from, auto& to) {
    std::ranges::transform(from, to.begin(), [](const Memory& memory) { return memory.get(); });
    return std::span<void* const>(to).first(from.size());
  };
  return kernel.run(input_.get(), {pointers(outputs_, outputs), pointers(indices_, indices)}, nullptr, -1,
                    operands());
}

ir::Result<std::vector<Samples>> sample_kernels(const Workload& workload, std::span<const KernelPtr> kernels,
                                                const MeasureOptions& options) {
  std::vector<std::function<void()>> contenders;
  for (const KernelPtr& kernel : kernels) {
    if (auto done = workload.run(*kernel); !done) return tl::unexpected(done.error());
    contenders.emplace_back([&workload, &kernel] { (void)workload.run(*kernel); });  // it has succeeded above
  }
  MeasureOptions on_same_data = options;  // which each leaves in the caches for the next
  on_same_data.settle_seconds = 0;
  return measure_samples(contenders, on_same_data);
}

ir::Result<std::vector<Samples>> sample_kernels(std::span<const KernelPtr> kernels,
                                                const MeasureOptions& options) {
  if (kernels.empty()) return std::vector<Samples>();
  for (const KernelPtr& kernel : kernels) {
    if (kernel->text() != kernels[0]->text())
      return ir::invalid("tune.kernels", "kernels of different specs were to be timed side by side",
                         "time them one after the other");
    if (kernel->spec().batch == 0)
      return ir::invalid("tune.empty", "a batch of 0 is no work to measure", "give the spec a batch of 1");
  }
  const auto workload = Workload::make(*kernels[0]);
  if (!workload) return tl::unexpected(workload.error());
  return sample_kernels(*workload, kernels, options);
}

ir::Result<std::vector<Timing>> time_kernels(std::span<const KernelPtr> kernels,
                                             const MeasureOptions& options) {
  auto samples = sample_kernels(kernels, options);
  if (!samples) return tl::unexpected(samples.error());
  std::vector<Timing> timings;
  for (Samples& one : *samples) timings.push_back(summarize(std::move(one.seconds), one.calls_per_sample));
  return timings;
}

}  // namespace pooljit::runtime
