// Epilogues as text, [relu, clamp(0,6), add(float32)], and their rules. The steps are the rows of
// ir/epilogue.def.
#pragma once

#include <vector>

#include "frontend/pool_spec.h"
#include "frontend/printer.h"
#include "frontend/values.h"

namespace pooljit::frontend {

// Errors: spec.value, spec.epilogue, spec.epilogue_step.
Broken read_epilogue(const ArgumentValue& value, std::vector<ir::EpilogueStep>& steps);
void print_epilogue(Printer& out, const std::vector<ir::EpilogueStep>& steps);

// The rules of the numbers of steps.
Broken check_epilogue(const PoolSpec& spec);

// Of a checked spec: one text for each meaning.
void normalise_epilogue(PoolSpec& spec);

}  // namespace pooljit::frontend
