#include "tools/fuzz/engine_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "ir/agreement.h"
#include "ir/element_type.h"
#include "ir/split.h"
#include "lab/elements.h"
#include "tools/fuzz/cell.h"
#include "tools/fuzz/probes.h"

namespace pooljit::fuzz {
namespace {

using frontend::PoolSpec;
using Bits = std::vector<uint64_t>;

// "lowest", "highest" and "none" (what a maximum of nothing is) in numbers.
Bits elements_of(ir::DType dtype, std::string_view text) {
  Bits all;
  for (const std::string_view word : ir::split(text, ' ')) {
    const auto limit = [&](bool is_lowest) {
      return ir::with_element_type(dtype, [&]<typename T>(T) {
        const T value = is_lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return bits;
      });
    };
    if (word == "lowest" || (word == "none" && !ir::is_float(dtype)))
      all.push_back(limit(true));
    else if (word == "highest")
      all.push_back(limit(false));
    else
      for (const uint64_t bits :
           runtime::parse_elements(dtype, word == "none" ? "-inf" : word).value_or(Bits()))
        all.push_back(bits);
  }
  return all;
}

bool is_nan(ir::DType dtype, uint64_t bits) {
  return ir::is_float(dtype) && runtime::print_element(dtype, bits).find("nan") != std::string::npos;
}

bool are_same(ir::DType dtype, const Bits& a, const Bits& b) {
  return std::ranges::equal(
      a, b, [&](uint64_t x, uint64_t y) { return x == y || (is_nan(dtype, x) && is_nan(dtype, y)); });
}

// NaNs of tests are printed with their payload: here any stands for any.
std::string text_of(ir::DType dtype, const Bits& all) {
  std::vector<std::string> words;
  for (const uint64_t bits : all)
    words.push_back(is_nan(dtype, bits) ? "nan" : runtime::print_element(dtype, bits));
  return fmt::format("{}", fmt::join(words, " "));
}

// One probe of one dtype, in the first form that the engine does.
class Trial {
 public:
  Trial(const EngineProbe& probe, const std::string& dtype) : probe_(probe), dtype_(dtype) {}

  std::optional<RuleFound> run(const OtherEngine& engine) {
    for (const PoolSpec& spec : forms_of(probe_, dtype_))
      if (ask(engine, spec)) return rule();
    return std::nullopt;
  }

 private:
  bool ask(const OtherEngine& engine, const PoolSpec& spec) {
    spec_ = print(spec);
    nest_ = make_nest(spec);
    answers_.clear();
    for (const std::string_view input : ir::split(probe_.inputs, '|')) {
      auto answer = engine.ask(spec, elements_of(spec.dtype, input));
      if (!answer) return false;
      answers_.push_back(std::move(*answer));
    }
    return true;
  }

  Bits output(const OtherEngine::Answer& answer) const {
    return runtime::read_elements(answer.data.output.view, answer.results.output);
  }
  Bits indices(const OtherEngine::Answer& answer) const {
    return runtime::read_elements(answer.data.indices.view, answer.results.indices);
  }

  bool gives(const KnownAnswer& known) const {
    const auto parts = ir::split(known.gives, '@'), values = ir::split(parts[0], '|');
    const auto places = ir::split(parts.size() > 1 ? parts[1] : "", '|');
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (!are_same(nest_.output.dtype, output(answers_[i]), elements_of(nest_.output.dtype, values[i])))
        return false;
      if (nest_.indices && indices(answers_[i]) != elements_of(nest_.indices->dtype, places[i])) return false;
    }
    return true;
  }

  bool is_right(const OtherEngine::Answer& answer) const {
    return !ir::disagreement(nest_, 1, answer.data.input.at[0].data(), answer.results.output.data(),
                             answer.results.indices.data());
  }

  std::string given(const OtherEngine::Answer& answer) const {
    const std::string values = text_of(nest_.output.dtype, output(answer));
    return nest_.indices ? values + "@" + text_of(nest_.indices->dtype, indices(answer)) : values;
  }

  // What the answers follow from, each by itself; nothing if one of them follows from nothing.
  std::vector<std::string> explained() const {
    std::vector<std::string> names;
    for (const OtherEngine::Answer& answer : answers_) {
      if (is_right(answer)) continue;
      const auto rules = explain(nest_, answer.data, answer.results);
      if (!rules) return {};
      for (const Divergence one : *rules)
        if (std::ranges::find(names, info(one).name) == names.end()) names.emplace_back(info(one).name);
    }
    return names;
  }

