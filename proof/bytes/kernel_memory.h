// The memory that a kernel is called with, of bytes of any domain, and its call.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "ir/general/size_words.h"
#include "ir/nest.h"
#include "ir/program.h"
#include "jit/backend.h"
#include "proof/bytes/executor.h"
#include "proof/program/symbolic_run.h"

namespace pooljit::jit::x86 {

struct KernelCode {
  const CodeBlob* blob;
  std::span<const ir::Param> params;
  std::span<const ir::TaskDim> tasks;
  const std::vector<std::vector<int64_t>>* tables;
  int64_t scratch_bytes;
  int64_t output_alignment;  // in bytes, that callers promise
  // Which of the pools the nest is, and all of them, whose stores go to memory of their own.
  int member;
  std::span<const ir::PoolNest> members;
  // Code for all extents: the words of those of the nest, of each pool.
  ir::SizeWords sizes = {};
};

// Which tasks of a dimension a call does.
struct TaskSpan {
  int64_t begin = 0, count = 0;
  auto operator<=>(const TaskSpan&) const = default;  // NOLINT(modernize-use-nullptr): there is none
};
inline std::vector<TaskSpan> all_tasks(const KernelCode& kernel, const ir::PoolNest& nest, int64_t batch) {
  std::vector<TaskSpan> all;
  for (const ir::TaskDim& dim : kernel.tasks) all.push_back({0, ir::task_count(dim, nest, batch)});
  return all;
}

// Source: element(buffer, view, element, to) writes the bytes of an element that the kernel reads; buffer:
// as ir::buffer_of() numbers it.
template <class Domain, class Source>
class KernelMemory {
 public:
  using Byte = typename Domain::Byte;
  using Buffer = typename Memory<Byte>::Buffer;

  // Throws Refused for code that cannot be followed.
  KernelMemory(const KernelCode& kernel, const ir::PoolNest& nest, int64_t batch, Domain& domain,
               const Source& source)
      : kernel_(kernel),
        nest_(nest),
        pools_(kernel.members),
        batch_(batch),
        domain_(domain),
        source_(source),
        steps_(DecodedCode(*kernel.blob)),
        image_(add_bytes("the code", kernel.blob->image)),
        args_(memory_.add("the arguments", kernel.params.size() * word_bytes, Touch::read)),
        stack_(memory_.add("the stack", stack_bytes, Touch::both)) {
    for (size_t i = 0; i < kernel.params.size(); ++i) put_word(args_, i, word(kernel.params[i]));
    std::random_device random;
    for (uint64_t& word : left_in_words_) word = uint64_t{random()} << 32 | random();
  }

  // Forgets all that an earlier call left. Returns how many instructions it took. Throws Refused,
  // TooManySteps, and what the domain throws.
  int64_t call(std::span<const TaskSpan> ranges, int64_t most_steps) {
    for (Buffer* const buffer : written_) buffer->forget();
    stack_.forget();
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const ir::Param& param = kernel_.params[i];
      if (param.role == ir::Param::Role::begin) put_word(args_, i, number(ranges[number_of(param)].begin));
      if (param.role == ir::Param::Role::count) put_word(args_, i, number(ranges[number_of(param)].count));
    }
    const CodeBlob& blob = *kernel_.blob;
    Executor<Domain> executor(
        steps_, image_.base + static_cast<uint64_t>(blob.code.data() - blob.image.data()), memory_, domain_);
    std::ranges::transform(left_in_words_, executor.words.begin(),
                           [&](uint64_t word) { return executor.word_of(word); });
    executor.words[rdi] = executor.word_of(args_.base);
    executor.words[rsp] = executor.word_of(stack_.base + stack_bytes - word_bytes);  // of the return address
    return executor.run(most_steps);
  }

  // Null: the nest has none, or writes none.
  const Buffer* output() const { return output_; }
  const Buffer* indices() const { return nest_.is_backward() ? nullptr : indices_; }

 private:
  static constexpr size_t word_bytes = 8, stack_bytes = 1 << 16;
  static constexpr size_t rsp = 4, rdi = 7;
  static uint64_t number(int64_t value) { return static_cast<uint64_t>(value); }
  static size_t number_of(const ir::Param& param) { return static_cast<size_t>(param.number); }

  void put_word(Buffer& buffer, size_t at, uint64_t value) const {
    for (size_t b = 0; b < word_bytes; ++b)
      buffer.put(at * word_bytes + b, Domain::constant(static_cast<uint8_t>(value >> 8 * b)));
  }

  Buffer& add_bytes(std::string_view name, std::span<const uint8_t> bytes) {
    Buffer& buffer = memory_.add(name, bytes.size(), Touch::read);
    for (size_t i = 0; i < bytes.size(); ++i) buffer.put(i, Domain::constant(bytes[i]));
    return buffer;
  }

