#include "ir/passes/pipeline.h"

#include <cstdlib>
#include <string_view>

#include "ir/builder.h"
#include "ir/check.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace pooljit::ir {

namespace {

// Debug builds verify what lowering and each pass make; others do where the environment variable
// POOLJIT_VERIFY_PASSES=1 asks for it, as the presets of all tests do.
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

}  // namespace

Program verified(const char* pass, Program program) {
  if (!verifies_passes()) return program;
  // Values whose instruction went leave gaps in the names, which the last pass closes.
  Program named = program;
  renumber(named);
  if (const auto valid = verify(named); !valid)
    POOLJIT_CHECK(false, std::string(pass) + ": " + to_string(valid.error()) + "\n" + print(named));
  return program;
}

Result<Program> run_passes(Program affine, Stage stage) {
  if (stage == Stage::affine) return affine;
  if (stage == Stage::addressed) {
    Program addressed = verified("address", address(std::move(affine)));
    renumber(addressed);
    return addressed;
  }
  Result<Program> legal = legalize_isa(std::move(affine));
  if (!legal) return legal;
  return verified("cleanup", cleanup(verified("legalize_isa", std::move(*legal))));
}

}  // namespace pooljit::ir
