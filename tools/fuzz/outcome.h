// What came of trying one case.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace pooljit::fuzz {

struct Outcome {
  enum class Verdict : uint8_t {
    agrees,
    unsupported,  // nothing was compared
    explained,    // another library differs as a known divergence says
    failed,
  };
  Verdict verdict = Verdict::agrees;
  std::string explanation = {};  // explained: the rules' names
  std::string failure = {};      // failed, explained: a few lines
  int64_t runs = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Outcome, verdict, explanation, failure, runs)

}  // namespace pooljit::fuzz
