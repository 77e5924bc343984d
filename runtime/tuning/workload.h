// Memory that a kernel is timed on, filled with ordinary numbers. All kernels of a spec can share one.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ir/dtype.h"
#include "ir/error.h"
#include "runtime/kernel.h"
#include "runtime/measure.h"

namespace pooljit::runtime {

// Numbers of [1, 2), or any integers: no NaN, infinity, zero or denormal, and sums that do not cancel.
void fill_ordinary(ir::DType dtype, std::span<std::byte> bytes);

// Data of the input and the operands.
using Fill = std::function<void(ir::DType, std::span<std::byte>)>;

class Workload {
 public:
  // Errors: "system.memory".
  static ir::Result<Workload> make(const Kernel& kernel, const Fill& fill = fill_ordinary);
  // Other numbers, of a kernel of the same spec.
  void refill(const Kernel& kernel, const Fill& fill);
  // Of a kernel of the same spec.
  ir::Result<void> run(const Kernel& kernel) const;

  const std::byte* input() const { return input_.get(); }
  std::vector<const void*> operands() const;
  // All outputs and the indices that are written, gaps included: cleared, so that what a run leaves out
  // shows; copied; and compared with such a copy, bit for bit.
  void clear_results();
  std::vector<std::byte> results() const;
  bool has_results(std::span<const std::byte> expected) const;
  // The results of the last run; zeros before the first one.
  const std::byte* output(size_t number = 0) const { return outputs_[number].get(); }
  const std::byte* indices(size_t number = 0) const {
    return indices_.empty() ? nullptr : indices_[number].get();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  std::vector<std::span<std::byte>> written() const;
  static ir::Result<Memory> allocate(const MemoryView& view);

  Memory input_;
  std::vector<Memory> outputs_, indices_, operands_;
  std::vector<size_t> output_bytes_, index_bytes_;  // index_bytes_: of indices that are written
};

// Samples of one call of each kernel, all of the workload's spec, taking turns. Errors: those of Kernel::run.
ir::Result<std::vector<Samples>> sample_kernels(const Workload& workload, std::span<const KernelPtr> kernels,
                                                const MeasureOptions& options);
// The same on memory of their own. Errors: "tune.kernels" (they are of several specs), "tune.empty" (a batch
// of 0), "system.memory", and those of Kernel::run.
ir::Result<std::vector<Samples>> sample_kernels(std::span<const KernelPtr> kernels,
                                                const MeasureOptions& options);
// The same, summarized.
ir::Result<std::vector<Timing>> time_kernels(std::span<const KernelPtr> kernels,
                                             const MeasureOptions& options);

}  // namespace pooljit::runtime
