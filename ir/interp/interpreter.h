// The interpreter's machine: control, indexes, addresses and checks, over any domain of lanes.
//
// Loops and addresses are concrete; only lanes belong to the domain:
//
//   struct Domain {
//     explicit Domain(const Program&);
//     void copy(Value to, Value from);                // a vec or a mask
//     void compute(const Inst&);                      // make (but splat), mask, arithmetic, bits, convert
//     void splat(Value to, int64_t index);
//     const uint8_t* mask(Value) const;               // one byte per lane, 0 or 1
//     void load(Value to, const Access&, const uint8_t* mask, Value pass);  // mask null: all lanes
//     void store(Value from, const Access&, const uint8_t* mask);
//   };
//
// A domain throws Fault for what the Program may not do; the machine adds where.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/check.h"
#include "ir/interp/interpret.h"
#include "ir/text.h"

namespace pooljit::ir {

// Where an access begins. Each lane that it touches has been checked.
struct Access {
  int slot = 0;  // of the parameter that the pointer comes from
  int64_t offset = 0;
  uint8_t* address = nullptr;
};

enum class FaultKind : uint8_t {
#define FAULT(fault, prose) fault,
#include "ir/interp/faults.def"
#undef FAULT
};

struct Fault {
  FaultKind kind;
  std::string message;
};

template <class Domain>
class Interpreter {
 public:
  Interpreter(const Program& program, std::span<const uint64_t> args, const MemoryMap& memory, Domain& domain)
      : program_(program),
        args_(args),
        memory_(memory),
        domain_(domain),
        indexes_(program.types.size()),
        pointers_(program.types.size()),
        end_of_(program.insts.size()),
        scratch_(static_cast<size_t>(program.scratch_bytes)),
        written_(scratch_.size()) {
    std::vector<size_t> open;
    for (size_t i = 0; i < program.insts.size(); ++i) {
      if (program.insts[i].op == Op::loop) open.push_back(i);
      if (program.insts[i].op != Op::end) continue;
      end_of_[open.back()] = i;
      open.pop_back();
    }
  }

  Result<void> run() {
    try {
      make_buffers();
      while (program_.insts[at_].op != Op::ret) step(program_.insts[at_]);
      return {};
    } catch (const Fault& fault) {
      return invalid(std::string(faults()[static_cast<size_t>(fault.kind)].id), fault.message + where());
    }
  }

 private:
  struct Buffer {
    uint8_t* data = nullptr;
    Region region;
  };
  struct Pointer {
    int slot = 0;
    int64_t offset = 0;
  };
  struct OpenLoop {
    size_t begin = 0;  // its instruction
    int64_t trip = 0;
  };

  // --- buffers

  static Buffer numbered_buffer(uint8_t* data, std::span<const Region> regions, int number) {
    if (static_cast<size_t>(number) >= regions.size()) return {};
    return {data, regions[static_cast<size_t>(number)]};
  }

  Buffer make_buffer(const Param& param, uint64_t word) {
    auto* const data = reinterpret_cast<uint8_t*>(word);
    switch (param.role) {
      case Param::Role::input:
        return {data, memory_.input};
      case Param::Role::output:
        return {data, memory_.output};
      case Param::Role::indices:
        return {data, memory_.indices};
      case Param::Role::scratch:
        return {scratch_.data(), {program_.scratch_bytes}};
      case Param::Role::operand:
        return numbered_buffer(data, memory_.operands, param.number);
      case Param::Role::size:
        return numbered_buffer(data, memory_.sizes, param.number);
      case Param::Role::table:
        return {data, {std::ssize(program_.tables[static_cast<size_t>(param.number)]) * 8}};
      default:
        return {};
    }
  }

  void make_buffers() {
    if (args_.size() < program_.params.size())
      throw Fault{FaultKind::arguments,
                  fmt::format("{} words for {} params", args_.size(), program_.params.size())};
    for (size_t slot = 0; slot < program_.params.size(); ++slot) {
      buffers_.push_back(make_buffer(program_.params[slot], args_[slot]));
      if (buffers_.back().region.bytes > 0 && !buffers_.back().data)
        throw Fault{FaultKind::arguments, fmt::format("the pointer in slot {} is null", slot)};
    }
  }

  // --- instructions

