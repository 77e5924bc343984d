#include "tools/fuzz/explain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/element_type.h"
#include "ir/reference.h"
#include "tools/fuzz/window_facts.h"

namespace pooljit::fuzz {
namespace {

// One output, as the rules see it.
struct Output {
  ir::DType dtype;
  double expected, found;
  bool has_nan;  // among the taps
  int64_t taps;
  double divisor, mean_size;  // of the taps
  bool is_average, is_max, is_indexed;
};

// What a rule changes about what is meant, and which outputs it then leaves open.
struct Rule {
  void (*change)(ir::PoolNest&);
  bool (*forgives)(const Output&);
};

double lowest(ir::DType dtype) {
  return ir::with_element_type(
      dtype, []<typename T>(T) { return static_cast<double>(std::numeric_limits<T>::lowest()); });
}
double least_normal(ir::DType dtype) {
  return ir::with_element_type(
      dtype, []<typename T>(T) { return static_cast<double>(std::numeric_limits<T>::min()); });
}
double epsilon(ir::DType dtype) {
  return ir::with_element_type(
      dtype, []<typename T>(T) { return std::ldexp(1.0, 1 - std::numeric_limits<T>::digits); });
}

void keep(ir::PoolNest&) {}
bool forgive_none(const Output&) { return false; }

constexpr Rule nan_ignored = {[](ir::PoolNest& nest) {
                                if (nest.is_extreme()) nest.nan = ir::NanRule::ignore;
                              },
                              forgive_none};
// Of a sum with a NaN in it, no order of instructions makes a number.
constexpr Rule nan_any = {keep, [](const Output& o) { return o.has_nan && !o.is_average; }};
// The identity of an engine's maximum shows. Of anything else, the lowest number is a wrong number.
constexpr Rule lowest_finite = {keep, [](const Output& o) {
                                  return ir::is_float(o.dtype) && o.is_max && std::isinf(o.expected) &&
                                         o.expected < 0 && o.found == lowest(o.dtype);
                                }};
constexpr Rule nan_index = {keep, [](const Output& o) {
                              return o.is_indexed && o.has_nan && o.expected != o.expected &&
                                     o.found != o.found;
                            }};
constexpr Rule full_divisor = {[](ir::PoolNest& nest) {
                                 if (nest.reduction != ir::Reduction::avg || !nest.count_include_pad) return;
                                 int64_t taps = 1;
                                 for (const ir::NestDim& dim : nest.dims) taps *= dim.kernel;
                                 if (!nest.divisor_override) nest.divisor_override = taps;
                               },
                               forgive_none};
constexpr Rule empty_window = {keep, [](const Output& o) { return o.taps == 0; }};
constexpr Rule integer_average = {keep, [](const Output& o) {
                                    return o.is_average && !ir::is_float(o.dtype) &&
                                           std::abs(o.expected - o.found) <= 1;
                                  }};
// An average has an error for each tap, and is rounded in the end.
double float_room(const Output& o) {
  return o.is_average ? static_cast<double>(o.taps) * o.mean_size * 0x1p-23 + 0.5
                      : std::abs(o.expected) * 0x1p-23;
}
constexpr Rule float_integers = {
    keep, [](const Output& o) {
      const double room = float_room(o);
      // What no integer holds is converted to the lowest.
      const bool is_beyond = o.found == lowest(o.dtype) && o.expected + room > -lowest(o.dtype) - 1;
      return !ir::is_float(o.dtype) && (is_beyond || std::abs(o.expected - o.found) <= room);
    }};
constexpr Rule wrapped_sum = {keep, [](const Output& o) {
                                const double apart = std::abs(o.expected - o.found),
                                             wrap = 0x1p32 / o.divisor;
                                const double wraps = std::round(apart / wrap);
                                return o.is_average && o.dtype == ir::DType::i32 && wraps >= 1 &&
                                       std::abs(apart - wraps * wrap) <= float_room(o) + 0.5;
                              }};
constexpr Rule subnormal_flushed = {keep, [](const Output& o) {
                                      return ir::is_float(o.dtype) && o.found == 0 &&
                                             std::abs(o.expected) < least_normal(o.dtype);
                                    }};
constexpr Rule narrow_sum = {keep, [](const Output& o) {
                               const double room = 4 * epsilon(o.dtype) * static_cast<double>(o.taps);
                               return o.is_average && o.taps > 1 && ir::is_float(o.dtype) &&
                                      std::isfinite(o.expected) &&
                                      std::abs(o.expected - o.found) <= room * std::abs(o.expected);
                             }};

constexpr const Rule* rules[] = {
#define DIVERGENCE(name, text) &name,
#include "tools/fuzz/divergences.def"
#undef DIVERGENCE
};
constexpr DivergenceInfo infos[] = {
#define DIVERGENCE(name, text) {Divergence::name, #name, text},
#include "tools/fuzz/divergences.def"
#undef DIVERGENCE
};

void copy_element(const ir::View& view, const runtime::Bytes& from, runtime::Bytes& to, int64_t element) {
  const auto size = static_cast<size_t>(ir::bytes(view.dtype)), at = static_cast<size_t>(element) * size;
  std::memcpy(&to[at], &from[at], size);
}

class Trial {
 public:
  Trial(ir::PoolNest nest, const runtime::Case& data, const std::vector<WindowFacts>& windows,
        const runtime::Results& results, const std::vector<Divergence>& set)
      : nest_(std::move(nest)), data_(data), windows_(windows), found_(results), expected_(results) {
    for (const Divergence one : set) chosen_.push_back(rules[static_cast<size_t>(one)]);
    for (const Rule* rule : chosen_) rule->change(nest_);
  }

