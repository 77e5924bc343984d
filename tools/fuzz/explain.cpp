#include "tools/fuzz/explain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>

#include "ir/agreement.h"
#include "ir/element_type.h"
#include "tools/fuzz/divergence_rules.h"
#include "tools/fuzz/seen_before.h"
#include "tools/fuzz/window_facts.h"

namespace pooljit::fuzz {
namespace {

constexpr DivergenceInfo infos[] = {
#define DIVERGENCE(name, text) {Divergence::name, #name, text},
#include "tools/fuzz/divergences.def"
#undef DIVERGENCE
#define FAULT(name, text) {Divergence::name, #name, text},
#include "tools/fuzz/faults.def"
#undef FAULT
};
constexpr size_t divergence_count = 0
#define DIVERGENCE(name, text) +1
#include "tools/fuzz/divergences.def"
#undef DIVERGENCE
    ;

void copy_element(const ir::View& view, const runtime::Bytes& from, runtime::Bytes& to, int64_t element) {
  const auto size = static_cast<size_t>(ir::bytes(view.dtype)), at = static_cast<size_t>(element) * size;
  std::memcpy(&to[at], &from[at], size);
}

bool is_same_element(const ir::View& view, const runtime::Bytes& a, const runtime::Bytes& b,
                     int64_t element) {
  const auto size = static_cast<size_t>(ir::bytes(view.dtype)), at = static_cast<size_t>(element) * size;
  return std::memcmp(&a[at], &b[at], size) == 0;
}

double kernel_taps(const ir::PoolNest& nest) {
  double taps = 1;
  for (const ir::NestDim& dim : nest.dims) taps *= static_cast<double>(dim.kernel);
  return taps;
}

double epsilon_of(ir::DType dtype) {
  return ir::with_element_type(
      dtype, []<typename T>(T) { return std::ldexp(1.0, 1 - std::numeric_limits<T>::digits); });
}

// Whether a tap lies in the padding, along whatever dimension, of a window that is dilated along some.
bool is_dilated_in_padding(const ir::PoolNest& nest, const WindowFacts& window) {
  bool is_dilated = false, is_in_padding = false;
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    const ir::NestDim& dim = nest.dims[d];
    const int64_t first = window.position[d] * dim.stride - dim.pad_begin,
                  last = first + (dim.kernel - 1) * dim.dilation;
    is_dilated |= dim.dilation > 1;
    is_in_padding |= first < 0 || last >= dim.input;
  }
  return is_dilated && is_in_padding;
}

// What is meant once some rules have changed it, evaluated once for all sets of rules that change the same.
class Meaning {
 public:
  // nest: as some rules change the original, which the facts are about.
  Meaning(ir::PoolNest nest, const ir::PoolNest& original, const runtime::Case& data,
          const runtime::Results& found)
      : nest_(std::move(nest)),
        original_(original),
        data_(data),
        judge_(nest_, data.batch, data.input.at[0].data()),
        found_(found) {}
  Meaning(const Meaning&) = delete;  // the judge refers to nest_

  const ir::PoolNest& nest() const { return nest_; }

  // Whether what was found is right but for outputs that one of the rules forgives.
  bool explains(std::span<const DivergenceRule* const> rules) {
    runtime::Results forgiven = found_;
    for (const WindowFacts& window : others()) forgive(window, rules, forgiven);
    return !judge_.disagreement(forgiven.output.data(), forgiven.indices.data());
  }

  // Whether the rule forgives an output that is another than what is meant.
  bool is_forgiven_any(const DivergenceRule& rule) {
    return std::ranges::any_of(others(), [&](const WindowFacts& window) {
      const JudgedOutput output = output_of(window);
      return (is_other_value(place_of(window)) && rule.forgives_value(output)) ||
             (is_other_index(place_of(window)) && rule.forgives_index(output));
    });
  }

