#include "jit/xbyak/constants.h"

#include <algorithm>
#include <cstring>

#include "ir/passes/shuffle_units.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Move;
using ir::Program;
using ir::Type;

uint64_t Constant::bits() const {
  uint64_t value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

namespace {

bool is_all(std::span<const uint8_t> bytes, uint64_t word) {
  for (size_t at = 0; at < bytes.size(); at += sizeof word)
    if (std::memcmp(bytes.data() + at, &word, sizeof word) != 0) return false;
  return true;
}

}  // namespace

bool Constant::is_zero() const { return is_all(bytes, 0); }
bool Constant::is_ones() const { return is_all({bytes.data(), size}, ~uint64_t{0}); }

namespace {

Constant vector_constant(int vector_bytes) {
  Constant constant{};
  constant.size = static_cast<uint8_t>(std::max(16, vector_bytes));
  return constant;
}

Constant mask_constant(uint64_t bits) {
  Constant constant{};
  constant.is_mask_bits = true;
  constant.size = 16;
  std::memcpy(constant.bytes.data(), &bits, sizeof bits);
  return constant;
}

}  // namespace

Constant constant_of(const Program& program, const Inst& inst) {
  const Type& type = program.type(inst.results[0]);
  const auto width = static_cast<size_t>(ir::bytes(type.dtype));
  if (inst.op == ir::Op::vconst) {
    Constant constant = vector_constant(type.vector_bytes());
    for (size_t i = 0; i < inst.data.size(); ++i)
      std::memcpy(constant.bytes.data() + i * width, &inst.data[i], width);  // little endian: the low bits
    return constant;
  }
  if (masks_are_bits(program)) {
    uint64_t bits = 0;
    for (size_t i = 0; i < inst.data.size(); ++i) bits |= uint64_t{inst.data[i] != 0} << i;
    return mask_constant(bits);
  }
  Constant constant = vector_constant(type.vector_bytes());
  for (size_t i = 0; i < inst.data.size(); ++i)
    std::memset(constant.bytes.data() + i * width, inst.data[i] != 0 ? 0xff : 0, width);
  return constant;
}

namespace {

// Numbers of units as integers as wide as the unit; operand b's come after a register full of a's.
Constant unit_numbers(const ir::Units& units, int width) {
  const int per_register = units.register_bytes() / width;
  Constant constant = vector_constant(units.register_bytes());
  for (int i = 0; i < units.count; ++i) {
    const int64_t number = units.operand(i) * per_register + units.unit(i);
    std::memcpy(constant.bytes.data() + i * width, &number, static_cast<size_t>(width));
  }
  return constant;
}

Constant bytes_of_lanes(const ir::Units& units) {
  Constant constant = vector_constant(units.register_bytes());
  for (int i = 0; i < units.count; ++i)
    constant.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(units.unit(i) % ir::lane_bytes);
  return constant;
}

}  // namespace

std::optional<Constant> implied_constant(const Program& program, const Inst& shuffle,
                                         const ir::ShuffleForm& form) {
  const auto units_of_width = [&](int width) {
    return ir::widest_units(program.type(shuffle.args[0]), shuffle.data).narrowed(width);
  };
  switch (form.move) {
    case Move::bytes_in_lane:
      return bytes_of_lanes(units_of_width(1));
    case Move::permute:
    case Move::permute_two:
      return unit_numbers(units_of_width(form.width), form.width);
    case Move::blend: {
      if (masks_are_bits(program)) return mask_constant(static_cast<uint64_t>(form.imm));
      if (form.width >= 4) return std::nullopt;
      const ir::Units bytes = units_of_width(1);
      Constant constant = vector_constant(bytes.register_bytes());
      for (int i = 0; i < bytes.count; ++i)
        constant.bytes[static_cast<size_t>(i)] = bytes.operand(i) ? 0xff : 0;
      return constant;
    }
    default:
      return std::nullopt;
  }
}

// A digit of 4 bits per class, quiet and signalling NaNs the lowest. 1: the source; 0: what was there.
Constant nan_responses(const Type& type) {
  Constant constant = vector_constant(type.vector_bytes());
  for (size_t at = 0; at < constant.size; at += static_cast<size_t>(ir::bytes(type.dtype)))
    constant.bytes[at] = 0x11;
  return constant;
}

int ConstantPool::add(const Constant& constant) {
  const auto same = std::find(constants_.begin(), constants_.end(), constant);
  if (same != constants_.end()) return static_cast<int>(same - constants_.begin());
  constants_.push_back(constant);
  offsets_.push_back(-1);
  return count() - 1;
}

size_t ConstantPool::lay_out() {
  size_t end = 0;
  for (const size_t size : {size_t{64}, size_t{32}, size_t{16}})  // falling sizes leave no gaps
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (offsets_[i] < 0 || constants_[i].size != size) continue;
      offsets_[i] = static_cast<int>(end);
      end += size;
    }
  return (end + most_vector_bytes - 1) / most_vector_bytes * most_vector_bytes;
}

void ConstantPool::write(uint8_t* to) const {
  for (size_t i = 0; i < constants_.size(); ++i)
    if (offsets_[i] >= 0) std::memcpy(to + offsets_[i], constants_[i].bytes.data(), constants_[i].size);
}

}  // namespace pooljit::jit
