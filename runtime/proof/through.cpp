#include "runtime/proof/through.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/element_type.h"
#include "ir/float_format.h"
#include "ir/reductions/stored.h"
#include "ir/reference_epilogue.h"

namespace pooljit::runtime {
namespace {

// Powers of two among the elements that are tried, up to this exponent either way.
constexpr int most_exponent = 20;
// Numbers between those of a step that are tried: ties of a requantization are halves of its scale.
constexpr int most_halves = 12;

template <typename T>
uint64_t bits_after(const ir::PoolNest& nest, T result, const std::vector<double>& operands) {
  ir::OperandValues<T> values{};
  for (size_t i = 0; i < operands.size(); ++i) values[i] = static_cast<T>(operands[i]);
  const T after = ir::through_steps(nest, result, values);
  return ir::with_element_type(nest.output.dtype, [&]<typename Out>(Out) {
    const Out out = ir::converted<Out>(after, nest.rounding);
    uint64_t bits = 0;
    std::memcpy(&bits, &out, sizeof out);
    return bits;
  });
}

// The nearest number of so few digits that sums of it, and of its square, are exact.
double with_few_digits(double number) {
  int exponent = 0;
  const double fraction = std::frexp(number, &exponent);
  return std::ldexp(std::nearbyint(fraction * 16) / 16, exponent);
}

// Elements nearest to these numbers; and to their neighbours, where no sums are made of them.
void add_near(const ir::PoolNest& nest, double number, std::vector<uint64_t>& elements) {
  const ir::DType dtype = nest.input.dtype;
  number += 0.0;  // no -0
  if (!(std::abs(number) <= (dtype == ir::DType::f16 ? 0x1p15 : 0x1p40))) return;
  if (!ir::is_float(dtype)) {
    for (const double whole : {std::floor(number), std::ceil(number)}) {
      const auto element = static_cast<int64_t>(std::clamp(whole, -0x1p62, 0x1p62));
      if (ir::lane_bits(dtype, element) == element) elements.push_back(ir::bits_of_integer(dtype, element));
    }
    return;
  }
  const uint64_t bits = bits_of(dtype, nest.is_extreme() ? number : with_few_digits(number));
  elements.push_back(bits);
  if (!nest.is_extreme() || (bits & ~ir::sign_bit(dtype)) == 0) return;
  elements.push_back(bits - 1);
  elements.push_back(bits + 1);
}

std::vector<uint64_t> some_elements(const ir::PoolNest& nest) {
  std::vector<uint64_t> elements;
  const ir::DType dtype = nest.input.dtype;
  add_near(nest, 0, elements);
  for (int exponent = -most_exponent; exponent <= most_exponent; ++exponent)
    for (const double sign : {1, -1})
      for (const double digits : {1.0, 1.375}) add_near(nest, sign * std::ldexp(digits, exponent), elements);
  for (const ir::EpilogueStep& step : nest.epilogue)
    for (size_t i = 0; i < info(step.kind).numbers; ++i)
      for (int halves = -most_halves; halves <= most_halves; ++halves)
        add_near(nest, step.numbers[i] * halves / 2, elements);
  for (const bool is_max : {true, false})
    if (!ir::is_float(dtype)) {
      const int bits = ir::info(dtype).bits;
      const int64_t end = ir::is_signed_int(dtype) ? int64_t{-1} << (bits - 1) : 0;
      elements.push_back(ir::bits_of_integer(dtype, is_max ? ~end : end));
    }
  return elements;
}

bool is_byte(ir::DType dtype) { return ir::bytes(dtype) == 1; }

}  // namespace

double number_of(ir::DType dtype, uint64_t bits) {
  return ir::with_element_type(dtype, [&]<typename T>(T element) {
    std::memcpy(&element, &bits, sizeof element);
    return static_cast<double>(element);
  });
}

uint64_t bits_of(ir::DType dtype, double value) {
  if (!ir::is_float(dtype)) return ir::bits_of_integer(dtype, static_cast<int64_t>(value));
  return static_cast<uint64_t>(ir::float_bits(dtype, value));
}

std::vector<double> neutral_operands(const ir::PoolNest& nest) {
  std::vector<double> neutral;
  for (const ir::EpilogueStep& step : nest.epilogue) {
    const ir::StepInfo& row = info(step.kind);
    const size_t first = neutral.size();
    neutral.resize(first + row.operands.size());
    for (const ir::StepPart& part : row.parts)
      if (row.numbers == 0 && part.kind == ir::PartKind::multiply) neutral[first + part.argument] = 1;
  }
  return neutral;
}

uint64_t Through::output(double result) const {
  const uint64_t bits = nest_.result_dtype() == ir::DType::f64
                            ? bits_after(nest_, result, operands_)
                            : bits_after(nest_, static_cast<float>(result), operands_);
  return ir::is_nan_bits(nest_.output.dtype, bits) ? ir::quiet_nan_bits(nest_.output.dtype) : bits;
}

Ordered told_apart(const ir::PoolNest& nest, const Ordered& wanted) {
  const Through through(nest);
  const ir::DType dtype = nest.input.dtype;
  const auto output = [&](uint64_t element) { return through.output(number_of(dtype, element)); };
  const uint64_t of_least = output(wanted.least), of_middle = output(wanted.middle),
                 of_most = output(wanted.most);
  if (of_least != of_middle && of_middle != of_most && of_least != of_most) return wanted;
  const double sign = nest.is_maximum() ? 1 : -1;
  std::vector<uint64_t> elements = step_elements(nest);
  elements.insert(elements.end(), {wanted.least, wanted.middle, wanted.most});
  // An infinity that a factor of 0 makes NaN is out of order.
  std::erase_if(elements, [&](uint64_t element) {
    return ir::is_nan_bits(dtype, element) || ir::is_nan_bits(nest.output.dtype, output(element));
  });
  if (elements.empty()) return {wanted.middle, wanted.middle, wanted.middle};
  std::ranges::stable_sort(elements, {}, [&](uint64_t element) { return sign * number_of(dtype, element); });
  // One of each stretch of equal outputs, from the least to the most.
  std::vector<uint64_t> heads;
  for (const uint64_t element : elements)
    if (heads.empty() || output(heads.back()) != output(element)) heads.push_back(element);
  if (heads.size() == 1) return {heads[0], heads[0], heads[0]};
  const uint64_t nan = ir::is_float(dtype) ? through.output(std::numeric_limits<double>::quiet_NaN()) : 0;
  size_t middle = heads.size() / 2;
  if (ir::is_float(dtype) && output(heads[middle]) == nan && middle + 2 < heads.size()) ++middle;
  return {elements.front(), heads[middle], elements.back()};
}

std::vector<uint64_t> step_elements(const ir::PoolNest& nest) {
  std::vector<uint64_t> elements;
  if (is_byte(nest.input.dtype))
    for (uint64_t bits = 0; bits < 256; ++bits) elements.push_back(bits);
  else
    elements = some_elements(nest);
  std::ranges::sort(elements);
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

bool has_all_steps(const ir::PoolNest& nest) {
  return is_byte(nest.input.dtype) && nest.is_extreme() && ir::operand_count(nest.epilogue) == 0;
}

}  // namespace pooljit::runtime
