#include "tools/fuzz/explain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>

#include "ir/agreement.h"
#include "tools/fuzz/divergence_rules.h"
#include "tools/fuzz/window_facts.h"

namespace pooljit::fuzz {
namespace {

constexpr DivergenceInfo infos[] = {
#define DIVERGENCE(name, text) {Divergence::name, #name, text},
#include "tools/fuzz/divergences.def"
#undef DIVERGENCE
};

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

// What is meant once some rules have changed it, evaluated once for all sets of rules that change the same.
class Meaning {
 public:
  Meaning(ir::PoolNest nest, const runtime::Case& data)
      : nest_(std::move(nest)), judge_(nest_, data.batch, data.input.at[0].data()) {}
  Meaning(const Meaning&) = delete;  // the judge refers to nest_

  const ir::PoolNest& nest() const { return nest_; }

  // Whether the results are right but for outputs that one of the rules forgives.
  bool explains(runtime::Results found, std::span<const DivergenceRule* const> rules,
                const std::vector<WindowFacts>& windows) {
    for (const WindowFacts& window : windows) forgive(window, rules, found);
    return !judge_.disagreement(found.output.data(), found.indices.data());
  }

  // The first output that shows that the engine does not keep one of its rules here, though none of the
  // others makes it what it is.
  std::optional<BrokenRule> broken(const runtime::Results& found, std::span<const Divergence> kept,
                                   const std::vector<WindowFacts>& windows) const {
    for (const WindowFacts& window : windows) {
      const JudgedOutput output = output_of(window, found);
      const auto is_made_by = [&](Divergence other) {
        const DivergenceRule& rule = rule_of(other);
        return rule.forgives_value(output) || rule.forgives_index(output);
      };
      for (const Divergence one : kept)
        if (rule_of(one).is_broken && rule_of(one).is_broken(output) &&
            std::ranges::none_of(kept, [&](Divergence other) { return other != one && is_made_by(other); }))
          return BrokenRule{one, window};
    }
    return std::nullopt;
  }

  // Whether the rule forgives an output that is another than what is meant.
  bool is_forgiven_any(const runtime::Results& found, const DivergenceRule& rule,
                       const std::vector<WindowFacts>& windows) const {
    return std::ranges::any_of(windows, [&](const WindowFacts& window) {
      const JudgedOutput output = output_of(window, found);
      return (is_other_value(window, found) && rule.forgives_value(output)) ||
             (is_other_index(window, found) && rule.forgives_index(output));
    });
  }

 private:
  JudgedOutput output_of(const WindowFacts& window, const runtime::Results& found) const {
    const ir::DType dtype = nest_.output.dtype;
    return {.dtype = dtype,
            .expected = read_element(dtype, judge_.output().data(), window.output),
            .found = read_element(dtype, found.output.data(), window.output),
            .window = window,
            .divisor = nest_.divisor_override ? static_cast<double>(std::abs(*nest_.divisor_override))
                                              : window.divisor,
            .kernel_taps = kernel_taps(nest_),
            .is_average = !nest_.is_extreme(),
            .is_extreme = nest_.is_extreme(),
            .is_max = nest_.reduction == ir::Reduction::max,
            .is_indexed = nest_.indices.has_value(),
            .is_mean = nest_.reduction == ir::Reduction::avg && !nest_.quantization &&
                       nest_.output.dtype == nest_.input.dtype,
            .is_sum = !nest_.is_extreme() && nest_.reduction != ir::Reduction::lp && !nest_.quantization &&
                      nest_.output.dtype == nest_.input.dtype,
            .counts_padding = nest_.count_include_pad && !nest_.divisor_override};
  }
  bool is_other_value(const WindowFacts& window, const runtime::Results& found) const {
    return !is_same_element(nest_.output, judge_.output(), found.output, window.output);
  }
  bool is_other_index(const WindowFacts& window, const runtime::Results& found) const {
    return nest_.indices && !is_same_element(*nest_.indices, judge_.indices(), found.indices, window.index);
  }

  // Puts what is expected in the place of what is forgiven.
  void forgive(const WindowFacts& window, std::span<const DivergenceRule* const> rules,
               runtime::Results& found) const {
    const JudgedOutput output = output_of(window, found);
    const auto is_forgiven = [&](bool (*DivergenceRule::*question)(const JudgedOutput&)) {
      return std::ranges::any_of(rules,
                                 [&](const DivergenceRule* rule) { return (rule->*question)(output); });
    };
    const bool is_value_forgiven =
        is_other_value(window, found) && is_forgiven(&DivergenceRule::forgives_value);
    if (is_other_index(window, found) && is_forgiven(&DivergenceRule::forgives_index))
      copy_element(*nest_.indices, judge_.indices(), found.indices, window.index);
    if (is_value_forgiven) copy_element(nest_.output, judge_.output(), found.output, window.output);
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
        windows_(window_facts(nest, data.batch, data.input.at[0].data(), results)) {}

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
        return meaning_of(nest).is_forgiven_any(results_, rule_of(one), windows_);
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
    return meaning_of(changed).explains(results_, chosen, windows_);
  }

 private:
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
  constexpr size_t most_rules = 4;
  Trials trials(nest, data, results);
  const auto is_good = [&](const std::vector<Divergence>& set) { return trials.explains(set); };
  const std::vector<Divergence> useful = trials.useful(among);
  std::vector<Divergence> set;
  for (size_t size = 1; size <= most_rules; ++size)
    if (any_set(set, size, useful, is_good)) return set;
  return std::nullopt;
}

std::optional<BrokenRule> broken_rule(const ir::PoolNest& nest, const runtime::Case& data,
                                      const runtime::Results& results, std::span<const Divergence> kept) {
  const auto can_break = [](Divergence one) { return rule_of(one).is_broken != nullptr; };
  if (std::ranges::none_of(kept, can_break)) return std::nullopt;
  return Meaning(nest, data)
      .broken(results, kept, window_facts(nest, data.batch, data.input.at[0].data(), results));
}

std::optional<std::vector<Divergence>> explain(const ir::PoolNest& nest, const runtime::Case& data,
                                               const runtime::Results& results) {
  std::vector<Divergence> all;
  for (const DivergenceInfo& row : infos) all.push_back(row.divergence);
  return explain(nest, data, results, all);
}

}  // namespace pooljit::fuzz
