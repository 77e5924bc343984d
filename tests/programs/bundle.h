// Bundle: a Program that runs many ops over rows of test data. Each row gives every operand its lanes; each
// result is stored to a place of its own in the row's part of the output.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/half.h"
#include "programs/engines.h"

namespace pooljit::test {

using ir::Builder;
using ir::DType;
using ir::Isa;
using ir::Op;
using ir::Type;
using ir::Value;

template <typename F>
uint64_t float_bits(F value) {
  if constexpr (sizeof(F) == 2)
    return value.bits;
  else if constexpr (sizeof(F) == 4)
    return std::bit_cast<uint32_t>(value);
  else
    return std::bit_cast<uint64_t>(value);
}

template <typename F>
std::vector<uint64_t> special_floats() {
  using Limits = std::numeric_limits<F>;
  std::vector<uint64_t> bits;
  for (F value : {F(0), F(1), F(2.5), F(0.1), F(1e-30), F(16777217), Limits::min(), Limits::denorm_min(),
                  Limits::max(), Limits::infinity(), Limits::quiet_NaN(), Limits::epsilon()}) {
    bits.push_back(float_bits(value));
    bits.push_back(float_bits(-value));
  }
  bits.push_back(float_bits(Limits::infinity()) + 1);      // a signalling NaN
  bits.push_back(float_bits(Limits::quiet_NaN()) | 0x15);  // a payload
  return bits;
}

// Every 97th of all values, and what lies about the ends of each range.
template <typename Half>
std::vector<uint64_t> special_halves() {
  std::vector<uint64_t> bits;
  for (uint64_t end : {uint64_t{0}, uint64_t{0x8000}})
    for (uint64_t value : {float_bits(Half()), float_bits(std::numeric_limits<Half>::min()),
                           float_bits(std::numeric_limits<Half>::max()),
                           float_bits(std::numeric_limits<Half>::quiet_NaN()), uint64_t{0x7fff}})
      for (uint64_t step : {0, 1, 2}) bits.push_back(((end | value) + step) & 0xffff);
  for (uint64_t value = 0; value < 0x10000; value += 97) bits.push_back(value);
  return bits;
}

// What rounds down, up, to even, to a denormal, to zero and to infinity as a half; denormals.
inline std::vector<uint64_t> floats_for_halves() {
  std::vector<uint64_t> bits = special_floats<float>();
  for (uint32_t top :
       {0x0000U, 0x0080U, 0x3300U, 0x3380U, 0x387fU, 0x3880U, 0x3f80U, 0x3f81U, 0x477fU, 0x7f7fU})
    for (uint32_t low : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x3000U, 0x7fffU, 0x8000U, 0x8001U, 0xe000U,
                         0xefffU, 0xf000U, 0xffffU})
      for (uint32_t sign : {0U, 0x80000000U}) bits.push_back(sign | top << 16 | low);
  return bits;
}

// What goes wrong, if anything does: zeros of both signs, ends of ranges, NaNs, denormals.
inline std::vector<uint64_t> special_values(DType dtype) {
  if (dtype == DType::f32) return special_floats<float>();
  if (dtype == DType::f64) return special_floats<double>();
  if (dtype == DType::f16) return special_halves<ir::Float16>();
  if (dtype == DType::bf16) return special_halves<ir::BFloat16>();
  const int bits = ir::info(dtype).bits;
  const uint64_t high = uint64_t{1} << (bits - 1);
  return {0, 1, 2, 3, 0x55, 100, high - 2, high - 1, high, high + 1, ~uint64_t{0} - 1, ~uint64_t{0}};
}

// Floats that fit an integer dtype after rounding, ties among them.
inline std::vector<uint64_t> values_for_cvt(DType from, DType to) {
  if (ir::is_half(to)) return floats_for_halves();
  if (!ir::is_float(from) || ir::is_float(to)) return special_values(from);
  std::vector<uint64_t> bits;
  const double end = to == DType::i32 ? 0x1p31 : 0x1p63;
  const double last = from == DType::f32 ? end - end / 0x1p24
                      : to == DType::i32 ? end - 1
                                         : end - end / 0x1p53;
  for (double value : {0.0, 0.25, 0.5, 0.75, 1.5, 2.5, 3.5, 1e6 + 0.5, 8388607.5, 1e-40, last, last / 2})
    for (double one : {value, -value})
      bits.push_back(from == DType::f32 ? float_bits(static_cast<float>(one)) : float_bits(one));
  bits.push_back(from == DType::f32 ? float_bits(static_cast<float>(-end)) : float_bits(-end));
  return bits;
}

