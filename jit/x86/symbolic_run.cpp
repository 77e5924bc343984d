#include "jit/x86/symbolic_run.h"

#include <fmt/format.h>

#include "ir/interp/symbolic_run.h"
#include "jit/decoder.h"
#include "jit/x86/term_domain.h"

namespace pooljit::jit::x86 {
namespace {

using ir::NestDim, ir::Param, ir::View;
using Byte = TermDomain::Byte;
using Buffer = Memory<Byte>::Buffer;

constexpr size_t stack_bytes = 1 << 16;
constexpr size_t rsp = 4, rdi = 7;

class Run {
 public:
  Run(const Kernel& kernel, const ir::PoolNest& nest, int64_t batch, ir::TermGraph& graph)
      : kernel_(kernel), nest_(nest), batch_(batch), graph_(graph), domain_(graph) {}

  // Throws Refused and ir::Unreadable.
  ir::StoredTerms run(const MachineCode& code, const RunLimits& limits) {
    const CodeBlob& blob = *kernel_.blob;
    const Buffer& image = add_bytes("the code", blob.image);
    Buffer& args = memory_.add("the arguments", kernel_.params.size() * 8, Touch::read);
    for (size_t i = 0; i < kernel_.params.size(); ++i) put_word(args, i, word(kernel_.params[i]));
    const Buffer& stack = memory_.add("the stack", stack_bytes, Touch::both);
    Machine<TermDomain> machine(
        code, image.base + static_cast<uint64_t>(blob.code.data() - blob.image.data()), memory_, domain_);
    machine.words[rdi] = machine.word_of(args.base);
    machine.words[rsp] = machine.word_of(stack.base + stack_bytes - 8);  // of the return address
    machine.run(limits.steps);
    ir::StoredTerms stored{stored_in(output_, nest_.output), {}};
    if (indices_ && !nest_.is_backward()) stored.indices = stored_in(indices_, *nest_.indices);
    return stored;
  }

 private:
  void put_word(Buffer& buffer, size_t number, uint64_t value) const {
    for (size_t b = 0; b < 8; ++b)
      buffer.bytes[number * 8 + b] = TermDomain::constant(static_cast<uint8_t>(value >> 8 * b));
  }

  Buffer& add_bytes(std::string name, std::span<const uint8_t> bytes) {
    Buffer& buffer = memory_.add(std::move(name), bytes.size(), Touch::read);
    for (size_t i = 0; i < bytes.size(); ++i) buffer.bytes[i] = TermDomain::constant(bytes[i]);
    return buffer;
  }

  Buffer& add_tensor(std::string name, const View& view, int64_t NestDim::*extent, Touch touch, int number) {
    return add_tensor(std::move(name), nest_, view, extent, touch, number);
  }

  Buffer& add_tensor(std::string name, const ir::PoolNest& nest, const View& view, int64_t NestDim::*extent,
                     Touch touch, int number) {
    std::vector<bool> touchable = touchable_bytes(nest, view, batch_, extent);
    // Aligned as its elements are, and no better.
    const bool is_aligned = touch == Touch::both && kernel_.output_alignment > 1;
    const auto offset = is_aligned ? uint64_t{0} : static_cast<uint64_t>(ir::bytes(view.dtype));
    Buffer& buffer = memory_.add(std::move(name), touchable.size(), touch, offset);
    buffer.touchable = std::move(touchable);
    const int64_t width = ir::bytes(view.dtype);
    for (int64_t at = 0; touch == Touch::read && at < std::ssize(buffer.bytes); ++at)
      if (buffer.touchable[static_cast<size_t>(at)])
        buffer.bytes[static_cast<size_t>(at)] =
            Byte{graph_.input(view.dtype, at / width * width, number), at % width};
    return buffer;
  }

  // Where another member writes.
  uint64_t other_member(const Param& param) {
    const ir::PoolNest& other = kernel_.members[static_cast<size_t>(param.number)];
    const bool is_output = param.role == Param::Role::output;
    if (!is_output && !other.indices) return 0;
    return add_tensor(is_output ? "another output" : "other indices", other,
                      is_output ? other.output : *other.indices, &NestDim::output, Touch::both,
                      ir::buffer_of(param.role, 0))
        .base;
  }