  void step(const Inst& inst) {
    ++at_;
    switch (inst.op) {
      case Op::loop:
        return begin_loop(inst);
      case Op::end:
        return end_loop(inst);
      case Op::param:
        return param(inst);
      case Op::ptradd:
        return ptradd(inst);
      case Op::load:
        return load(inst);
      case Op::store:
        return store(inst);
      case Op::prefetch:
        return;
      case Op::splat:
        return domain_.splat(inst.results[0], index(inst.args[0]));
      case Op::iconst:
      case Op::iadd:
      case Op::imul:
      case Op::imin:
      case Op::imax:
      case Op::iload:
        index(inst.results[0]) = index_value(inst);
        return;
      default:
        domain_.compute(inst);
    }
  }

  int64_t& index(Value value) { return indexes_[static_cast<size_t>(value)]; }
  Pointer& pointer(Value value) { return pointers_[static_cast<size_t>(value)]; }

  int64_t index_value(const Inst& inst) {
    if (inst.op == Op::iconst) return inst.imm;
    if (inst.op == Op::iload) return iload(inst);
    const int64_t a = index(inst.args[0]), b = index(inst.args[1]);
    const auto unsigned_a = static_cast<uint64_t>(a), unsigned_b = static_cast<uint64_t>(b);
    switch (inst.op) {
      case Op::iadd:
        return static_cast<int64_t>(unsigned_a + unsigned_b);
      case Op::imul:
        return static_cast<int64_t>(unsigned_a * unsigned_b);
      case Op::imin:
        return a < b ? a : b;
      default:
        return a > b ? a : b;
    }
  }

  void param(const Inst& inst) {
    const auto slot = static_cast<size_t>(inst.imm);
    index(inst.results[0]) = static_cast<int64_t>(args_[slot]);
    pointer(inst.results[0]) = {static_cast<int>(slot), 0};
  }

  // --- loops. The finals hold the carried values between iterations: nothing else can name them there.

  void copy(Value to, Value from) {
    switch (program_.type(to).kind) {
      case Type::Kind::index:
        index(to) = index(from);
        return;
      case Type::Kind::ptr:
        pointer(to) = pointer(from);
        return;
      default:
        domain_.copy(to, from);
    }
  }

  // Copies a list to another, without the first few of each.
  void copy_all(const Values& to, size_t skip_to, const Values& from, size_t skip_from) {
    for (size_t i = 0; i + skip_to < to.size(); ++i) copy(to[i + skip_to], from[i + skip_from]);
  }

  void begin_loop(const Inst& inst) {
    const int64_t trip = index(inst.args[0]);
    if (trip < 0) throw Fault{FaultKind::trip, fmt::format("a trip count of {}", trip)};
    const size_t begin = at_ - 1;
    if (trip == 0) {
      copy_all(program_.insts[end_of_[begin]].results, 0, inst.args, 1);
      at_ = end_of_[begin] + 1;
      return;
    }
    index(inst.results[0]) = 0;
    copy_all(inst.results, 1, inst.args, 1);
    open_.push_back({begin, trip});
  }

  void end_loop(const Inst& inst) {
    copy_all(inst.results, 0, inst.args, 0);
    const Inst& begin = program_.insts[open_.back().begin];
    if (++index(begin.results[0]) == open_.back().trip) {
      open_.pop_back();
      return;
    }
    copy_all(begin.results, 1, inst.results, 0);
    at_ = open_.back().begin + 1;
  }

  // --- addresses

  // Offsets wrap like the machine's; what wraps into a buffer is still checked there.
  Pointer resolve(const Address& address) {
    Pointer at = pointer(address.base);
    auto offset = static_cast<uint64_t>(at.offset) + static_cast<uint64_t>(address.offset);
    for (const Term& term : address.terms)
      offset += static_cast<uint64_t>(index(term.iv)) * static_cast<uint64_t>(term.bytes);
    return {at.slot, static_cast<int64_t>(offset)};
  }

  void ptradd(const Inst& inst) {
    Pointer at = resolve(inst.addr);
    if (!inst.args.empty())
      at.offset =
          static_cast<int64_t>(static_cast<uint64_t>(at.offset) + static_cast<uint64_t>(index(inst.args[0])));
    pointer(inst.results[0]) = at;
  }

  void check_bytes(const Buffer& buffer, int64_t offset, int64_t bytes) const {
    if (offset < 0 || offset > buffer.region.bytes - bytes)
      throw Fault{FaultKind::bounds, fmt::format("bytes {} to {} of a buffer of {}", offset,
                                                 offset + bytes - 1, buffer.region.bytes)};
    if (!buffer.region.touchable) return;
    for (int64_t at = offset; at < offset + bytes; ++at)
      if (!(*buffer.region.touchable)[static_cast<size_t>(at)])
        throw Fault{FaultKind::gap, fmt::format("byte {} belongs to no element of the view", at)};
  }

