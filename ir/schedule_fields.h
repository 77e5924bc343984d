// The fields of schedules as tables, a row a field: all that their text, their JSON, the space, the fuzzer
// and `pooljit list` know of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/schedule.h"

namespace pooljit::ir {

struct ScheduleField {
  std::string_view name;
  std::span<const std::string_view> words;  // by enumerator; none: a number
  std::span<const int> values;              // of the space: numbers, or enumerators
  int (*get)(const Schedule& schedule);
  void (*set)(Schedule& schedule, int value);
  // Whether it can be other than 1 beside the values of the other fields.
  bool (*applies)(const Schedule& schedule);
  std::optional<int> usual = {};  // the value that texts leave out
  std::optional<int> loops = {};  // the value that is loops in place of straight-line code

  bool is_number() const { return words.empty(); }
};

// A family's name in the texts of schedules.
std::string_view text_of(Family family);

// A family's own fields. Of the numbers one at most applies.
std::span<const ScheduleField> fields(Family family);

// Those of all families, as they stand in the text: before a family's own, and behind it.
std::span<const ScheduleField> first_fields();  // lanes
std::span<const ScheduleField> last_fields();   // tail, stores, from

// Of a family's numbers the one that applies: how many rows, vectors or windows go together. 1: it has none.
int together(const Schedule& schedule);
void set_together(Schedule& schedule, int number);

// The same with scan=rolling, if the family has that, and at most so many together.
std::optional<Schedule> as_rolling(Schedule schedule, int most_together);

// The same in loops, if the family has straight-line code and loops for this.
std::optional<Schedule> in_loops(Schedule schedule);

// "4", "rolling".
std::string value_text(const ScheduleField& field, const Schedule& schedule);
// False if the field cannot have this value.
bool set_value(const ScheduleField& field, std::string_view text, Schedule& schedule);

}  // namespace pooljit::ir
