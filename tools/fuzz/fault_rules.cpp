// Wrong outputs that each known bug explains (tools/fuzz/faults.def), as narrow as can be said.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/element_type.h"
#include "tools/fuzz/divergence_rules.h"

namespace pooljit::fuzz {
namespace {

using Rule = DivergenceRule;
using Output = JudgedOutput;

Number as_stored(ir::DType dtype, Number value) {
  return ir::with_element_type(
      dtype, [&]<typename T>(T) { return static_cast<Number>(static_cast<T>(static_cast<double>(value))); });
}
constexpr Number least_int64 = std::numeric_limits<int64_t>::lowest();

// Each addition and subtraction leaves an error in float64.
constexpr Rule rolling_sum = {
    keep,
    [](const Output& o) {
      const bool is_wide = o.dtype == ir::DType::i64;
      if (!o.is_sum || !(ir::is_float(o.dtype) || is_wide)) return false;
      constexpr Number most = std::numeric_limits<double>::max();
      if (!std::isfinite(o.found)) return !o.seen_before.is_finite || o.seen_before.size > most;
      const Number room = 4 * o.seen_before.size * std::numeric_limits<double>::epsilon() +
                          (is_wide ? 1 : std::abs(o.expected) * o.epsilon);
      const bool is_beyond = is_wide && o.found == least_int64 && o.expected + room >= -least_int64;
      return is_beyond || std::abs(o.found - o.expected) <= room;
    },
    forgive_none};

constexpr Rule spoiled_extreme = {keep,
                                  [](const Output& o) {
                                    return o.is_extreme && o.seen_before.has_nan && !o.window.has_nan &&
                                           o.window.is_tap;
                                  },
                                  forgive_none};

constexpr Rule axis_average = {keep,
                               [](const Output& o) {
                                 return o.is_mean && !ir::is_float(o.dtype) && o.kernel_dims > 1 &&
                                        std::abs(o.found - o.window.mean) <
                                            static_cast<Number>(o.kernel_dims);
                               },
                               forgive_none};

constexpr Rule cancelled_sum = {
    keep,
    [](const Output& o) {
      const Number taps = static_cast<Number>(o.window.taps);
      return o.is_sum && (o.dtype == ir::DType::bf16 || o.dtype == ir::DType::f16) && taps > 1 &&
             std::abs(o.found - o.expected) <= taps * o.epsilon / 2 * o.window.mean_size;
    },
    forgive_none};

// OpenCV's ColumnSum<ushort, uchar>.
constexpr Rule blur_division = {
    keep,
    [](const Output& o) {
      if (!o.is_mean || o.dtype != ir::DType::u8 || o.divisor < 2 || o.divisor > 256) return false;
      constexpr int64_t one = 1 << 23;
      const auto divisor = static_cast<int64_t>(o.divisor), sum = static_cast<int64_t>(o.window.sum);
      const bool is_down = one % divisor * 2 < divisor;
      const int64_t quotient =
          (sum + divisor / 2 + (is_down ? 1 : 0)) * (one / divisor + (is_down ? 0 : 1)) / one;
      return o.found == static_cast<Number>(std::min<int64_t>(quotient, 255)) ||
             o.found == static_cast<Number>(quotient % 256);
    },
    forgive_none};

// In float32, or in float64 where vectors end.
bool is_times_reciprocal(const Output& o) {
  if (!o.is_mean || ir::is_float(o.dtype) || ir::bytes(o.dtype) > 2) return false;
  const auto sum = static_cast<double>(o.window.sum);
  const float product = static_cast<float>(sum) * (1 / static_cast<float>(o.divisor));
  return o.found == std::nearbyint(Number{product}) ||
         o.found == std::nearbyint(Number{sum * (1 / o.divisor)});
}
constexpr Rule reciprocal_average = {keep, is_times_reciprocal, forgive_none};

Number as_float64(Number value) {
  const auto rounded = static_cast<double>(value);
  return rounded >= 0x1p63 ? least_int64 : static_cast<Number>(rounded);
}
// Where a dimension ends in the lowest, the next one takes that for a number like the others.
bool is_through_float64(const Output& o) {
  if (!(o.is_extreme || o.is_mean) || o.dtype != ir::DType::i64) return false;
  if (o.is_extreme && o.found == as_float64(o.expected)) return true;
  if (as_float64(o.window.greatest) != least_int64) return false;
  const bool is_carried = o.is_mean ? o.found < o.window.mean : o.window.is_tap;
  return o.found == least_int64 || (o.kernel_dims > 1 && is_carried);
}
constexpr Rule float64_integers = {keep, is_through_float64, forgive_none};

constexpr Rule empty_index = {keep, forgive_none, [](const Output& o) { return o.window.taps == 0; }};

constexpr Rule narrow_index = {keep, forgive_none, [](const Output& o) {
                                 return o.found_index == as_stored(o.dtype, o.expected_index);
                               }};

constexpr Rule moved_window = {keep, [](const Output& o) { return o.is_extreme && o.is_dilated_in_padding; },
                               [](const Output& o) { return o.is_extreme && o.is_dilated_in_padding; }};

constexpr const Rule* fault_rules[] = {
#define FAULT(name, text) &name,
#include "tools/fuzz/faults.def"
#undef FAULT
};

}  // namespace

const DivergenceRule& fault_rule_of(size_t fault) { return *fault_rules[fault]; }

}  // namespace pooljit::fuzz