  // What a rule asks of an output.
  JudgedOutput output_of(const WindowFacts& window) const {
    const ir::DType dtype = nest_.output.dtype;
    const bool is_indexed = nest_.indices.has_value();
    const auto index_in = [&](const runtime::Bytes& indices) {
      return is_indexed ? read_element(nest_.indices->dtype, indices.data(), window.index) : -1;
    };
    return {.dtype = dtype,
            .epsilon = epsilon_of(dtype),
            .expected = read_element(dtype, judge_.output().data(), window.output),
            .found = read_element(dtype, found_.output.data(), window.output),
            .expected_index = index_in(judge_.indices()),
            .found_index = index_in(found_.indices),
            .window = window,
            .divisor = nest_.divisor_override ? static_cast<double>(std::abs(*nest_.divisor_override))
                                              : window.divisor,
            .kernel_taps = kernel_taps(nest_),
            .seen_before = seen_before(window),
            .kernel_dims =
                std::ranges::count_if(nest_.dims, [](const ir::NestDim& dim) { return dim.kernel > 1; }),
            .is_dilated_in_padding = is_dilated_in_padding(nest_, window),
            .is_average = nest_.is_sum() || nest_.is_norm(),
            .is_extreme = nest_.is_extreme(),
            .is_max = nest_.is_maximum(),
            .is_indexed = is_indexed,
            .is_mean = nest_.divides() && !nest_.quantization && nest_.output.dtype == nest_.input.dtype,
            .is_sum = nest_.is_sum() && !nest_.quantization && nest_.output.dtype == nest_.input.dtype,
            .counts_padding = nest_.count_include_pad && !nest_.divisor_override};
  }

 private:
  static OutputPlace place_of(const WindowFacts& window) { return {window.output, window.index}; }
  bool is_other_value(OutputPlace place) const {
    return !is_same_element(nest_.output, judge_.output(), found_.output, place.output);
  }
  bool is_other_index(OutputPlace place) const {
    return nest_.indices && !is_same_element(*nest_.indices, judge_.indices(), found_.indices, place.index);
  }

  // Of what was found, the outputs that are not what is meant.
  const std::vector<WindowFacts>& others() {
    const auto is_other = [&](OutputPlace place) { return is_other_value(place) || is_other_index(place); };
    if (!others_) others_ = window_facts(original_, data_.batch, data_.input.at[0].data(), found_, is_other);
    return *others_;
  }

  Seen seen_before(const WindowFacts& window) const {
    if (!seen_) seen_.emplace(original_, data_.batch, data_.input.at[0].data());
    return seen_->at(window.n, window.c, window.position);
  }

  // Puts what is expected in the place of what is forgiven.
  void forgive(const WindowFacts& window, std::span<const DivergenceRule* const> rules,
               runtime::Results& forgiven) const {
    const JudgedOutput output = output_of(window);
    const auto is_forgiven = [&](bool (*DivergenceRule::*question)(const JudgedOutput&)) {
      return std::ranges::any_of(rules,
                                 [&](const DivergenceRule* rule) { return (rule->*question)(output); });
    };
    if (is_other_index(place_of(window)) && is_forgiven(&DivergenceRule::forgives_index))
      copy_element(*nest_.indices, judge_.indices(), forgiven.indices, window.index);
    if (is_other_value(place_of(window)) && is_forgiven(&DivergenceRule::forgives_value))
      copy_element(nest_.output, judge_.output(), forgiven.output, window.output);
  }

  const ir::PoolNest nest_;
  const ir::PoolNest& original_;
  const runtime::Case& data_;
  ir::Judge judge_;
  const runtime::Results& found_;
  std::optional<std::vector<WindowFacts>> others_;
  mutable std::optional<SeenBefore> seen_;
};

// Tries sets of rules on the results of one engine.
class Trials {
 public:
  Trials(const ir::PoolNest& nest, const runtime::Case& data, const runtime::Results& results)
      : nest_(nest), data_(data), results_(results) {}

