// What a run is asked before anything is written: pointers, counts, batch, bytes, and whether buffers
// overlap.
#include <algorithm>

#include "frontend/check.h"
#include "ir/check.h"
#include "ir/pools.h"
#include "runtime/kernel.h"
#include "runtime/sanitizer.h"

namespace pooljit::runtime {

// take(view, begin, what, number, is_written) for each array of the call, of one pool and of several.
template <typename Take>
void Kernel::for_each_buffer(const Call& call, Take take) const {
  const ir::PoolNest& nest = code_->info.nest;
  const auto give = [&](const MemoryView& view, const void* begin, const char* what, size_t number,
                        bool is_written) {
    take(view.with_batch(call.batch), begin, what, number, is_written);
  };
  give(input_, call.input, "input", 0, false);
  for (size_t i = 0; i < outputs_.size(); ++i) give(outputs_[i], call.written(i).output, "output", i, true);
  for (size_t i = 0, number = 0; number < indices_of_.size(); ++i) {
    if (!pools_of(nest)[i].indices) continue;
    give(indices_of_[number], call.written(i).indices, "indices", number, !nest.is_backward());
    ++number;
  }
  for (size_t i = 0; i < operands_.size(); ++i) give(operands_[i], call.operands[i], "operand", i, false);
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
  for_each_buffer(
      call, [&](const MemoryView& view, const void* begin, const char* what, size_t number, bool is_written) {
        buffers[count++] = {view, begin, what, number, is_written};
      });
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
    return ir::invalid(
        "run.batch",
        "a batch of " + std::to_string(batch) + " is more than memory or the index_dtype can hold",
        "at most " + std::to_string(largest_batch_) + " at once; or index_dtype=int64");
  return {};
}

ir::Result<void> Kernel::check_bytes(const BufferBytes& bytes, int64_t batch) const {
  if (batch < 0) batch = spec_.batch.value_or(1);
  if (batch == 0) return {};
  if (auto checked = check_batch(batch); !checked) return checked;
  const auto check = [&](const char* name, std::span<const int64_t> given,
                         std::span<const MemoryView> views) -> ir::Result<void> {
    // Other counts than the kernel's are refused by the run.
    for (size_t i = 0; i < std::min(given.size(), views.size()); ++i) {
      const int64_t needed = views[i].with_batch(batch).span_bytes();
      if (given[i] < needed)
        return ir::invalid("run.buffer",
                           std::string(name) + (views.size() > 1 ? " " + std::to_string(i) : "") + " has " +
                               std::to_string(given[i]) + " bytes, the kernel needs " +
                               std::to_string(needed),
                           "the bytes from the pointer to the end of the buffer");
    }
    return {};
  };
  auto checked = check("the input", {&bytes.input, 1}, {&input_, 1});
  if (checked) checked = check("the output", bytes.outputs, outputs_);
  if (checked) checked = check("the array of indices", bytes.indices, indices_of_);
  if (checked) checked = check("the operand", bytes.operands, operands_);
  return checked;
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
  for_each_buffer(call, [&](const MemoryView& view, const void* begin, const char* what, size_t number,
                            bool) { look(view, begin, what, number); });
  if (call.scratch && scratch_bytes() > 0)
    look({.room = {{{1, 0, 1}}}, .rank = 1, .element_bytes = scratch_bytes()}, call.scratch, "scratch", 0);
  return checked;
}

ir::Result<void> Kernel::check(const Call& call) const {
  if (is_pools(spec_)) return check_members(call);
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

// True where the ends of input, output and indices alone say that they do not overlap, and there is nothing
// else: what nearly every call is.
bool Kernel::are_apart(const Call& call) const {
  if (!operands_.empty() || call.batch != spec_.batch.value_or(1)) return false;
  const auto do_not_meet = [](const void* a, int64_t a_span, const void* b, int64_t b_span) {
    const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
    return first < second ? second - first >= uint64_t(a_span) : first - second >= uint64_t(b_span);
  };
  if (!do_not_meet(call.input, input_span_, call.output, output_span_)) return false;
  if (indices_.rank == 0) return true;
  const int64_t indices_span = indices_.span_bytes();
  return do_not_meet(call.input, input_span_, call.indices, indices_span) &&
         do_not_meet(call.output, output_span_, call.indices, indices_span);
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
  if (overlapping(input_, call.input, outputs_[0], call.output)) return refuse("input and output");
  if (has_indices && overlapping(input_, call.input, indices_, call.indices))
    return refuse("input and indices");
  if (has_indices && overlapping(outputs_[0], call.output, indices_, call.indices))
    return refuse("output and indices");
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (overlapping(operands_[i], call.operands[i], outputs_[0], call.output))
      return refuse("an operand and the output");
    if (has_indices && overlapping(operands_[i], call.operands[i], indices_, call.indices))
      return refuse("an operand and the indices");
  }
  return {};
}

}  // namespace pooljit::runtime
