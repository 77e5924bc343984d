#include "ir/passes/pipeline.h"

#include "ir/builder.h"
#include "ir/check.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace pooljit::ir {

namespace {

// Debug builds verify what each pass leaves.
Program checked([[maybe_unused]] const char* pass, Program program) {
#ifndef NDEBUG
  renumber(program);
  if (const auto valid = verify(program); !valid)
    POOLJIT_CHECK(false, std::string(pass) + ": " + to_string(valid.error()) + "\n" + print(program));
#endif
  return program;
}

}  // namespace

Result<Program> legalize(Program affine) {
  Result<Program> legal = legalize_isa(std::move(affine));
  if (!legal) return legal;
  return checked("cleanup", cleanup(checked("legalize", std::move(*legal))));
}

}  // namespace pooljit::ir