  uint64_t add_words(std::string_view name, const std::vector<int64_t>& words) {
    Buffer& buffer = memory_.add(name, words.size() * word_bytes, Touch::read);
    for (size_t i = 0; i < words.size(); ++i) put_word(buffer, i, number(words[i]));
    return buffer.base;
  }

  Buffer& add_tensor(std::string_view name, const ir::PoolNest& nest, const ir::View& view,
                     int64_t ir::NestDim::*extent, Touch touch, int number) {
    const auto width = static_cast<size_t>(ir::bytes(view.dtype));
    const int64_t elements = ir::reach(nest, view, batch_, extent);
    // Aligned as its elements are, and no better.
    const bool is_aligned = touch == Touch::both && kernel_.output_alignment > 1;
    Buffer& buffer = memory_.add(name, static_cast<size_t>(elements) * width, touch,
                                 is_aligned ? uint64_t{0} : uint64_t{width});
    std::ranges::fill(buffer.states, uint8_t{0});
    ir::for_each_element(nest, view, batch_, extent, [&](const ir::PlaneElement& element) {
      const size_t at = static_cast<size_t>(element.offset) * width;
      if (buffer.states[at] != 0) return;  // one that repeats itself
      std::fill_n(buffer.states.begin() + static_cast<std::ptrdiff_t>(at), width, Memory<Byte>::is_owned);
      if (touch != Touch::read) return;
      std::array<Byte, 8> bytes;
      source_.element(number, view, element, bytes.data());
      for (size_t b = 0; b < width; ++b) buffer.put(at + b, bytes[b]);
    });
    if (touch == Touch::both) written_.push_back(&buffer);
    return buffer;
  }

  // Where another member writes.
  uint64_t other_member(const ir::Param& param) {
    const ir::PoolNest& other = pools_[number_of(param)];
    const bool is_output = param.role == ir::Param::Role::output;
    if (!is_output && !other.indices) return 0;
    return add_tensor(is_output ? "another output" : "other indices", other,
                      is_output ? other.output : *other.indices, &ir::NestDim::output, Touch::both,
                      ir::buffer_of(param.role, 0))
        .base;
  }

  // What a step of an epilogue takes: of several pools, by its number among those of all.
  uint64_t operand(size_t asked) {
    size_t owner = 0;
    while (first_operand(pools_, owner + 1) <= asked) ++owner;
    const size_t own = asked - first_operand(pools_, owner);
    const bool is_own = owner == static_cast<size_t>(kernel_.member);
    const ir::PoolNest& nest = is_own ? nest_ : pools_[owner];
    // Those of others are numbered behind all own ones.
    const auto buffer = static_cast<int64_t>(is_own ? own : ir::most_operands + asked);
    return add_tensor(is_own ? "an operand" : "another operand", nest, operand_views(nest)[own],
                      operand_extent(nest, own), Touch::read, ir::buffer_of(ir::Param::Role::operand, buffer))
        .base;
  }

  uint64_t word(const ir::Param& param) {
    using Role = ir::Param::Role;
    const bool is_written = param.role == Role::output || param.role == Role::indices;
    if (is_written && param.number != kernel_.member) return other_member(param);
    const int buffer = ir::buffer_of(param.role, param.number);
    switch (param.role) {
      case Role::input:
        return add_tensor("the input", nest_, nest_.input, &ir::NestDim::input, Touch::read, buffer).base;
      case Role::output:
        output_ = &add_tensor("the output", nest_, nest_.output, &ir::NestDim::output, Touch::both, buffer);
        return output_->base;
      case Role::indices:
        if (!nest_.indices) return 0;
        indices_ = &add_tensor("the indices", nest_, *nest_.indices,
                               nest_.is_backward() ? &ir::NestDim::input : &ir::NestDim::output,
                               nest_.is_backward() ? Touch::read : Touch::both, buffer);
        return indices_->base;
      case Role::operand:
        return operand(number_of(param));
      case Role::scratch:
        written_.push_back(
            &memory_.add("scratch memory", static_cast<size_t>(kernel_.scratch_bytes), Touch::both));
        return written_.back()->base;
      case Role::table:
        return add_words("a table", (*kernel_.tables)[number_of(param)]);
      case Role::size:
        return add_words("the words of a size", kernel_.sizes[number_of(param)]);
      case Role::begin:
      case Role::count:
        return 0;  // of each call
    }
    return 0;
  }

  const KernelCode& kernel_;
  const ir::PoolNest& nest_;
  const std::span<const ir::PoolNest> pools_;
  const int64_t batch_;
  Domain& domain_;
  const Source& source_;
  const Steps steps_;
  Memory<Byte> memory_;
  Buffer& image_;
  Buffer& args_;
  Buffer& stack_;
  // Numbers that the caller left in general registers. They are drawn, so code that reads them gets other
  // ones than the layer's.
  std::array<uint64_t, 16> left_in_words_;
  std::vector<Buffer*> written_;  // by a call, but for the stack
  const Buffer* output_ = nullptr;
  const Buffer* indices_ = nullptr;
};

}  // namespace pooljit::jit::x86
