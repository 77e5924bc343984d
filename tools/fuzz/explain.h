// Which rules of semantics explain what another engine made: the smallest set of known divergences under
// which it is right.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lab/check_case.h"
#include "tools/fuzz/window_facts.h"

namespace pooljit::fuzz {

enum class Divergence : uint8_t {
#define DIVERGENCE(name, text) name,
#include "tools/fuzz/divergences.def"
#undef DIVERGENCE
#define FAULT(name, text) name,
#include "tools/fuzz/faults.def"
#undef FAULT
};

struct DivergenceInfo {
  Divergence divergence;
  std::string_view name, text;
};
std::span<const DivergenceInfo> divergences();      // that may be rules of an engine
std::span<const DivergenceInfo> all_differences();  // and known bugs
const DivergenceInfo& info(Divergence divergence);

// Empty optional: none explain it. The results are what the engine left for the forward nest and the case's
// input. Only divergences of `among` are tried.
std::optional<std::vector<Divergence>> explain(const ir::PoolNest& nest, const runtime::Case& data,
                                               const runtime::Results& results,
                                               std::span<const Divergence> among);
// Among those that may be rules.
std::optional<std::vector<Divergence>> explain(const ir::PoolNest& nest, const runtime::Case& data,
                                               const runtime::Results& results);

// Whether results can show that an engine does not keep the rule.
bool can_break(Divergence rule);
struct KeptRules {
  std::vector<Divergence> rules;
  std::vector<Divergence> accepted;  // these, and what else may make an output what it is
  std::vector<Divergence> forgiven;  // rules that need not be kept: they are told if no other is broken
};
// An output that is not as a rule says that the engine keeps elsewhere.
struct BrokenRule {
  Divergence rule;
  WindowFacts output;
};
// The first of the results, right or explained, that breaks one of these.
std::optional<BrokenRule> broken_rule(const ir::PoolNest& nest, const runtime::Case& data,
                                      const runtime::Results& results, const KeptRules& kept);

}  // namespace pooljit::fuzz
