// Kernel: code bound to one spec, ready to be run. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "runtime/code.h"
#include "runtime/memory_view.h"
#include "runtime/thread_pool.h"

namespace pooljit::runtime {

class Kernel {
 public:
  // For people: why the code has its schedule, and why it is the reference's; empty: it is what was asked
  // for.
  struct Remarks {
    std::string schedule_origin, fallback, label;  // label: the user's name for the layer
  };
  // threads: of the built-in pool, >= 1.
  Kernel(frontend::PoolSpec spec, CodePtr code, int threads, Remarks remarks = {});

  // The tensors that are written: outputs and indices as all_outputs() and all_indices() list them. Of one
  // pool one output, and one array of indices where it has them, which a backward reads.
  struct Written {
    std::span<void*const> outputs, indices;
  };
  // Splits the tasks over the pool's threads and does them. pool: null for the built-in one; batch: -1 for
  // the spec's, which is 1 where it is free. operands: of the epilogue's steps, in their order. Errors:
  // "run.null", "run.outputs", "run.indices", "run.operands", "run.overlap", "run.batch"; of an unpool also
  // "run.index_range".
  ir::Result<void> run(const void* input, const Written& written, ThreadPool* pool = nullptr,
                       int64_t batch = -1, ir::Operands operands = {}) const;
  // The same of one output and at most one array of indices; null for none.
  ir::Result<void> run(const void* input, void* output, void* indices, ThreadPool* pool = nullptr,
                       int64_t batch = -1, ir::Operands operands = {}) const {
    const size_t arrays = indices || !indices_of_.empty();
    return run(input, {{&output, 1}, {&indices, arrays}}, pool, batch, operands);
  }

  // Does share.part of share.parts on the calling thread: takes no lock, and allocates nothing but the
  // thread's scratch memory unless share.scratch is given. All parts together are one run. Errors: those of
  // run(), and "run.part".
  struct Share {
    int part = 0, parts = 1;
    void* scratch = nullptr;  // info.scratch_bytes, aligned to ir::scratch_alignment
  };
  ir::Result<void> run_part(const void* input, const Written& written, const Share& share, int64_t batch = -1,
                            ir::Operands operands = {}) const;

  // How many bytes the caller has from each pointer on. Errors: "run.buffer" where they are fewer than the
  // view takes; "run.batch".
  struct BufferBytes {
    int64_t input = 0;
    std::span<const int64_t> outputs, indices, operands;
  };
  ir::Result<void> check_bytes(const BufferBytes& bytes, int64_t batch) const;

  const frontend::PoolSpec& spec() const { return spec_; }
  const std::string& text() const;  // canonical
  const std::string& schedule_origin() const { return remarks_.schedule_origin; }
  const std::string& fallback() const { return remarks_.fallback; }
  const std::string& label() const { return remarks_.label; }
  const Code& code() const { return *code_; }
  // How many parts are worth having, on as many threads: each has enough to do. >= 1.
  ir::Result<int> useful_parts(int64_t batch) const;
  int threads() const { return threads_; }  // of the built-in pool
  int64_t scratch_bytes() const;            // that each thread of a run needs
  const std::vector<int64_t>& input_shape() const { return input_shape_; }
  const std::vector<int64_t>& output_shape(size_t number = 0) const { return output_shapes_.at(number); }
  const std::vector<int64_t>& input_strides() const { return input_strides_; }
  const std::vector<int64_t>& output_strides(size_t number = 0) const { return output_strides_.at(number); }
  // Of the spec's batch.
  const MemoryView& input_view() const { return input_; }
  const MemoryView& output_view() const { return outputs_[0]; }  // the first
  const std::vector<MemoryView>& operand_views() const { return operands_; }
  // Of several pools: all that the caller gives to be written.
  const std::vector<MemoryView>& output_views() const { return outputs_; }
  const std::vector<MemoryView>& index_views() const { return indices_of_; }
  ir::DType output_dtype(size_t number) const;

 private:
  using Members = std::array<MemberOutput, ir::most_member_outputs>;
  ir::Result<void> set_written(const Written& written, Call& call, Members& members) const;
  struct Buffer;
  template <typename Take>
  void for_each_buffer(const Call& call, Take take) const;
  ir::Result<void> check_batch(int64_t batch) const;
  ir::Result<void> fill(Call& call, ir::Operands operands) const;
  ir::Result<void> check(const Call& call) const;
  [[gnu::noinline]] ir::Result<void> check_each(const Call& call) const;  // keeps its large frame to itself
  ir::Result<void> check_memory(const Call& call) const;
  bool are_apart(const Call& call) const;
  int useful_threads(int64_t batch, int threads) const;
  TaskRanges all_tasks(int64_t batch) const;
  Grid grid(int64_t batch, int cells) const;
  template <typename Do>
  void for_each_cell(int64_t batch, int threads, ThreadPool* pool, const Do& do_ranges) const;
  ir::Result<void> check_data(const Call& call, int threads, ThreadPool* pool) const;

  frontend::PoolSpec spec_;
  CodePtr code_;
  int threads_;
  Remarks remarks_;
  int64_t largest_batch_ = 0;         // that indices can count, and memory hold
  mutable std::once_flag text_made_;  // at the first text(): a new size of a free spec is not printed
  mutable std::string text_;
  std::vector<int64_t> input_shape_, input_strides_;
  std::vector<std::vector<int64_t>> output_shapes_, output_strides_;  // by output
  MemoryView input_;
  std::vector<MemoryView> outputs_, indices_of_;
  std::vector<MemoryView> operands_;          // of the epilogue
  int64_t input_span_ = 0, output_span_ = 0;  // bytes from first to last, of the spec's batch
  int64_t threads_per_batch_ = 0;             // that what is read and written is worth waking, in 1024ths
};

// "run.batch", of a run that does not say its batch where the spec leaves it free.
ir::Error no_batch();

using KernelPtr = std::shared_ptr<const Kernel>;

// A kernel that the cache does not remember, and what the cache knows its code by; empty: code of others'.
struct KeyedKernel {
  KernelPtr kernel;
  std::string key;
};

}  // namespace pooljit::runtime
