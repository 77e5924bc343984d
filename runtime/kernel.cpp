#include "runtime/kernel.h"

#include <algorithm>
#include <atomic>

#include "frontend/check.h"
#include "ir/check.h"
#include "runtime/float_control.h"
#include "runtime/sanitizer.h"
#include "runtime/threads.h"

namespace pooljit::runtime {
namespace {

constexpr int64_t most_useful = 1 << 20;  // threads of a batch, and batches: more are as good

// How many tasks a dimension has for this batch.
int64_t extent_of(const ir::TaskDim& task, int64_t batch) {
  return task.extent == ir::TaskDim::batch_extent ? batch : task.extent;
}

// Of the calls for one output: no indices where none are given.
struct OneWritten {
  void* output;
  void* indices;
  operator Kernel::Written() const { return {{&output, 1}, {&indices, indices ? size_t{1} : 0}}; }
};
OneWritten one_written(void* output, void* indices) { return {output, indices}; }

}  // namespace

Kernel::Kernel(frontend::PoolSpec spec, CodePtr code, int threads, Remarks remarks)
    : spec_(std::move(spec)),
      code_(std::move(code)),
      threads_(threads),
      remarks_(std::move(remarks)),
      largest_batch_(frontend::largest_batch(spec_)),
      text_(frontend::print(spec_)),
      input_shape_(frontend::input_shape(spec_)),
      input_strides_(frontend::input_strides(spec_)) {
  for (size_t i = 0; i < frontend::output_count(spec_); ++i) {
    output_shapes_.push_back(frontend::output_shape(spec_, i));
    output_strides_.push_back(frontend::output_strides(spec_, i));
  }
  POOLJIT_CHECK(code_->info.tasks.size() <= size_t(max_task_dims), "a Program has too many task dimensions");
  const ir::PoolNest& nest = code_->info.nest;
  const int64_t batch = spec_.batch.value_or(1);
  input_ = runtime::input_view(nest, batch);
  output_ = runtime::output_view(nest, batch);
  indices_ = runtime::indices_view(nest, batch);
  outputs_ = all_outputs(nest, batch);
  indices_of_ = all_indices(nest, batch);
  operands_ = operand_memory(nest, batch);
  input_span_ = input_.span_bytes();
  output_span_ = output_.span_bytes();
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

ir::Error no_batch() {
  return {ir::ErrorKind::invalid, "run.batch", "the spec leaves the batch free and the run does not say it",
          "RunOptions::batch; in C pooljit_run_options.has_batch and batch"};
}

ir::DType Kernel::output_dtype(size_t number) const {
  const ir::PoolNest& nest = code_->info.nest;
  return nest.written(number).dtype;
}

int64_t Kernel::scratch_bytes() const {
  int64_t bytes = 0;
  for (const Code* version : code_->versions()) bytes = std::max(bytes, version->info.scratch_bytes);
  return bytes;
}

ir::Result<void> Kernel::run(const void* input, void* output, void* indices, ThreadPool* pool, int64_t batch,
                             ir::Operands operands) const {
  if (is_pools(spec_)) return run(input, one_written(output, indices), pool, batch, operands);
  Call call{input, output, indices, batch < 0 ? spec_.batch.value_or(1) : batch};
  return run_call(call, pool, operands);
}

ir::Result<void> Kernel::run(const void* input, const Written& written, ThreadPool* pool, int64_t batch,
                             ir::Operands operands) const {
  Call call{input, nullptr, nullptr, batch < 0 ? spec_.batch.value_or(1) : batch};
  Members members;
  if (auto set = set_written(written, call, members); !set) return set;
  return run_call(call, pool, operands);
}

ir::Result<void> Kernel::run_call(Call& call, ThreadPool* pool, ir::Operands operands) const {
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

ir::Result<void> Kernel::run_part(const void* input, void* output, void* indices, const Share& share,
                                  int64_t batch, ir::Operands operands) const {
  if (is_pools(spec_)) return run_part(input, one_written(output, indices), share, batch, operands);
  Call call{input, output, indices, batch < 0 ? spec_.batch.value_or(1) : batch};
  return run_part_call(call, share, operands);
}

ir::Result<void> Kernel::run_part(const void* input, const Written& written, const Share& share,
                                  int64_t batch, ir::Operands operands) const {
  Call call{input, nullptr, nullptr, batch < 0 ? spec_.batch.value_or(1) : batch};
  Members members;
  if (auto set = set_written(written, call, members); !set) return set;
  return run_part_call(call, share, operands);
}

ir::Result<void> Kernel::run_part_call(Call& call, const Share& share, ir::Operands operands) const {
  if (share.parts < 1 || share.part < 0 || share.part >= share.parts)
    return ir::invalid(
        "run.part",
        "part " + std::to_string(share.part) + " of " + std::to_string(share.parts) + " was asked for",
        "parts are counted from 0");
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

// Gives each member its output. What is missing is a null pointer, which check() sees; what is too much is
// refused here.
ir::Result<void> Kernel::set_written(const Written& written, Call& call, Members& members) const {
  const auto refuse = [](const char* id, const char* what, size_t takes, size_t given) {
    return ir::invalid(id,
                       "the kernel takes " + std::to_string(takes) + " " + what + ", " +
                           std::to_string(given) + " were given",
                       std::string("one pointer for each member that has ") + what +
                           ", in their order; with concat=True one output");
  };
  if (written.outputs.size() != outputs_.size())
    return refuse("run.outputs", "outputs", outputs_.size(), written.outputs.size());
  if (written.indices.size() != indices_of_.size())
    return refuse("run.indices", "arrays of indices", indices_of_.size(), written.indices.size());
  const ir::PoolNest& nest = code_->info.nest;
  if (nest.members.empty()) {
    call.output = written.outputs[0];
    call.indices = written.indices.empty() ? nullptr : written.indices[0];
    return {};
  }
  for (size_t i = 0; i < nest.members.size(); ++i) {
    const ir::MemberPlace place = nest.member_place(i);
    void* const output = written.outputs[place.output];
    members[i].output =
        output ? static_cast<char*>(output) + place.offset * ir::bytes(nest.members[i].output.dtype)
               : nullptr;
    members[i].indices = place.indices < 0 ? nullptr : written.indices[static_cast<size_t>(place.indices)];
  }
  call.members = members.data();
  call.output = written.outputs[0];
  return {};
}

// None is null, and none that is written overlaps another.
ir::Result<void> Kernel::check_members(const Call& call) const {
  struct Buffer {
    MemoryView view;
    const void* begin = nullptr;
    const char* what = "";
    size_t number = 0;
    bool is_written = false;
    std::string name() const { return std::string(what) + " " + std::to_string(number); }
  };
  // On the stack: a run allocates nothing.
  std::array<Buffer, 1 + 2 * ir::most_member_outputs + ir::most_operands> buffers;
  size_t count = 0;
  const auto add = [&](const MemoryView& view, const void* begin, const char* what, size_t number,
                       bool is_written) {
    buffers[count++] = {view.with_batch(call.batch), begin, what, number, is_written};
  };
  const ir::PoolNest& nest = code_->info.nest;
  add(input_, call.input, "input", 0, false);
  for (size_t i = 0; i < outputs_.size(); ++i)
    add(outputs_[i], nest.has_outputs_apart() ? call.members[i].output : call.output, "output", i, true);
  size_t indices = 0;
  for (size_t i = 0; i < nest.members.size(); ++i) {
    if (!nest.members[i].indices) continue;
    add(indices_of_[indices], call.members[i].indices, "indices", indices, true);
    ++indices;
  }
  for (size_t i = 0; i < operands_.size(); ++i) add(operands_[i], call.operands[i], "operand", i, false);
  for (size_t a = 0; a < count; ++a) {
    if (!buffers[a].begin) return ir::invalid("run.null", "the pointer to " + buffers[a].name() + " is null");
    for (size_t b = 0; b < a; ++b)
      if ((buffers[a].is_written || buffers[b].is_written) &&
          overlap(buffers[a].view, buffers[a].begin, buffers[b].view, buffers[b].begin))
        return ir::invalid("run.overlap", buffers[b].name() + " and " + buffers[a].name() + " overlap",
                           "pooling does not work in place");
  }
  return {};
}

ir::Result<void> Kernel::check_batch(int64_t batch) const {
  if (batch != spec_.batch.value_or(1) && !spec_.batch)
    return ir::invalid("run.batch", "an unbatched spec was run with another batch size than 1",
                       "write the spec with N");
  if (batch > largest_batch_)
    return ir::invalid("run.batch",
                       "indices of a batch of " + std::to_string(batch) + " do not fit the index_dtype",
                       "index_dtype=int64; or at most " + std::to_string(largest_batch_) + " at once");
  return {};
}

// Takes the operands in and checks all but the data.
ir::Result<void> Kernel::fill(Call& call, ir::Operands operands) const {
  if (auto checked = check_batch(call.batch); !checked) return checked;
  if (operands.size() != operands_.size())
    return ir::invalid("run.operands",
                       "the spec takes " + std::to_string(operands_.size()) + " operands, " +
                           std::to_string(operands.size()) + " were given",
                       frontend::operand_hint);
  std::copy(operands.begin(), operands.end(), call.operands.begin());
  auto checked = check(call);
  return checked && has_address_sanitizer() ? check_memory(call) : checked;
}

// What AddressSanitizer knows of the buffers: kernels do not ask it themselves.
ir::Result<void> Kernel::check_memory(const Call& call) const {
  ir::Result<void> checked;
  const auto look = [&](const MemoryView& view, const void* begin, const char* what, size_t number) {
    const int64_t at = checked ? first_poisoned(view, begin) : -1;
    if (at >= 0)
      checked = ir::invalid("run.buffer",
                            std::string(what) + " " + std::to_string(number) +
                                " may not be touched at byte " + std::to_string(at) + " of " +
                                std::to_string(view.span_bytes()) + ", says AddressSanitizer",
                            "a buffer that is alive, and as long as the kernel's info says");
  };
  const ir::PoolNest& nest = code_->info.nest;
  look(input_.with_batch(call.batch), call.input, "input", 0);
  for (size_t i = 0; i < outputs_.size(); ++i)
    look(outputs_[i].with_batch(call.batch), nest.has_outputs_apart() ? call.members[i].output : call.output,
         "output", i);
  for (size_t i = 0, number = 0; number < indices_of_.size(); ++i) {
    if (!nest.members.empty() && !nest.members[i].indices) continue;
    look(indices_of_[number].with_batch(call.batch), call.members ? call.members[i].indices : call.indices,
         "indices", number);
    ++number;
  }
  for (size_t i = 0; i < operands_.size(); ++i)
    look(operands_[i].with_batch(call.batch), call.operands[i], "operand", i);
  if (call.scratch && scratch_bytes() > 0)
    look({.room = {{{1, 0, 1}}}, .rank = 1, .element_bytes = scratch_bytes()}, call.scratch, "scratch", 0);
  return checked;
}

ir::Result<void> Kernel::check(const Call& call) const {
  if (call.members) return check_members(call);
  const bool wants_indices = indices_.rank > 0;
  if (!call.input || !call.output || (wants_indices && !call.indices))
    return ir::invalid("run.null", std::string("the pointer to the ") +
                                       (!call.input    ? "input"
                                        : !call.output ? "output"
                                                       : "indices") +
                                       " is null");
  if (!wants_indices && call.indices)
    return ir::invalid("run.indices", "indices were given to a kernel that has none",
                       "add return_indices=True to the spec");
  for (size_t i = 0; i < operands_.size(); ++i)
    if (!call.operands[i])
      return ir::invalid("run.null", "the pointer to operand " + std::to_string(i) + " is null");
  return check_overlap(call);
}

// True where the ends of input and output alone say that they do not overlap, and there is nothing else: what
// nearly every call is.
bool Kernel::are_apart(const Call& call) const {
  if (indices_.rank > 0 || !operands_.empty() || call.batch != spec_.batch.value_or(1)) return false;
  const auto input = reinterpret_cast<uintptr_t>(call.input),
             output = reinterpret_cast<uintptr_t>(call.output);
  return input < output ? output - input >= uint64_t(input_span_) : input - output >= uint64_t(output_span_);
}

// What is written overlaps nothing else.
ir::Result<void> Kernel::check_overlap(const Call& call) const {
  if (are_apart(call)) return {};
  const auto overlapping = [&](const MemoryView& a, const void* a_begin, const MemoryView& b,
                               const void* b_begin) {
    return call.batch == spec_.batch.value_or(1)
               ? overlap(a, a_begin, b, b_begin)
               : overlap(a.with_batch(call.batch), a_begin, b.with_batch(call.batch), b_begin);
  };
  const auto refuse = [](const char* what) {
    return ir::invalid("run.overlap", std::string(what) + " overlap", "pooling does not work in place");
  };
  const bool has_indices = indices_.rank > 0;
  if (overlapping(input_, call.input, output_, call.output)) return refuse("input and output");
  if (has_indices && overlapping(input_, call.input, indices_, call.indices))
    return refuse("input and indices");
  if (has_indices && overlapping(output_, call.output, indices_, call.indices))
    return refuse("output and indices");
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (overlapping(operands_[i], call.operands[i], output_, call.output))
      return refuse("an operand and the output");
    if (has_indices && overlapping(operands_[i], call.operands[i], indices_, call.indices))
      return refuse("an operand and the indices");
  }
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
  for (size_t i = 0; i < tasks.size(); ++i) all[i] = {0, extent_of(tasks[i], batch)};
  return all;
}

Grid Kernel::grid(int64_t batch, int cells) const {
  const std::vector<ir::TaskDim>& tasks = code_->info.tasks;
  std::array<int64_t, max_task_dims> extents;
  for (size_t i = 0; i < tasks.size(); ++i) extents[i] = extent_of(tasks[i], batch);
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