  // What a step of an epilogue takes: of several pools, by its number among those of all.
  uint64_t operand(int number) {
    const std::span<const ir::PoolNest> members = kernel_.members;
    const auto asked = static_cast<size_t>(number);
    size_t owner = 0;
    while (!members.empty() && first_operand(members, owner + 1) <= asked) ++owner;
    const size_t own = asked - (members.empty() ? 0 : first_operand(members, owner));
    const bool is_own = members.empty() || owner == static_cast<size_t>(kernel_.member);
    const ir::PoolNest& nest = is_own ? nest_ : members[owner];
    // Those of others are numbered behind all own ones.
    const int buffer = static_cast<int>(is_own ? own : ir::most_operands + asked);
    return add_tensor(is_own ? "an operand" : "another operand", nest, operand_views(nest)[own],
                      &NestDim::output, Touch::read, ir::buffer_of(Param::Role::operand, buffer))
        .base;
  }

  uint64_t word(const Param& param) {
    const auto number = static_cast<size_t>(param.number);
    const bool is_written = param.role == Param::Role::output || param.role == Param::Role::indices;
    if (is_written && !kernel_.members.empty() && param.number != kernel_.member) return other_member(param);
    const auto beside = nest_.is_backward() ? &NestDim::input : &NestDim::output;
    const int buffer = ir::buffer_of(param.role, param.number);
    switch (param.role) {
      case Param::Role::input:
        return add_tensor("the input", nest_.input, &NestDim::input, Touch::read, buffer).base;
      case Param::Role::output:
        output_ = &add_tensor("the output", nest_.output, &NestDim::output, Touch::both, buffer);
        return output_->base;
      case Param::Role::indices:
        if (!nest_.indices) return 0;
        indices_ = &add_tensor("the indices", *nest_.indices, beside,
                               nest_.is_backward() ? Touch::read : Touch::both, buffer);
        return indices_->base;
      case Param::Role::operand:
        return operand(param.number);
      case Param::Role::scratch:
        return memory_.add("scratch memory", static_cast<size_t>(kernel_.scratch_bytes), Touch::both).base;
      case Param::Role::table: {
        const std::vector<int64_t>& table = (*kernel_.tables)[number];
        Buffer& added = memory_.add("a table", table.size() * 8, Touch::read);
        for (size_t i = 0; i < table.size(); ++i) put_word(added, i, static_cast<uint64_t>(table[i]));
        return added.base;
      }
      case Param::Role::begin:
        return 0;
      case Param::Role::count: {
        const int64_t extent = kernel_.tasks[number].extent;
        return static_cast<uint64_t>(extent == ir::TaskDim::batch_extent ? batch_ : extent);
      }
    }
    return 0;
  }

  // Elements that something was stored to.
  ir::Terms::Stored stored_in(const Buffer* buffer, const View& view) {
    ir::Terms::Stored stored;
    const auto width = static_cast<size_t>(ir::bytes(view.dtype));
    std::vector<Byte> element(width);
    for (size_t at = 0; buffer && at < buffer->bytes.size(); at += width) {
      size_t written = 0;
      for (; written < width && buffer->bytes[at + written]; ++written)
        element[written] = *buffer->bytes[at + written];
      if (written == width) stored[static_cast<int64_t>(at)] = domain_.term_of(view.dtype, element.data());
    }
    return stored;
  }

  const Kernel& kernel_;
  const ir::PoolNest& nest_;
  const int64_t batch_;
  ir::TermGraph& graph_;
  TermDomain domain_;
  Memory<Byte> memory_;
  const Buffer* output_ = nullptr;
  const Buffer* indices_ = nullptr;
};

}  // namespace

ir::Result<ir::StoredTerms> run_symbolically(const Kernel& kernel, const ir::PoolNest& nest, int64_t batch,
                                             ir::TermGraph& graph, const RunLimits& limits) {
  if (const auto ready = require_decoder(); !ready) return tl::unexpected(ready.error());
  const auto where = [&](size_t at, std::string_view why) {
    return fmt::format("at {:x}, {}: {}", at, text_of(kernel.blob->code, at), why);
  };
  try {
    const MachineCode code(*kernel.blob);
    return Run(kernel, nest, batch, graph).run(code, limits);
  } catch (const Refused& refused) {
    return ir::invalid("prove.code", where(refused.at, refused.why));
  } catch (const ir::Unreadable& unreadable) {
    return ir::unsupported("prove.unsupported", unreadable.why);
  }
}

}  // namespace pooljit::jit::x86
