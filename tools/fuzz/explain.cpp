#include "tools/fuzz/explain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>

#include "ir/agreement.h"
#include "ir/element_type.h"
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

// What is meant once some rules have changed it, evaluated once for all sets of rules that change the same.
class Meaning {
 public:
  Meaning(ir::PoolNest nest, const runtime::Case& data)
      : nest_(std::move(nest)), judge_(nest_, data.batch, data.input.at[0].data()) {}
  Meaning(const Meaning&) = delete;  // the judge refers to nest_

  const ir::PoolNest& nest() const { return nest_; }

  // Whether the results are right but for outputs that one of the rules forgives.
  bool explains(runtime::Results found, std::span<const Rule* const> rules,
                const std::vector<WindowFacts>& windows) {
    for (const WindowFacts& window : windows) forgive(window, rules, found);
    return !judge_.disagreement(found.output.data(), found.indices.data());
  }

  bool is_forgiven_any(const runtime::Results& found, const Rule& rule,
                       const std::vector<WindowFacts>& windows) const {
    return std::ranges::any_of(
        windows, [&](const WindowFacts& window) { return rule.forgives(output_of(window, found)); });
  }

 private:
  Output output_of(const WindowFacts& window, const runtime::Results& found) const {
    const ir::DType dtype = nest_.output.dtype;
    return {.dtype = dtype,
            .expected = read_element(dtype, judge_.output().data(), window.output),
            .found = read_element(dtype, found.output.data(), window.output),
            .has_nan = window.has_nan,
            .taps = window.taps,
            .divisor = nest_.divisor_override ? static_cast<double>(std::abs(*nest_.divisor_override))
                                              : window.divisor,
            .mean_size = window.mean_size,
            .is_average = !nest_.is_extreme(),
            .is_max = nest_.reduction == ir::Reduction::max,
            .is_indexed = nest_.indices.has_value()};
  }

  // Puts what is expected in the place of what is forgiven.
  void forgive(const WindowFacts& window, std::span<const Rule* const> rules, runtime::Results& found) const {
    const Output output = output_of(window, found);
    if (std::ranges::none_of(rules, [&](const Rule* rule) { return rule->forgives(output); })) return;
    copy_element(nest_.output, judge_.output(), found.output, window.output);
    if (nest_.indices) copy_element(*nest_.indices, judge_.indices(), found.indices, window.index);
  }

  const ir::PoolNest nest_;
  ir::Judge judge_;
};

// Tries sets of rules on the results of one engine.
class Trials {
 public:
  Trials(const ir::PoolNest& nest, const runtime::Case& data, const runtime::Results& results)
      : nest_(nest),
        data_(data),
        results_(results),
        windows_(window_facts(nest, data.batch, data.input.at[0].data())) {}

  // Without the rules that do nothing here: they change no meaning, and forgive no output of any.
  std::vector<Divergence> useful(std::span<const Divergence> among) {
    std::vector<ir::PoolNest> changed = {nest_};
    for (const Divergence one : among)
      for (size_t i = 0, all = changed.size(); i < all; ++i) {
        ir::PoolNest more = changed[i];
        rule(one).change(more);
        if (std::ranges::find(changed, more) == changed.end()) changed.push_back(more);
      }
    std::vector<Divergence> found;
    for (const Divergence one : among) {
      ir::PoolNest alone = nest_;
      rule(one).change(alone);
      const auto forgives_any = [&](const ir::PoolNest& nest) {
        return meaning_of(nest).is_forgiven_any(results_, rule(one), windows_);
      };
      if (alone != nest_ || std::ranges::any_of(changed, forgives_any)) found.push_back(one);
    }
    return found;
  }

  bool explains(const std::vector<Divergence>& set) {
    ir::PoolNest changed = nest_;
    std::vector<const Rule*> chosen;
    for (const Divergence one : set) {
      chosen.push_back(&rule(one));
      chosen.back()->change(changed);
    }
    return meaning_of(changed).explains(results_, chosen, windows_);
  }

 private:
  static const Rule& rule(Divergence one) { return *rules[static_cast<size_t>(one)]; }

  Meaning& meaning_of(const ir::PoolNest& changed) {
    const auto known = std::ranges::find_if(meanings_, [&](const Meaning& m) { return m.nest() == changed; });
    return known != meanings_.end() ? *known : meanings_.emplace_back(changed, data_);
  }

  const ir::PoolNest& nest_;
  const runtime::Case& data_;
  const runtime::Results& results_;
  const std::vector<WindowFacts> windows_;
  std::list<Meaning> meanings_;  // which stay where they are
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
  Trials trials(nest, data, results);
  const auto is_good = [&](const std::vector<Divergence>& set) { return trials.explains(set); };
  const std::vector<Divergence> useful = trials.useful(among);
  std::vector<Divergence> set;
  for (size_t size = 1; size <= most_rules; ++size)
    if (any_set(set, size, useful, is_good)) return set;
  return std::nullopt;
}

std::optional<std::vector<Divergence>> explain(const ir::PoolNest& nest, const runtime::Case& data,
                                               const runtime::Results& results) {
  std::vector<Divergence> all;
  for (const DivergenceInfo& row : infos) all.push_back(row.divergence);
  return explain(nest, data, results, all);
}

}  // namespace pooljit::fuzz