  // Without the rules that do nothing here: they change no meaning, and forgive no output of any.
  std::vector<Divergence> useful(std::span<const Divergence> among) {
    std::vector<ir::PoolNest> changed = {nest_};
    for (const Divergence one : among)
      for (size_t i = 0, all = changed.size(); i < all; ++i) {
        ir::PoolNest more = changed[i];
        rule_of(one).change(more);
        if (std::ranges::find(changed, more) == changed.end()) changed.push_back(more);
      }
    std::vector<Divergence> found;
    for (const Divergence one : among) {
      ir::PoolNest alone = nest_;
      rule_of(one).change(alone);
      const auto forgives_any = [&](const ir::PoolNest& nest) {
        return meaning_of(nest).is_forgiven_any(rule_of(one));
      };
      if (alone != nest_ || std::ranges::any_of(changed, forgives_any)) found.push_back(one);
    }
    return found;
  }

  bool explains(const std::vector<Divergence>& set) {
    ir::PoolNest changed = nest_;
    std::vector<const DivergenceRule*> chosen;
    for (const Divergence one : set) {
      chosen.push_back(&rule_of(one));
      chosen.back()->change(changed);
    }
    return meaning_of(changed).explains(chosen);
  }

 private:
  Meaning& meaning_of(const ir::PoolNest& changed) {
    const auto known = std::ranges::find_if(meanings_, [&](const Meaning& m) { return m.nest() == changed; });
    return known != meanings_.end() ? *known : meanings_.emplace_back(changed, nest_, data_, results_);
  }

  const ir::PoolNest& nest_;
  const runtime::Case& data_;
  const runtime::Results& results_;
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

std::span<const DivergenceInfo> divergences() { return std::span(infos).first(divergence_count); }
std::span<const DivergenceInfo> all_differences() { return infos; }
const DivergenceInfo& info(Divergence divergence) { return infos[static_cast<size_t>(divergence)]; }

std::optional<std::vector<Divergence>> explain(const ir::PoolNest& nest, const runtime::Case& data,
                                               const runtime::Results& results,
                                               std::span<const Divergence> among) {
  constexpr size_t most_rules = 4;
  Trials trials(nest, data, results);
  const auto is_good = [&](const std::vector<Divergence>& set) { return trials.explains(set); };
  const std::vector<Divergence> useful = trials.useful(among);
  std::vector<Divergence> set;
  for (size_t size = 1; size <= most_rules; ++size)
    if (any_set(set, size, useful, is_good)) return set;
  return std::nullopt;
}

bool can_break(Divergence rule) { return rule_of(rule).is_broken != nullptr; }

// An output breaks no rule if something else that is accepted makes it what it is.
std::optional<BrokenRule> broken_rule(const ir::PoolNest& nest, const runtime::Case& data,
                                      const runtime::Results& results, const KeptRules& kept) {
  if (std::ranges::none_of(kept.rules, can_break)) return std::nullopt;
  const Meaning meaning(nest, nest, data, results);
  const auto is_forgiven = [&](Divergence one) { return std::ranges::count(kept.forgiven, one) > 0; };
  std::optional<BrokenRule> first;
  const auto is_wanted = [&] { return !first || is_forgiven(first->rule); };
  for_each_window(
      nest, data.batch, data.input.at[0].data(), results, [&](OutputPlace) { return is_wanted(); },
      [&](const WindowFacts& window) {
        const JudgedOutput output = meaning.output_of(window);
        const auto makes = [&](Divergence one) {
          return rule_of(one).forgives_value(output) || rule_of(one).forgives_index(output);
        };
        for (const Divergence one : kept.rules)
          if (is_wanted() && !(first && is_forgiven(one)) && can_break(one) &&
              rule_of(one).is_broken(output) && std::ranges::none_of(kept.accepted, [&](Divergence other) {
                return other != one && makes(other);
              }))
            first = {one, window};
      });
  return first;
}

std::optional<std::vector<Divergence>> explain(const ir::PoolNest& nest, const runtime::Case& data,
                                               const runtime::Results& results) {
  std::vector<Divergence> all;
  for (const DivergenceInfo& row : divergences()) all.push_back(row.divergence);
  return explain(nest, data, results, all);
}

}  // namespace pooljit::fuzz
