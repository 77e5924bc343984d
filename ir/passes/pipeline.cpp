#include "ir/passes/pipeline.h"

#include <cstdlib>
#include <string_view>

#include "ir/builder.h"
#include "ir/check.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace pooljit::ir {

namespace {

#ifdef NDEBUG
constexpr std::string_view by_default = "0";
#else
constexpr std::string_view by_default = "1";
#endif

// Debug builds verify what lowering and each pass make, others do not; the environment variable
// POOLJIT_VERIFY_PASSES, 1 or 0, says otherwise. The presets of all tests set it to 1.
bool verifies_passes() {
  static const bool asked = [] {
    const char* value = std::getenv("POOLJIT_VERIFY_PASSES");
    return (value ? std::string_view(value) : by_default) == "1";
  }();
  return asked;
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
