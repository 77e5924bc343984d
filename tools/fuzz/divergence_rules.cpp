#include "tools/fuzz/divergence_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/element_type.h"

namespace pooljit::fuzz {
namespace {

using Rule = DivergenceRule;
using Output = JudgedOutput;

Number lowest(ir::DType dtype) {
  return ir::with_element_type(
      dtype, []<typename T>(T) { return static_cast<Number>(std::numeric_limits<T>::lowest()); });
}
Number highest(ir::DType dtype) {
  return ir::with_element_type(
      dtype, []<typename T>(T) { return static_cast<Number>(std::numeric_limits<T>::max()); });
}
bool is_same(Number a, Number b) { return a == b || (std::isnan(a) && std::isnan(b)); }

constexpr Rule nan_ignored = {[](ir::PoolNest& nest) {
                                if (nest.is_extreme()) nest.nan = ir::NanRule::ignore;
                              },
                              forgive_none, forgive_none,
                              [](const Output& o) {
                                const bool has_number = o.window.least <= o.window.greatest;
                                return o.is_extreme && has_number && std::isnan(o.found);
                              }};
constexpr Rule nan_alone = {keep,
                            [](const Output& o) {
                              const bool has_number = o.window.least <= o.window.greatest;
                              return o.is_extreme && o.window.has_nan && !has_number && std::isnan(o.found);
                            },
                            forgive_none};
// Whatever the order of the comparisons, what is left is a tap, or what they began with, and the index is
// that tap's. Of a sum with a NaN in it, no order of instructions makes a number.
bool is_what_comparisons_leave(const Output& o) {
  const Number identity = o.is_max ? lowest(o.dtype) : -lowest(o.dtype);
  const bool is_identity = o.found == identity || o.found == std::copysign(Number{INFINITY}, identity);
  const bool has_its_index =
      !o.is_indexed || (o.window.index_is_tap && (is_identity || is_same(o.window.at_index, o.found)));
  return o.is_extreme && o.window.has_nan && (o.window.is_tap || is_identity) && has_its_index;
}
constexpr Rule nan_any = {keep, is_what_comparisons_leave, is_what_comparisons_leave};
constexpr Rule nan_clamped = {
    keep, [](const Output& o) { return std::isnan(o.expected) && std::isinf(o.found); }, forgive_none,
    [](const Output& o) { return std::isnan(o.expected) && std::isnan(o.found); }};
// The identity of an engine's maximum or minimum shows. Of anything else, it is a wrong number.
Number worst(const Output& o) { return o.is_max ? lowest(o.dtype) : highest(o.dtype); }
bool is_worst_infinity(const Output& o, Number value) {
  return ir::is_float(o.dtype) && o.is_extreme && std::isinf(value) && (value < 0) == o.is_max;
}
constexpr Rule lowest_finite = {
    keep, [](const Output& o) { return is_worst_infinity(o, o.expected) && o.found == worst(o); },
    [](const Output& o) { return o.is_extreme && o.found == worst(o) && o.window.index_is_tap; },
    [](const Output& o) { return o.window.taps > 0 && is_worst_infinity(o, o.found); }};
// The value is right: only its place is another.
constexpr Rule ties_last = {
    keep, forgive_none,
    [](const Output& o) {
      return o.is_indexed && o.found == o.expected && o.window.equals > 1 && o.window.index_is_last;
    },
    [](const Output& o) {
      return o.is_indexed && o.found == o.expected && o.window.equals > 1 && !o.window.index_is_last;
    }};
// One NaN for another, and its index.
constexpr Rule nan_index = {
    keep, [](const Output& o) { return std::isnan(o.expected) && std::isnan(o.found); },
    [](const Output& o) {
      return std::isnan(o.expected) && o.window.index_is_tap && std::isnan(o.window.at_index);
    }};
constexpr Rule full_divisor = {
    [](ir::PoolNest& nest) {
      if (!nest.divides() || !nest.count_include_pad) return;
      int64_t taps = 1;
      for (const ir::NestDim& dim : nest.dims) taps *= dim.kernel;
      if (!nest.divisor_override) nest.divisor_override = taps;
    },
    forgive_none, forgive_none,
    [](const Output& o) {
      const bool is_clipped = o.is_mean && o.counts_padding && o.divisor < o.kernel_taps;
      // Far from the other quotient, which is smaller by a half at most in the largest kernels.
      return is_clipped && !is_subnormal(o.dtype, o.expected) && ir::is_float(o.dtype) &&
             std::isfinite(o.expected) && o.expected != 0 &&
             std::abs(o.found - o.expected) <= std::abs(o.expected) * (1 - o.divisor / o.kernel_taps) / 8;
    }};
// What an engine may begin a window with, or get from dividing by no taps; not what lies beside the image.
bool is_of_no_tap(const Output& o) {
  const Number begin = worst(o);
  const bool is_identity = o.found == begin || (std::isinf(o.found) && (o.found > 0) == (begin > 0));
  const bool is_quotient = !o.is_extreme && std::isinf(o.found);
  return o.window.taps == 0 &&
         (o.found == 0 || std::isnan(o.found) || (o.is_extreme && is_identity) || is_quotient);
}
constexpr Rule empty_window = {
    keep, is_of_no_tap, [](const Output& o) { return o.window.taps == 0 && o.window.index_is_in_input; }};
// Averages of integers by what is done with the exact quotient. One that needs no rounding is right or wrong.
bool is_integer_mean(const Output& o) { return o.is_mean && !ir::is_float(o.dtype); }
Number saturated(const Output& o, Number value) {
  return std::clamp(value, lowest(o.dtype), highest(o.dtype));
}
// A Number has no room for the fraction of a mean near 2^63.
template <Number round(Number)>
bool is_rounded(const Output& o) {
  const Number room = std::abs(o.window.mean) >= 0x1p58L ? 1 : 0;
  return std::abs(o.found - saturated(o, round(o.window.mean))) <= room;
}
template <Number round(Number)>
constexpr Rule rounded_average = {
    keep, [](const Output& o) { return is_integer_mean(o) && is_rounded<round>(o); }, forgive_none,
    [](const Output& o) { return is_integer_mean(o) && !is_rounded<round>(o); }};
constexpr Rule truncated_average = rounded_average<[](Number mean) { return std::trunc(mean); }>;
constexpr Rule half_away_average = rounded_average<[](Number mean) { return std::round(mean); }>;
constexpr Rule half_up_average = rounded_average<[](Number mean) { return std::floor(mean + 0.5L); }>;
constexpr Rule integer_average = {
    keep, [](const Output& o) { return is_integer_mean(o) && std::abs(o.found - o.window.mean) < 1; },
    forgive_none};
// Each tap of an average is rounded, each sum, the divisor's reciprocal and its product; in the end to an
// integer, from the quotient before that.
Number float_room(const Output& o) {
  if (!o.is_average) return std::abs(o.expected) * 0x1p-23;
  return static_cast<Number>(o.window.taps + 2) * o.window.mean_size * 0x1p-24 + 0.5;
}
Number before_rounding(const Output& o) {
  return o.is_mean ? o.window.mean * o.window.divisor / o.divisor : o.expected;
}
constexpr Rule float_integers = {
    keep,
    [](const Output& o) {
      const Number room = float_room(o), meant = before_rounding(o);
      // What no integer holds is converted to the lowest.
      const bool is_beyond = o.found == lowest(o.dtype) && meant + room > highest(o.dtype);
      const bool is_wide = ir::bytes(o.dtype) >= 4;
      return !ir::is_float(o.dtype) && is_wide && (is_beyond || std::abs(meant - o.found) <= room);
    },
    [](const Output& o) {
      return !ir::is_float(o.dtype) && o.window.index_is_tap && o.window.at_index != o.expected &&
             static_cast<float>(o.window.at_index) == static_cast<float>(o.expected);
    }};
// The sum that 32 or 64 bits hold, and what is made of it: divided, rounded to either side; of int32
// converted to float32, and of int64 as exactly as a Number holds the sum.
constexpr Rule wrapped_sum = {
    keep,
    [](const Output& o) {
      const bool is_wide = o.dtype == ir::DType::i64;
      const Number circle = is_wide ? 0x1p64L : 0x1p32L;
      const Number wrapped = o.window.sum - std::round(o.window.sum / circle) * circle;
      const bool is_negated = o.window.sum != 0 && (o.window.mean < 0) != (o.window.sum < 0);
      const Number meant = o.is_mean ? wrapped / (is_negated ? -o.divisor : o.divisor) : wrapped;
      const bool is_wrapped = o.window.sum < -circle / 2 || o.window.sum >= circle / 2;
      const Number room = is_wide     ? std::abs(o.window.sum) * 0x1p-60L + 1
                          : o.is_mean ? std::abs(meant) * 0x1p-22L + 0.5L
                                      : 0;
      // Half of the circle is either end of the range.
      const bool is_either_end =
          std::abs(wrapped) == circle / 2 && std::abs(std::abs(o.found) - std::abs(meant)) <= room;
      return o.is_sum && (o.dtype == ir::DType::i32 || is_wide) && is_wrapped &&
             (is_either_end || std::abs(o.found - meant) <= room);
    },
    forgive_none};
constexpr Rule subnormal_flushed = {
    keep,
    [](const Output& o) { return o.found == 0 && o.expected != 0 && is_subnormal(o.dtype, o.expected); },
    [](const Output& o) {
      return is_subnormal(o.dtype, o.expected) && o.window.index_is_tap &&
             is_subnormal(o.dtype, o.window.at_index);
    }};
// Sums that lose small addends are too small, never larger than all addends together; a mean stays between
// its taps and zero.
constexpr Rule narrow_sum = {
    keep,
    [](const Output& o) {
      const double room = 4 * o.epsilon * static_cast<double>(o.window.taps);
      const bool is_near = std::abs(o.expected - o.found) <= room * std::abs(o.expected);
      const Number slack = 2 * o.epsilon * static_cast<Number>(o.window.mean_size);
      const bool is_between = o.found >= std::min<Number>(o.window.least, 0) - slack &&
                              o.found <= std::max<Number>(o.window.greatest, 0) + slack;
      return o.is_average && o.window.taps > 1 && ir::is_float(o.dtype) && std::isfinite(o.expected) &&
             is_near && std::abs(o.found) <= o.window.mean_size + slack && (!o.is_mean || is_between);
    },
    forgive_none};

constexpr const Rule* rules[] = {
#define DIVERGENCE(name, text) &name,
#include "tools/fuzz/divergences.def"
#undef DIVERGENCE
};

}  // namespace

const DivergenceRule& rule_of(Divergence divergence) {
  const auto row = static_cast<size_t>(divergence);
  return row < std::size(rules) ? *rules[row] : fault_rule_of(row - std::size(rules));
}

}  // namespace pooljit::fuzz