  RuleFound rule() const {
    RuleFound found = {
        .aspect = std::string(probe_.aspect),
        .dtype = dtype_,
        .rule = {},
        .is_ours = std::ranges::all_of(answers_, [&](const auto& answer) { return is_right(answer); }),
        .divergences = {},
        .layers = fmt::format("*{}_pool*({}[*", probe_.operation, dtype_),
        .spec = spec_,
        .input = {},
        .gave = {}};
    const ir::DType dtype = nest_.input.dtype;
    for (const std::string_view input : ir::split(probe_.inputs, '|'))
      found.input.push_back(text_of(dtype, elements_of(dtype, input)));
    for (const OtherEngine::Answer& answer : answers_) found.gave.push_back(given(answer));
    const auto known =
        std::ranges::find_if(probe_.answers, [&](const KnownAnswer& one) { return gives(one); });
    if (known != probe_.answers.end()) {
      found.rule = known->rule;
      if (!known->divergences.empty())
        for (const std::string_view one : ir::split(known->divergences, ' '))
          found.divergences.emplace_back(one);
    } else if (found.is_ours) {
      found.rule = probe_.answers[0].rule;
    } else {
      found.rule =
          fmt::format("other: {} of {}", fmt::join(found.gave, " | "), fmt::join(found.input, " | "));
      found.divergences = explained();
    }
    return found;
  }

  const EngineProbe& probe_;
  const std::string dtype_;
  std::string spec_;
  ir::PoolNest nest_;
  std::vector<OtherEngine::Answer> answers_;
};

struct Question {
  const EngineProbe* probe;
  std::string dtype;
};

std::vector<Question> questions() {
  std::vector<Question> all;
  for (const EngineProbe& probe : probes())
    for (const std::string_view dtype : ir::split(probe.dtypes, ' '))
      all.push_back({&probe, std::string(dtype)});
  return all;
}

}  // namespace

std::vector<AcceptedDifference> EngineRules::accepted() const {
  std::vector<AcceptedDifference> rows;
  for (const RuleFound& one : found)
    for (const std::string& what : one.divergences)
      rows.push_back({what, one.layers, fmt::format("its rule for {}: {}", one.aspect, one.rule), true});
  return rows;
}

std::string EngineRules::table() const {
  std::string text = "| what | its rule | known as |\n|---|---|---|\n";
  for (const EngineProbe& probe : probes()) {
    std::vector<std::string> rules;
    std::map<std::string, std::vector<std::string>> dtypes;
    std::vector<std::string> names;
    for (const RuleFound& one : found) {
      if (one.aspect != probe.aspect) continue;
      const std::string rule = one.is_ours ? one.rule : fmt::format("**{}**", one.rule);
      if (dtypes[rule].empty()) rules.push_back(rule);
      dtypes[rule].push_back(one.dtype);
      if (one.is_ours) continue;
      for (const std::string& name : one.divergences)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (rules.empty()) continue;
    for (std::string& rule : rules)
      if (rules.size() > 1) rule += fmt::format(" ({})", fmt::join(dtypes[rule], ", "));
    text += fmt::format("| {} | {} | {} |\n", probe.aspect, fmt::join(rules, "; "), fmt::join(names, ", "));
  }
  return text;
}

ir::Result<EngineRules> learn_rules(const OtherEngine& engine, double case_seconds) {
  auto cell = Cell::make();
  if (!cell) return tl::unexpected(cell.error());
  EngineRules rules;
  const auto version =
      cell->run([&] { return nlohmann::json(engine.version()); }, case_seconds, case_seconds);
  if (!version) return tl::unexpected(version.error());
  if (version->is_done()) rules.version = version->said.get<std::string>();
  const std::vector<Question> all = questions();
  const auto ask = [&](size_t begin, size_t end) {
    cell->expect_case(static_cast<int64_t>(begin));
    return cell->run(
        [&] {
          std::vector<RuleFound> found;
          for (size_t i = begin; i < end; ++i) {
            cell->begin_case(static_cast<int64_t>(i), case_seconds);
            if (auto rule = Trial(*all[i].probe, all[i].dtype).run(engine)) found.push_back(std::move(*rule));
          }
          return nlohmann::json(found);
        },
        case_seconds, case_seconds * static_cast<double>(end - begin));
  };
  // A probe that ends its process says nothing of the rule: what came of it is drawn and found as a case.
  // What was found before it died with it, and is asked again.
  for (size_t begin = 0, end = all.size(); begin < all.size();) {
    const auto answers = ask(begin, end);
    if (!answers) return tl::unexpected(answers.error());
    if (!answers->is_done()) {
      end = static_cast<size_t>(cell->last_case());
      if (end > begin) continue;
    } else {
      auto found = answers->said.get<std::vector<RuleFound>>();
      for (RuleFound& one : found) rules.found.push_back(std::move(one));
      if (end == all.size()) break;
    }
    begin = end + 1, end = all.size();
  }
  return rules;
}

}  // namespace pooljit::fuzz
