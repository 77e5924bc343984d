// BenchCase: one spec with data, and what is to be timed on it: the kernel, the plain loop and the copy
// yardstick, all on the same buffers and the same number of threads. Of several pools the kernel makes all,
// and the plain loop one after the other, each into a tensor of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

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

  // Whether the plain loop does it: with Measured::beside_all, all that make() gives.
  bool has_plain_loop() const { return has_plain_loop_; }

  // Runs kernel and plain loop once each: how many outputs and indices differ. Averages may differ by the
  // rounding of their sums, whose order is not the same.
  ir::Result<int64_t> differences();

  // Packed results of a pool. For another library, which fills them by itself from the same packed input.
  // Epilogues and strides are not its business.
  struct Theirs {
    const std::byte* input = nullptr;
    Buffer output, indices;  // indices: empty unless asked for
  };
  ir::Result<std::vector<Theirs>> theirs() const;  // by pool
  // To the kernel's.
  ir::Result<int64_t> differences_from(std::span<const Theirs> theirs) const;
  ir::Result<int64_t> differences_from(const runtime::Kernel& other) const;
  // Packed results as one tensor, for what gives several pools apart where they are wanted as one.
  void join(std::span<const Theirs> theirs) const;

  // The pools, each as a layer of its own, in the layout that its results have.
  const frontend::PoolSpec& pool(size_t number) const { return pools_[number].spec; }
  size_t pool_count() const { return pools_.size(); }
  int64_t bytes_read() const;
  int64_t bytes_written() const;
  int threads() const { return threads_; }

 private:
  // Packed, as files are; where the kernel takes a view, that too.
  struct Tensor {
    FileView view;
    ir::DType dtype = ir::DType::f32;
    Buffer packed, apart;
    std::byte* seen = nullptr;  // by the kernel

    // room: of a tensor that this one is a part of; null: it is none.
    static ir::Result<Tensor> make(FileView view, ir::DType dtype, std::byte* room = nullptr);
    void put() const;  // from packed to what the kernel sees
    void take(const Buffer& to) const;
  };
  struct Pool {
    frontend::PoolSpec spec;
    PlainPool plain{};
    PlainEpilogue plain_epilogue{};
    PlainUnpool plain_unpool{};
    Tensor output{}, indices{};
    std::vector<Tensor> operands{};

    bool has_indices() const { return indices.seen != nullptr; }
  };

  BenchCase(runtime::KernelPtr kernel, int threads) : kernel_(std::move(kernel)), threads_(threads) {}
  ir::Result<void> make_input();
  ir::Result<void> make_pools();
  ir::Result<void> make_operands();
  void list_arguments();
  void fill_indices(const Pool& pool) const;
  void run_plain(const Pool& pool) const;
  ir::Result<std::vector<Theirs>> run_once(const runtime::Kernel& kernel) const;
  int64_t count_differences(std::span<const Theirs> ours, size_t pool, const Buffer& output,
                            const Buffer& indices) const;
  int64_t copy_differences() const;

  runtime::KernelPtr kernel_;
  int threads_;
  bool has_plain_loop_ = true;
  Tensor input_;
  Buffer joined_;                 // concat: all outputs
  std::optional<Tensor> copied_;  // include_input: the part of the output that is the input
  std::vector<Pool> pools_;
  std::vector<void*> outputs_, indices_;  // of the kernel
  std::vector<const void*> operands_;
  std::vector<const Buffer*> read_, written_;  // what the copy works on
};

}  // namespace pooljit::tools