class Bundle {
 public:
  static constexpr int64_t row_bytes = 8192, operand_bytes = 64;
  static constexpr size_t rows = 24;

  Bundle(std::string name, Isa isa) : name_(std::move(name)), b_(name_, isa) {
    b_.add_task("rows", rows);
    in_ = b_.param(ir::Param::Role::input);
    out_ = b_.param(ir::Param::Role::output);
    row_ = b_.begin_loop(b_.param(ir::Param::Role::count, 0)).iv;
  }

  Builder& builder() { return b_; }
  Value row() const { return row_; }

  // An operand that is loaded from the row; its lanes run through `values`, and every other row is random.
  Value operand(const Type& type) { return operand(type, special_values(type.dtype), true); }
  Value operand(const Type& type, std::vector<uint64_t> values, bool and_random = false) {
    const int64_t offset = in_bytes_;
    in_bytes_ += operand_bytes;
    operands_.push_back({type, std::move(values), and_random, offset});
    return b_.load(type, in_place(offset));
  }
  // Space in each row's input that nothing is loaded from yet.
  ir::Address raw_operand(const Type& type) {
    const int64_t offset = in_bytes_;
    in_bytes_ += operand_bytes;
    operands_.push_back({type, special_values(type.dtype), true, offset});
    return in_place(offset);
  }

  void result(const std::string& name, Value value, bool any_nan = false) {
    const Type& type = b_.type(value);
    if (type.kind == Type::Kind::mask) return result(name, as_lanes(value));
    b_.store(result_place(name, type, any_nan), value);
  }
  ir::Address result_place(const std::string& name, const Type& type, bool any_nan = false) {
    const int64_t offset = out_bytes_;
    out_bytes_ += operand_bytes;
    EXPECT_LE(out_bytes_, row_bytes) << name_;
    results_.push_back({name, type.dtype, static_cast<size_t>(offset), type.lanes, any_nan});
    return {out_, {{row_, row_bytes}}, offset};
  }

  Case finish() {
    b_.end_loop();
    b_.ret();
    EXPECT_LE(in_bytes_, row_bytes) << name_;
    Case c{name_, b_.finish(), std::vector<uint8_t>(rows * row_bytes), rows * row_bytes};
    c.count = rows;
    for (size_t i = 0; i < operands_.size(); ++i) fill(c, operands_[i], i);
    for (size_t row = 0; row < rows; ++row)
      for (Expected place : results_) {
        place.name += " row " + std::to_string(row);
        place.offset += row * static_cast<size_t>(row_bytes);
        c.places.push_back(std::move(place));
      }
    return c;
  }

 private:
  struct Operand {
    Type type;
    std::vector<uint64_t> values;
    bool and_random;
    int64_t offset;
  };

  ir::Address in_place(int64_t offset) const { return {in_, {{row_, row_bytes}}, offset}; }

  Value as_lanes(Value mask) {
    const Type type = Type::vec(b_.type(mask).dtype, b_.type(mask).lanes);
    return b_.select(mask, b_.vconst_splat(type, -1), b_.vconst_splat(type, 0));
  }

  // Strides that differ from operand to operand, so that pairs of values meet.
  static void fill(Case& c, const Operand& operand, size_t number) {
    std::mt19937_64 random(number + 1);
    const auto width = static_cast<size_t>(ir::bytes(operand.type.dtype));
    size_t next = 0;
    for (size_t row = 0; row < rows; ++row)
      for (int lane = 0; lane < operand.type.lanes; ++lane) {
        uint64_t bits = operand.values[next % operand.values.size()];
        if (operand.and_random && row % 2 == 1) bits = random();
        // A second operand moves on by one more each time the first has run through its values.
        next += 1 + (number % 2) * (next % operand.values.size() == operand.values.size() - 1);
        uint8_t* const at = c.input.data() + row * static_cast<size_t>(row_bytes) +
                            static_cast<size_t>(operand.offset) + static_cast<size_t>(lane) * width;
        std::memcpy(at, &bits, width);
      }
  }

  std::string name_;
  Builder b_;
  Value in_, out_, row_;
  int64_t in_bytes_ = 0, out_bytes_ = 0;
  std::vector<Operand> operands_;
  std::vector<Expected> results_;
};

}  // namespace pooljit::test
