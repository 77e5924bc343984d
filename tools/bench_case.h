// BenchCase: one spec with data, and what is to be timed on it: the kernel, the plain loop and the copy
// yardstick, all on the same buffers and the same number of threads.
#pragma once

#include <functional>
#include <memory>

#include "runtime/compile.h"
#include "tools/bandwidth.h"
#include "tools/buffer.h"
#include "tools/plain_epilogue.h"
#include "tools/plain_pool.h"
#include "tools/plain_unpool.h"
#include "tools/view.h"

namespace pooljit::tools {

// What a kernel is measured beside: the plain loop and other libraries too, or only other kernels.
enum class Measured : uint8_t { beside_all, beside_kernels };

class BenchCase {
 public:
  // Errors: "bench.empty", "bench.conversion", "bench.no_plain_loop", "system.memory".
  static ir::Result<std::unique_ptr<BenchCase>> make(runtime::KernelPtr kernel, int threads,
                                                     Measured beside = Measured::beside_all);
  BenchCase(const BenchCase&) = delete;
  BenchCase& operator=(const BenchCase&) = delete;

  ir::Result<void> run_kernel() const { return run_kernel(*kernel_); }
  // Another kernel of the same spec on the same data.
  ir::Result<void> run_kernel(const runtime::Kernel& kernel) const;
  // Backward and unpool.
  bool reads_indices() const { return kernel_->spec().direction != ir::Direction::forward; }
  void run_plain() const;
  // Reads and writes as many bytes as the kernel does; results are overwritten.
  void run_copy(bool streaming) const;

  // Runs kernel and plain loop once each: how many outputs and indices differ. Averages may differ by the
  // rounding of their sums, whose order is not the same.
  ir::Result<int64_t> differences();

  // For another library on the same packed input: its results, which it fills by itself, beside the kernel's.
  // Epilogues and strides are not its business.
  struct Theirs {
    const std::byte* input = nullptr;
    Buffer output, indices;  // indices: empty unless asked for
  };
  ir::Result<Theirs> theirs() const;
  ir::Result<int64_t> differences_from(const Theirs& theirs) const;
  ir::Result<int64_t> differences_from(const runtime::Kernel& other) const;

  int64_t bytes_read() const;
  int64_t bytes_written() const {
    return static_cast<int64_t>(packed_output_.size() + (reads_indices() ? 0 : packed_indices_.size()));
  }
  int threads() const { return threads_; }

 private:
  BenchCase(runtime::KernelPtr kernel, int threads);
  ir::Result<void> allocate();
  ir::Result<void> make_operands();
  void give_operands();
  void fill_input();
  void fill_indices();
  void* indices() const;  // of the kernel; null: it has none
  const FileView& index_view() const { return has_indices_like_output(kernel_->spec()) ? to_ : from_; }
  struct Outputs {
    Buffer output, indices;  // packed
  };
  ir::Result<Outputs> run_once(const runtime::Kernel& kernel) const;
  double relative_bound() const;  // of what two right results may differ by

  runtime::KernelPtr kernel_;
  PlainPool plain_;
  PlainEpilogue plain_epilogue_;
  PlainUnpool plain_unpool_;
  FileView from_, to_;
  int threads_;
  // What the copy works on, and an unpool's plain loop; the kernel and other plain loops too, unless the spec
  // has strides: then both read the strided input, and the plain loop writes the packed output.
  Buffer packed_input_, packed_output_, packed_indices_;
  Buffer strided_input_, strided_output_, strided_indices_;
  std::vector<Buffer> packed_operands_, strided_operands_;  // of the epilogue; strided: tensors only
};

}  // namespace pooljit::tools
