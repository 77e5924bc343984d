#include "runtime/kernel.h"

#include <algorithm>
#include <atomic>

#include "frontend/check.h"
#include "ir/check.h"
#include "ir/general/size_words.h"
#include "jit/fork_gate.h"
#include "runtime/float_control.h"
#include "runtime/threads.h"

namespace pooljit::runtime {
namespace {

// No process addresses more bytes, whatever it says.
constexpr int64_t most_bytes = int64_t{1} << 56;
constexpr int64_t most_useful = 1 << 20;  // threads of a batch, and batches: more are as good

// The largest batch whose view lies in memory that there can be.
int64_t largest_in_memory(const MemoryView& view) {
  if (view.rank == 0 || view.room[0].stride == 0) return INT64_MAX;
  return (most_bytes - view.with_batch(1).span_bytes()) / view.room[0].stride + 1;
}

}  // namespace

Kernel::Kernel(frontend::PoolSpec spec, CodePtr code, int threads, Remarks remarks)
    : spec_(std::move(spec)),
      code_(std::move(code)),
      threads_(threads),
      remarks_(std::move(remarks)),
      largest_batch_(frontend::largest_batch(spec_)),
      input_shape_(frontend::input_shape(spec_)),
      input_strides_(frontend::input_strides(spec_)) {
  for (size_t i = 0; i < outputs_of(spec_).size(); ++i) {
    output_shapes_.push_back(frontend::output_shape(spec_, i));
    output_strides_.push_back(frontend::output_strides(spec_, i));
  }
  POOLJIT_CHECK(code_->info.tasks.size() <= size_t(max_task_dims), "a Program has too many task dimensions");
  const ir::PoolNest& nest = code_->info.nest;
  const int64_t batch = spec_.batch.value_or(1);
  input_ = runtime::input_view(nest, batch);
  outputs_ = all_outputs(nest, batch);
  indices_of_ = all_indices(nest, batch);
  operands_ = operand_memory(nest, batch);
  const auto limit = [&](const MemoryView& view) {
    largest_batch_ = std::min(largest_batch_, largest_in_memory(view));
  };
  limit(input_);
  for (const auto* views : {&outputs_, &indices_of_, &operands_}) std::ranges::for_each(*views, limit);
  input_span_ = input_.span_bytes();
  output_span_ = outputs_[0].span_bytes();
  // In doubles: products may not fit an int64_t.
  double useful = 0;
  const auto add = [&](const MemoryView& view) {
    useful += double(view.with_batch(1).element_count() * view.element_bytes) / double(bytes_per_thread);
  };
  add(input_);
  std::ranges::for_each(outputs_, add);
  std::ranges::for_each(indices_of_, add);
  threads_per_batch_ = static_cast<int64_t>(1024 * std::min(useful, double(most_useful)));
}

const std::string& Kernel::text() const {
  const jit::HoldForks hold;  // what a child finds half made stays so
  std::call_once(text_made_, [&] { text_ = frontend::print(spec_); });
  return text_;
}

ir::Error no_batch() {
  return {ir::ErrorKind::invalid, "run.batch", "the spec leaves the batch free and the run does not say it",
          "has_batch and batch of pooljit_args"};
}

ir::DType Kernel::output_dtype(size_t number) const {
  return code_->info.nest.outputs()[number].output.dtype;
}

int64_t Kernel::scratch_bytes() const {
  int64_t bytes = 0;
  for (const Code* version : code_->versions()) bytes = std::max(bytes, version->info.scratch_bytes);
  return bytes;
}

ir::Result<void> Kernel::run(const void* input, const Written& written, ThreadPool* pool, int64_t batch,
                             ir::Operands operands) const {
  Call call{input, nullptr, nullptr, batch < 0 ? spec_.batch.value_or(1) : batch};
  Members members;
  if (auto set = set_written(written, call, members); !set) return set;
  if (call.batch == 0) return {};
  if (auto checked = fill(call, operands); !checked) return checked;
  const int threads = useful_threads(call.batch, pool ? std::max(pool->threads(), 1) : threads_);
  if (code_->info.checks_data)
    if (auto checked = check_data(call, threads, pool); !checked) return checked;
  for_each_cell(call.batch, threads, pool, [&](const TaskRanges& ranges) {
    const FloatControl control;  // of each thread: pools have their own
    code_->run(call, ranges);
  });
  return {};
}

ir::Result<void> Kernel::run_part(const void* input, const Written& written, const Share& share,
                                  int64_t batch, ir::Operands operands) const {
  Call call{input, nullptr, nullptr, batch < 0 ? spec_.batch.value_or(1) : batch};
  Members members;
  if (auto set = set_written(written, call, members); !set) return set;
  if (share.parts < 1 || share.part < 0 || share.part >= share.parts)
    return ir::invalid(
        "run.part",
        "part " + std::to_string(share.part) + " of " + std::to_string(share.parts) + " was asked for",
        "parts are counted from 0");
  if (reinterpret_cast<uintptr_t>(share.scratch) % ir::scratch_alignment != 0)
    return ir::invalid("run.scratch",
                       "scratch is not at a multiple of " + std::to_string(ir::scratch_alignment),
                       "aligned_alloc(64, info.scratch_bytes)");
  if (call.batch == 0) return {};
  call.scratch = share.scratch;
  if (auto checked = fill(call, operands); !checked) return checked;
  const Grid cells = grid(call.batch, share.parts);
  const int64_t begin = cells.cells() * share.part / share.parts,
                end = cells.cells() * (share.part + 1) / share.parts;
  for (int64_t cell = begin; cell < end; ++cell)
    if (auto checked = code_->check(call, cells.ranges(cell)); !checked) return checked;
  const FloatControl control;
  for (int64_t cell = begin; cell < end; ++cell) code_->run(call, cells.ranges(cell));
  return {};
}

// Gives each member its output. A missing output is a null pointer, which check() sees; one too many is
// refused here.
ir::Result<void> Kernel::set_written(const Written& written, Call& call, Members& members) const {
  const auto refuse = [](const char* id, const char* what, size_t takes, size_t given) {
    return ir::invalid(id,
                       "the kernel takes " + std::to_string(takes) + " " + what + ", " +
                           std::to_string(given) + " were given",
                       takes == 0 ? std::string("add return_indices=True to the spec")
                                  : std::string("one pointer for each pool that has ") + what +
                                        ", in their order; with concat=True one output");
  };
  if (written.outputs.size() != outputs_.size())
    return refuse("run.outputs", "outputs", outputs_.size(), written.outputs.size());
  if (written.indices.size() != indices_of_.size())
    return refuse("run.indices", "arrays of indices", indices_of_.size(), written.indices.size());
  const ir::PoolNest& nest = code_->info.nest;
  const auto pools = pools_of(nest);
  const bool are_apart = nest.member_offsets.empty();
  for (size_t i = 0, with_indices = 0; i < pools.size(); ++i) {
    auto* const output = static_cast<char*>(written.outputs[are_apart ? i : 0]);
    const int64_t offset = are_apart ? 0 : nest.member_offsets[i] * ir::bytes(pools[i].output.dtype);
    members[i].output = output ? output + offset : nullptr;
    members[i].indices = pools[i].indices ? written.indices[with_indices++] : nullptr;
  }
  call.members = members.data();
  call.output = written.outputs[0], call.indices = members[0].indices;
  return {};
}

int Kernel::useful_threads(int64_t batch, int threads) const {
  // In integers: the caller may have floating-point exceptions unmasked.
  const int64_t useful = threads_per_batch_ * std::min(batch, most_useful) / 1024;
  return static_cast<int>(std::clamp<int64_t>(useful, 1, threads));
}

ir::Result<int> Kernel::useful_parts(int64_t batch) const {
  if (batch < 0) return ir::invalid("run.batch", "a batch of " + std::to_string(batch), "0 and more");
  if (auto checked = check_batch(batch); !checked) return tl::unexpected(checked.error());
  if (batch == 0) return 1;
  const int worth = useful_threads(batch, max_threads);
  return static_cast<int>(std::min<int64_t>(worth, grid(batch, worth).cells()));
}

TaskRanges Kernel::all_tasks(int64_t batch) const {
  const std::vector<ir::TaskDim>& tasks = code_->info.tasks;
  TaskRanges all;
  for (size_t i = 0; i < tasks.size(); ++i) all[i] = {0, task_count(tasks[i], code_->info.nest, batch)};
  return all;
}

Grid Kernel::grid(int64_t batch, int cells) const {
  const std::vector<ir::TaskDim>& tasks = code_->info.tasks;
  std::array<int64_t, max_task_dims> extents;
  for (size_t i = 0; i < tasks.size(); ++i) extents[i] = task_count(tasks[i], code_->info.nest, batch);
  return {std::span(extents.data(), tasks.size()), cells};
}

// Does the ranges of all tasks, split over so many threads.
template <typename Do>
void Kernel::for_each_cell(int64_t batch, int threads, ThreadPool* pool, const Do& do_ranges) const {
  if (threads == 1) return do_ranges(all_tasks(batch));
  const Grid cells = grid(batch, threads);
  if (cells.cells() == 1) return do_ranges(cells.ranges(0));
  ThreadPool& workers = pool ? *pool : builtin_pool(threads_);
  workers.parallel(cells.cells(), [&](int64_t cell) { do_ranges(cells.ranges(cell)); });
}

// The error of the first part that has one, however many threads look.
ir::Result<void> Kernel::check_data(const Call& call, int threads, ThreadPool* pool) const {
  std::atomic<bool> is_wrong = false;
  for_each_cell(call.batch, threads, pool, [&](const TaskRanges& ranges) {
    if (!code_->check(call, ranges)) is_wrong = true;
  });
  return is_wrong ? code_->check(call, all_tasks(call.batch)) : ir::Result<void>();
}

}  // namespace pooljit::runtime
