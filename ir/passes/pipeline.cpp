#include "ir/passes/pipeline.h"

#include <cstdlib>
#include <string_view>

#include "ir/builder.h"
#include "ir/check.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace pooljit::ir {

namespace {

// Debug builds verify what each pass leaves; others do where the environment variable POOLJIT_VERIFY_PASSES=1
// asks for it, as the tests' presets do.
bool verifies_passes() {
#ifdef NDEBUG
  static const bool asked = [] {
    const char* value = std::getenv("POOLJIT_VERIFY_PASSES");
    return value && std::string_view(value) == "1";
  }();
  return asked;
#else
  return true;
#endif
}

Program checked(const char* pass, Program program) {
  if (!verifies_passes()) return program;
  renumber(program);
  if (const auto valid = verify(program); !valid)
    POOLJIT_CHECK(false, std::string(pass) + ": " + to_string(valid.error()) + "\n" + print(program));
  return program;
}

}  // namespace

Result<Program> legalize(Program affine) {
  Result<Program> legal = legalize_isa(std::move(affine));
  if (!legal) return legal;
  return checked("cleanup", cleanup(checked("legalize", std::move(*legal))));
}

}  // namespace pooljit::ir