  Access check(Pointer at, const Type& type, const uint8_t* mask) {
    const Buffer& buffer = buffers_[static_cast<size_t>(at.slot)];
    const int64_t lane_bytes = bytes(type.dtype);
    if (!mask) check_bytes(buffer, at.offset, type.vector_bytes());
    for (int64_t lane = 0; mask && lane < type.lanes; ++lane)
      if (mask[lane]) check_bytes(buffer, at.offset + lane * lane_bytes, lane_bytes);
    return {at.slot, at.offset, buffer.data + at.offset};
  }

  int64_t iload(const Inst& inst) {
    const Pointer at = resolve(inst.addr);
    if (at.offset % 8 != 0)
      throw Fault{FaultKind::table, fmt::format("an iload at byte {} of slot {}", at.offset, at.slot)};
    return *reinterpret_cast<const int64_t*>(check(at, Type::vec(DType::i64, 1), nullptr).address);
  }

  bool is_scratch(const Access& access) const {
    return program_.params[static_cast<size_t>(access.slot)].role == Param::Role::scratch;
  }

  // Calls visit(byte) for each byte of scratch memory that an access touches.
  template <typename Visit>
  static void for_each_byte(const Access& access, const Type& type, const uint8_t* mask, const Visit& visit) {
    const int64_t lane_bytes = bytes(type.dtype);
    for (int64_t byte = 0; byte < type.vector_bytes(); ++byte)
      if (!mask || mask[byte / lane_bytes]) visit(static_cast<size_t>(access.offset + byte));
  }

  void check_written(const Access& access, const Type& type, const uint8_t* mask) const {
    for_each_byte(access, type, mask, [&](size_t byte) {
      if (!written_[byte])
        throw Fault{FaultKind::scratch, fmt::format("byte {} of the scratch memory was not written", byte)};
    });
  }

  void load(const Inst& inst) {
    const Pointer at = resolve(inst.addr);
    const uint8_t* const mask = inst.args.empty() ? nullptr : domain_.mask(inst.args[0]);
    const Access access = check(at, program_.type(inst.results[0]), mask);
    if (is_scratch(access)) check_written(access, program_.type(inst.results[0]), mask);
    domain_.load(inst.results[0], access, mask, mask ? inst.args[1] : no_value);
  }

  void store(const Inst& inst) {
    const Pointer at = resolve(inst.addr);
    const Type& type = program_.type(inst.args[0]);
    const uint8_t* const mask = inst.args.size() == 1 ? nullptr : domain_.mask(inst.args[1]);
    const Access access = check(at, type, mask);
    // Buffers count as aligned: who runs machine code looks after that (output_alignment).
    if (inst.non_temporal && at.offset % type.vector_bytes() != 0)
      throw Fault{FaultKind::alignment,
                  fmt::format("a non-temporal store of {} bytes to byte {}", type.vector_bytes(), at.offset)};
    if (is_scratch(access)) for_each_byte(access, type, mask, [&](size_t byte) { written_[byte] = true; });
    domain_.store(inst.args[0], access, mask);
  }

  // --- errors

  std::string where() const {
    if (at_ == 0) return "";
    const Inst& inst = program_.insts[at_ - 1];
    std::string out = fmt::format("; line {}: {}", lines(program_)[at_ - 1], print(program_, inst));
    for (const OpenLoop& loop : open_) {
      const Value iv = program_.insts[loop.begin].results[0];
      out += fmt::format(", %{}={}", iv, indexes_[static_cast<size_t>(iv)]);
    }
    return out;
  }

  const Program& program_;
  std::span<const uint64_t> args_;
  const MemoryMap& memory_;
  Domain& domain_;
  std::vector<Buffer> buffers_;    // by slot
  std::vector<int64_t> indexes_;   // by Value
  std::vector<Pointer> pointers_;  // by Value
  std::vector<size_t> end_of_;     // by instruction: a loop's end
  std::vector<uint8_t> scratch_;   // the Program's own: the word of the argument block is not asked
  std::vector<bool> written_;      // each of its bytes
  std::vector<OpenLoop> open_;     // outermost first
  size_t at_ = 0;                  // the next instruction
};

}  // namespace pooljit::ir
