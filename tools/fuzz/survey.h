// Survey of the layers that another library supports, made before a campaign, so that it draws only these.
// Starts from layers that the library does, and tries each setting of the axes in place of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/error.h"
#include "tools/fuzz/against.h"
#include "tools/fuzz/random_spec.h"

namespace pooljit::fuzz {

struct SurveyResult {
  std::optional<AxisWeights> weights;  // absent: it did none of the layers that were drawn
  int64_t asked = 0, taken = 0;
};

// The same seed asks the same questions. only: what a layer's text must hold to be asked about. A question
// that ends the process counts as a layer that the library does. Errors: "system.process", "system.memory".
ir::Result<SurveyResult> survey(const OtherEngine& engine, uint64_t seed, const std::string& only,
                                double case_seconds);

}  // namespace pooljit::fuzz
