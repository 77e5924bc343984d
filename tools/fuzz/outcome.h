// The outcome of one case.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace pooljit::fuzz {

// What a failure is. Shrinking keeps it: a wrong result must not turn into another bug's crash.
enum class Kind : uint8_t {
#define FAILURE(name, text) name,
#include "tools/fuzz/failures.def"
#undef FAILURE
};
std::string_view name(Kind kind);
std::string_view meaning(Kind kind);

struct Outcome {
  enum class Verdict : uint8_t {
    agrees,
    unsupported,  // nothing was compared
    accepted,     // another library differs in a way that was accepted
    failed,
  };
  Verdict verdict = Verdict::agrees;
  Kind kind = Kind::differs;     // failed, accepted
  std::string explanation = {};  // of Kind::known: the divergences' names; of Kind::inconsistent: the rule's
  std::string failure = {};      // failed, accepted: a few lines
  std::string data = {};         // the kind of data that shows it, where that is known
  // Of a wrong result: the first element that is, and which are of how many.
  std::string place = {}, got = {}, expected = {};
  int64_t wrong = 0, of = 0;
  int64_t runs = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Outcome, verdict, kind, explanation, failure, data, place, got, expected,
                                   wrong, of, runs)

// "inconsistent:RULE"
std::string inconsistent_with(std::string_view rule);
// By what differences are counted and accepted: the divergences' names, or the kind's.
std::string label(const Outcome& outcome);

}  // namespace pooljit::fuzz
