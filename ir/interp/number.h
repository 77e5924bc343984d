// The domain of numbers: a lane is its bits. This is the domain that interpret() runs, and with it the
// definition of what every op does to lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/interp/interpreter.h"

namespace pooljit::ir {

class Numbers {
 public:
  explicit Numbers(const Program& program);

  void copy(Value to, Value from);
  void compute(const Inst& inst);
  void splat(Value to, int64_t index);
  const uint8_t* mask(Value value) const { return lanes(value); }
  int64_t bits(Value value, int lane) const;  // as lane_bits keeps them
  void load(Value to, const Access& access, const uint8_t* mask, Value pass);
  void store(Value from, const Access& access, const uint8_t* mask);

 private:
  const Type& type(Value value) const { return program_.type(value); }
  uint8_t* lanes(Value value) { return memory_.data() + offsets_[static_cast<size_t>(value)]; }
  const uint8_t* lanes(Value value) const { return memory_.data() + offsets_[static_cast<size_t>(value)]; }
  size_t size(Value value) const;
  template <typename T>
  T* as(Value value) {
    return reinterpret_cast<T*>(lanes(value));
  }

  void constant(const Inst& inst);
  void shuffle(const Inst& inst);
  void compare(const Inst& inst);
  void select(const Inst& inst);
  void binary(const Inst& inst);
  void float_op(const Inst& inst);
  void bitwise(const Inst& inst);
  void shift(const Inst& inst);
  void convert(const Inst& inst);
  template <typename Half>
  void convert_half(const Inst& inst);

  const Program& program_;
  std::vector<size_t> offsets_;  // by Value, of its lanes in memory_: a dtype's bytes per lane, a mask's one
  std::vector<uint8_t> memory_;
};

}  // namespace pooljit::ir
