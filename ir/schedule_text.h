// Schedules as text.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "ir/error.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// The words of a field, by enumerator.
inline constexpr std::array<std::string_view, 3> tail_names = {"mask", "split", "overlap"};
inline constexpr std::array<std::string_view, 2> taps_names = {"unroll", "loop"};
inline constexpr std::array<std::string_view, 4> order_names = {"row_major", "rows_first", "rolling",
                                                                "strips"};
inline constexpr std::array<std::string_view, 2> stores_names = {"cached", "streamed"};

// "channels_first(lanes=16, unroll=1, tail=mask, taps=unroll, order=rows_first)"; stores only where they are
// streamed, from only where it is not the input. Of a nest with members "each(channels=8, rows=1)[A; B]", or
// "fused(channels=8, rows=1)[A; B]"; where one is made of another's results, with the copies of those to
// their outputs: "each(channels=8, rows=1)[A; B] copies[C]".
std::string print(const Schedule& schedule);

// Errors: "schedule.text".
Result<Schedule> parse_schedule(std::string_view text);

}  // namespace pooljit::ir