  bool explains() {
    const std::byte* const input = data_.input.at[0].data();
    ir::evaluate(nest_, data_.batch, input, expected_.output.data(), expected_.indices.data());
    for (const WindowFacts& window : windows_) forgive(window);
    return !ir::disagreement(nest_, data_.batch, input, found_.output.data(), found_.indices.data());
  }

 private:
  // Puts what is expected in the place of what is forgiven.
  void forgive(const WindowFacts& window) {
    const ir::DType dtype = nest_.output.dtype;
    const Output output = {.dtype = dtype,
                           .expected = read_element(dtype, expected_.output.data(), window.output),
                           .found = read_element(dtype, found_.output.data(), window.output),
                           .has_nan = window.has_nan,
                           .taps = window.taps,
                           .divisor = nest_.divisor_override
                                          ? static_cast<double>(std::abs(*nest_.divisor_override))
                                          : window.divisor,
                           .mean_size = window.mean_size,
                           .is_average = !nest_.is_extreme(),
                           .is_max = nest_.reduction == ir::Reduction::max,
                           .is_indexed = nest_.indices.has_value()};
    if (std::ranges::none_of(chosen_, [&](const Rule* rule) { return rule->forgives(output); })) return;
    copy_element(nest_.output, expected_.output, found_.output, window.output);
    if (nest_.indices) copy_element(*nest_.indices, expected_.indices, found_.indices, window.index);
  }

  ir::PoolNest nest_;
  const runtime::Case& data_;
  const std::vector<WindowFacts>& windows_;
  runtime::Results found_, expected_;
  std::vector<const Rule*> chosen_;
};

// Whether `set` with so many more out of `among` is good; that is then left in `set`.
bool any_set(std::vector<Divergence>& set, size_t more, std::span<const Divergence> among,
             const auto& is_good) {
  if (more == 0) return is_good(set);
  for (size_t i = 0; i < among.size(); ++i) {
    set.push_back(among[i]);
    if (any_set(set, more - 1, among.subspan(i + 1), is_good)) return true;
    set.pop_back();
  }
  return false;
}

}  // namespace

std::span<const DivergenceInfo> divergences() { return infos; }
const DivergenceInfo& info(Divergence divergence) { return infos[static_cast<size_t>(divergence)]; }

std::optional<std::vector<Divergence>> explain(const ir::PoolNest& nest, const runtime::Case& data,
                                               const runtime::Results& results,
                                               std::span<const Divergence> among) {
  constexpr size_t most_rules = 3;
  const std::vector<WindowFacts> windows = window_facts(nest, data.batch, data.input.at[0].data());
  const auto is_good = [&](const std::vector<Divergence>& set) {
    return Trial(nest, data, windows, results, set).explains();
  };
  std::vector<Divergence> set;
  for (size_t size = 1; size <= most_rules; ++size)
    if (any_set(set, size, among, is_good)) return set;
  return std::nullopt;
}

std::optional<std::vector<Divergence>> explain(const ir::PoolNest& nest, const runtime::Case& data,
                                               const runtime::Results& results) {
  std::vector<Divergence> all;
  for (const DivergenceInfo& row : infos) all.push_back(row.divergence);
  return explain(nest, data, results, all);
}

}  // namespace pooljit::fuzz
