// FuzzCase: one thing to try, in the words of `pooljit check`, which it prints itself in.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/schedule.h"
#include "runtime/engines.h"
#include "tools/fuzz/draw.h"
#include "tools/fuzz/random_spec.h"

namespace pooljit::fuzz {

struct FuzzCase {
  std::string spec = {};
  std::string isa = {}, backend = {}, schedule = {};  // empty where another library is tried
  uint64_t seed = 1;                                  // of the data
  std::string data = {};                              // a kind or elements; empty: all kinds
  // The code for all sizes at the spec's.
  bool general = false;
  // Another library is called with this field of the layer changed, before and between its calls: what it
  // keeps of a layer may not be another's (tools/fuzz/neighbour.h). Empty: it is not.
  std::string before = {};
  bool operator==(const FuzzCase&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FuzzCase, spec, isa, backend, schedule, seed, data, general,
                                                before)

// What is left open to chance.
struct FuzzChoices {
  std::optional<ir::Isa> isa = {};  // absent: any; without the machine for it, in the interpreter only
  std::optional<runtime::Engine> backend = {};  // absent: any that makes machine code
  std::string only = {};                        // what the spec's text holds
  bool is_own = true;                           // false: another library is tried, which has neither
  std::optional<AxisWeights> weights = {};      // of another library: what it does, as far as that was asked
};
struct DrawnCase {
  FuzzCase one;
  Combination settings;
};
// is_wanted(): false if none of some thousands of draws held `choices.only`. The last of them is the case.
DrawnCase draw_case(Draw& draw, const FuzzChoices& choices);
bool is_wanted(const FuzzCase& one, const FuzzChoices& choices);
// Errors: "fuzz.only" (so many draws of this seed make no case that is wanted).
ir::Result<void> check_only(const FuzzChoices& choices, uint64_t seed);
FuzzCase random_case(Draw& draw, const FuzzChoices& choices);

// An enumerated schedule; now and then with a field changed, if it then still suits the nest.
ir::Schedule random_schedule(Draw& draw, const ir::PoolNest& nest, ir::Isa isa);

// "pooljit check 'SPEC' --isa ...". against: the other library, or empty.
std::string command_line(const FuzzCase& one, const std::string& against);

// The text of a file in tests/golden/check/. reference: what the oracle makes of given elements.
std::string golden_text(const FuzzCase& one, const std::string& reference);

}  // namespace pooljit::fuzz
