// What a schedule says in a field, as its text has it.
#pragma once

#include <string>
#include <string_view>

#include "ir/schedule_fields.h"

namespace pooljit::ir {

// Empty: its family has no such field.
inline std::string word_of(const Schedule& schedule, std::string_view name) {
  for (const ScheduleField& field : fields(schedule.family()))
    if (field.name == name) return value_text(field, schedule);
  return "";
}

// How it scans, or along what it takes pixels.
inline std::string scan_of(const Schedule& schedule) {
  return word_of(schedule, schedule.family() == Family::whole_pixels ? "pixels_along" : "scan");
}

}  // namespace pooljit::ir
