#include "runtime/tuning/workload.h"

#include <fmt/format.h>

#include <algorithm>
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

ir::Result<Workload> Workload::make(const Kernel& kernel) {
  Workload made;
  made.operands_.resize(kernel.operand_views().size());
  std::vector<std::pair<Memory*, const MemoryView*>> wanted = {{&made.input_, &kernel.input_view()},
                                                               {&made.output_, &kernel.output_view()},
                                                               {&made.indices_, &kernel.indices_view()}};
  for (size_t i = 0; i < made.operands_.size(); ++i)
    wanted.emplace_back(&made.operands_[i], &kernel.operand_views()[i]);
  for (const auto& [memory, view] : wanted) {
    auto allocated = allocate(*view);
    if (!allocated) return tl::unexpected(allocated.error());
    *memory = std::move(*allocated);
    const bool is_result = memory == &made.output_ || memory == &made.indices_;
    if (!is_result)
      fill_ordinary(kernel.spec().dtype, {memory->get(), static_cast<size_t>(view->span_bytes())});
  }
  return made;
}

std::vector<const void*> Workload::operands() const {
  std::vector<const void*> operands;
  for (const Memory& memory : operands_) operands.push_back(memory.get());
  return operands;
}

ir::Result<void> Workload::run(const Kernel& kernel) const {
  return kernel.run(input_.get(), output_.get(),
                    frontend::has_indices(kernel.spec()) ? indices_.get() : nullptr, nullptr, -1, operands());
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
  std::vector<std::function<void()>> contenders;
  for (const KernelPtr& kernel : kernels) {
    if (auto done = workload->run(*kernel); !done) return tl::unexpected(done.error());
    contenders.emplace_back(
        [&workload, &kernel] { (void)workload->run(*kernel); });  // it has succeeded above
  }
  MeasureOptions on_same_data = options;  // which each leaves in the caches for the next
  on_same_data.settle_seconds = 0;
  return measure_samples(contenders, on_same_data);
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
