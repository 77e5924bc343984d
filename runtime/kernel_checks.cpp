// Checks of a run's arguments before anything is written: pointers, counts, batch, bytes, and whether buffers
// overlap.
#include <algorithm>

#include "frontend/check.h"
#include "ir/check.h"
#include "ir/pools.h"
#include "runtime/kernel.h"
#include "runtime/sanitizer.h"

namespace pooljit::runtime {

// An array of a call.
struct Kernel::Buffer {
  const MemoryView* view;
  const void* begin;
  const char* what;
  size_t number, count;  // of its kind
  bool is_written;
  std::string name() const { return count > 1 ? std::string(what) + " " + std::to_string(number) : what; }
};

template <typename Take>
void Kernel::for_each_buffer(const Call& call, Take take) const {
  const ir::PoolNest& nest = code_->info.nest;
  take(Buffer{&input_, call.input, "input", 0, 1, false});
  for (size_t i = 0; i < outputs_.size(); ++i)
    take(Buffer{&outputs_[i], call.written(i).output, "output", i, outputs_.size(), true});
  for (size_t i = 0, number = 0; number < indices_of_.size(); ++i) {
    if (!pools_of(nest)[i].indices) continue;
    take(Buffer{&indices_of_[number], call.written(i).indices, "indices", number, indices_of_.size(),
                !nest.is_backward()});
    ++number;
  }
  for (size_t i = 0; i < operands_.size(); ++i)
    take(Buffer{&operands_[i], call.operands[i], "operand", i, operands_.size(), false});
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
  const auto look = [&](const MemoryView& view, const void* begin, const std::string& name) {
    const int64_t at = checked ? first_poisoned(view, begin) : -1;
    if (at >= 0)
      checked = ir::invalid("run.buffer",
                            name + " may not be touched at byte " + std::to_string(at) + " of " +
                                std::to_string(view.span_bytes()) + ", says AddressSanitizer",
                            "a buffer that is alive, and as long as the kernel's info says");
  };
  for_each_buffer(call, [&](const Buffer& buffer) {
    look(buffer.view->with_batch(call.batch), buffer.begin, buffer.name());
  });
  if (call.scratch && scratch_bytes() > 0)
    look({.room = {{{1, 0, 1}}}, .rank = 1, .element_bytes = scratch_bytes()}, call.scratch,
         "scratch memory");
  return checked;
}

// True where the ends of input, output and indices alone say that they do not overlap, and there is nothing
// else: what nearly every call is.
bool Kernel::are_apart(const Call& call) const {
  if (!operands_.empty() || outputs_.size() > 1 || indices_of_.size() > 1 ||
      call.batch != spec_.batch.value_or(1))
    return false;
  const auto do_not_meet = [](const void* a, int64_t a_span, const void* b, int64_t b_span) {
    const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
    return a && b &&
           (first < second ? second - first >= uint64_t(a_span) : first - second >= uint64_t(b_span));
  };
  if (!do_not_meet(call.input, input_span_, call.output, output_span_)) return false;
  if (indices_of_.empty()) return true;
  const int64_t indices_span = indices_of_[0].span_bytes();
  return do_not_meet(call.input, input_span_, call.indices, indices_span) &&
         do_not_meet(call.output, output_span_, call.indices, indices_span);
}

ir::Result<void> Kernel::check(const Call& call) const {
  if (are_apart(call)) return {};
  return check_each(call);
}

// None is null, and none that is written overlaps another.
ir::Result<void> Kernel::check_each(const Call& call) const {
  // On the stack: a run allocates nothing.
  std::array<Buffer, 1 + 2 * ir::most_member_outputs + ir::most_operands> buffers;
  size_t count = 0;
  for_each_buffer(call, [&](const Buffer& buffer) { buffers[count++] = buffer; });
  for (size_t i = 0; i < count; ++i) {
    const Buffer& a = buffers[i];
    if (!a.begin) return ir::invalid("run.null", "the pointer to " + a.name() + " is null");
    for (const Buffer& b : std::span(buffers).first(i))
      if ((a.is_written || b.is_written) &&
          overlap(a.view->with_batch(call.batch), a.begin, b.view->with_batch(call.batch), b.begin))
        return ir::invalid("run.overlap", b.name() + " and " + a.name() + " overlap",
                           "pooling does not work in place");
  }
  return {};
}

}  // namespace pooljit::runtime
