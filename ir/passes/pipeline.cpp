#include "ir/passes/pipeline.h"

namespace pooljit::ir {

Result<Program> legalize(Program affine) {
  Program program = address(std::move(affine));
  Result<Program> legal = legalize_isa(std::move(program));
  if (!legal) return legal;
  return cleanup(std::move(*legal));
}

}  // namespace pooljit::ir
