#include "tools/fuzz/divergence_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/element_type.h"

namespace pooljit::fuzz {
namespace {

using Rule = DivergenceRule;
using Output = JudgedOutput;

double lowest(ir::DType dtype) {
  return ir::with_element_type(
      dtype, []<typename T>(T) { return static_cast<double>(std::numeric_limits<T>::lowest()); });
}
double epsilon(ir::DType dtype) {
  return ir::with_element_type(
      dtype, []<typename T>(T) { return std::ldexp(1.0, 1 - std::numeric_limits<T>::digits); });
}
bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void keep(ir::PoolNest&) {}
bool forgive_none(const Output&) { return false; }

constexpr Rule nan_ignored = {[](ir::PoolNest& nest) {
                                if (nest.is_extreme()) nest.nan = ir::NanRule::ignore;
                              },
                              forgive_none, forgive_none};
// Whatever the order of the comparisons, what is left is a tap, or what they began with, and the index is
// that tap's. Of a sum with a NaN in it, no order of instructions makes a number.
bool is_what_comparisons_leave(const Output& o) {
  const double identity = o.is_max ? lowest(o.dtype) : -lowest(o.dtype);
  const bool is_identity = o.found == identity || o.found == std::copysign(INFINITY, identity);
  const bool has_its_index =
      !o.is_indexed || (o.window.index_is_tap && (is_identity || is_same(o.window.at_index, o.found)));
  return o.is_extreme && o.window.has_nan && (o.window.is_tap || is_identity) && has_its_index;
}
constexpr Rule nan_any = {keep, is_what_comparisons_leave, is_what_comparisons_leave};
constexpr Rule nan_clamped = {
    keep, [](const Output& o) { return std::isnan(o.expected) && std::isinf(o.found); }, forgive_none};
// The identity of an engine's maximum shows. Of anything else, the lowest number is a wrong number.
constexpr Rule lowest_finite = {
    keep,
    [](const Output& o) {
      return ir::is_float(o.dtype) && o.is_max && std::isinf(o.expected) && o.expected < 0 &&
             o.found == lowest(o.dtype);
    },
    [](const Output& o) { return o.is_max && o.found == lowest(o.dtype) && o.window.index_is_tap; }};
// One NaN for another, and its index.
constexpr Rule nan_index = {
    keep, [](const Output& o) { return std::isnan(o.expected) && std::isnan(o.found); },
    [](const Output& o) {
      return std::isnan(o.expected) && o.window.index_is_tap && std::isnan(o.window.at_index);
    }};
constexpr Rule full_divisor = {[](ir::PoolNest& nest) {
                                 if (nest.reduction != ir::Reduction::avg || !nest.count_include_pad) return;
                                 int64_t taps = 1;
                                 for (const ir::NestDim& dim : nest.dims) taps *= dim.kernel;
                                 if (!nest.divisor_override) nest.divisor_override = taps;
                               },
                               forgive_none, forgive_none};
constexpr auto is_empty = [](const Output& o) { return o.window.taps == 0; };
constexpr Rule empty_window = {keep, is_empty, is_empty};
// Rounded to whichever side, a mean is between its taps, and the zeros of the padding if it counts them.
constexpr Rule integer_average = {
    keep,
    [](const Output& o) {
      const bool counts_zeros = o.divisor != static_cast<double>(o.window.taps);
      const double least = counts_zeros ? std::min(o.window.least, 0.0) : o.window.least;
      const double greatest = counts_zeros ? std::max(o.window.greatest, 0.0) : o.window.greatest;
      const bool is_between = !o.has_plain_mean || (o.found >= least && o.found <= greatest);
      return o.is_average && !ir::is_float(o.dtype) && is_between && std::abs(o.expected - o.found) <= 1;
    },
    forgive_none};
// An average has an error for each tap, and is rounded in the end.
double float_room(const Output& o) {
  return o.is_average ? static_cast<double>(o.window.taps) * o.window.mean_size * 0x1p-23 + 0.5
                      : std::abs(o.expected) * 0x1p-23;
}
constexpr Rule float_integers = {
    keep,
    [](const Output& o) {
      const double room = float_room(o);
      // What no integer holds is converted to the lowest.
      const bool is_beyond = o.found == lowest(o.dtype) && o.expected + room > -lowest(o.dtype) - 1;
      return !ir::is_float(o.dtype) && (is_beyond || std::abs(o.expected - o.found) <= room);
    },
    [](const Output& o) {
      return !ir::is_float(o.dtype) && o.window.index_is_tap && o.window.at_index != o.expected &&
             static_cast<float>(o.window.at_index) == static_cast<float>(o.expected);
    }};
constexpr Rule wrapped_sum = {keep,
                              [](const Output& o) {
                                const double apart = std::abs(o.expected - o.found),
                                             wrap = 0x1p32 / o.divisor;
                                const double wraps = std::round(apart / wrap);
                                return o.is_average && o.dtype == ir::DType::i32 && wraps >= 1 &&
                                       std::abs(apart - wraps * wrap) <= float_room(o) + 0.5;
                              },
                              forgive_none};
constexpr Rule subnormal_flushed = {
    keep,
    [](const Output& o) { return o.found == 0 && o.expected != 0 && is_subnormal(o.dtype, o.expected); },
    [](const Output& o) {
      return is_subnormal(o.dtype, o.expected) && o.window.index_is_tap &&
             is_subnormal(o.dtype, o.window.at_index);
    }};
constexpr Rule narrow_sum = {keep,
                             [](const Output& o) {
                               const double room = 4 * epsilon(o.dtype) * static_cast<double>(o.window.taps);
                               return o.is_average && o.window.taps > 1 && ir::is_float(o.dtype) &&
                                      std::isfinite(o.expected) &&
                                      std::abs(o.expected - o.found) <= room * std::abs(o.expected);
                             },
                             forgive_none};

constexpr const Rule* rules[] = {
#define DIVERGENCE(name, text) &name,
#include "tools/fuzz/divergences.def"
#undef DIVERGENCE
};

}  // namespace

const DivergenceRule& rule_of(Divergence divergence) { return *rules[static_cast<size_t>(divergence)]; }

}  // namespace pooljit::fuzz
