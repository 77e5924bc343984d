// Bytes choose a spec, a schedule, an ISA, a back end and data: all engines agree.
#include "ir/error.h"
#include "tests/fuzz/target.h"
#include "tools/fuzz/campaign.h"

using namespace pooljit;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Draw draw(std::span(data, size));
  const fuzz::FuzzCase one = random_case(draw, {});
  const auto outcome = fuzz::try_case(one, nullptr, {});
  const std::string command = command_line(one, "");
  if (!outcome)
    fuzz::demand(!outcome.error().id.starts_with("spec."), ir::to_string(outcome.error()), command);
  else
    fuzz::demand(outcome->verdict != fuzz::Outcome::Verdict::failed, outcome->failure, command);
  return 0;
}
