// Schedules as text.
#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// "channels_first(lanes=16, rows_together=2, scan=rows_first, tap_code=straight, tail=mask)": the lanes, the
// fields of the family, the tail; of the family's numbers those that are not 1, stores only where they are
// streamed, from only where it is not the input. Of a nest with members "each(channels=8, rows=1)[A; B]", or
// "fused(channels=8, rows=1)[A; B]"; where one is made of another's results, with the copies of those to
// their outputs: "each(channels=8, rows=1)[A; B] copies[C]".
std::string print(const Schedule& schedule);

// A field that the text leaves out has its usual value. Errors: "schedule.text".
Result<Schedule> parse_schedule(std::string_view text);

}  // namespace pooljit::ir
