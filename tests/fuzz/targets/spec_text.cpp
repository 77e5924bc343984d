// Texts through the parsers: no crash; what parses prints back, and each dialect's print of it means the
// same.
#include <string>

#include "frontend/dialects.h"
#include "frontend/pool_spec.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "tests/fuzz/target.h"

using namespace pooljit;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto schedule = ir::parse_schedule(text)) {
    const auto again = ir::parse_schedule(print(*schedule));
    fuzz::demand(again && *again == *schedule, "a schedule does not read back", text);
  }
  (void)frontend::parse_spec(text);
  const auto spec = frontend::parse_meaning(text);
  if (!spec) return 0;
  const std::string printed = print(*spec);
  const auto again = frontend::parse_meaning(printed);
  fuzz::demand(again && *again == *spec && print(*again) == printed, "a spec does not read back", printed);
  (void)signature(*spec);
  for (const frontend::Dialect& dialect : frontend::dialects()) {
    const auto spelled = print_as(dialect, *spec);
    if (!spelled) continue;
    const auto meant = frontend::parse_meaning(*spelled);
    // Another form of the same windows will do: what is adaptive may be said as the plain pool that it is.
    fuzz::demand(meant && make_nest(*meant) == make_nest(*spec), "a dialect's text means something else",
                 *spelled);
  }
  return 0;
}
