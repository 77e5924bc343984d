// The parameters of a schedule by the names that they have in its family: what its text says by fields that
// all families share.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/schedule_text.h"
#include "ir/schedules/family.h"

namespace pooljit::ir {
namespace {

struct Row {
  const char* schedule;
  const char* named;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.schedule; }

constexpr Row rows[] = {
    {"separable(lanes=8, unroll=4, tail=mask, taps=unroll, order=rolling)",
     "lanes=8 scan=rolling vectors_side_by_side=4 tail=mask"},
    {"separable(lanes=8, unroll=2, tail=split, taps=loop, order=rolling)",
     "lanes=8 scan=van_herk vectors_side_by_side=2 tail=split"},
    {"whole_pixels(lanes=16, unroll=2, tail=mask, taps=unroll, order=rows_first)",
     "lanes=16 pixels_along=column vectors_side_by_side=2 tail=mask"},
    {"whole_pixels(lanes=16, unroll=1, tail=mask, taps=unroll, order=row_major)",
     "lanes=16 pixels_along=row vectors_side_by_side=1 tail=mask"},
    {"whole_planes(lanes=8, unroll=1, tail=overlap, taps=unroll, order=rows_first)", "lanes=8 tail=overlap"},
    {"row_passes(lanes=16, unroll=8, tail=mask, taps=unroll, order=rows_first)",
     "lanes=16 scan=passes rows_together=8 tail=mask"},
    {"row_passes(lanes=16, unroll=4, tail=mask, taps=unroll, order=rolling, stores=streamed)",
     "lanes=16 scan=trailing rows_together=4 tail=mask stores=streamed"},
    {"row_passes(lanes=8, unroll=1, tail=overlap, taps=loop, order=rolling)",
     "lanes=8 scan=rolling_sums rows_together=1 tail=overlap"},
    {"channels_last(lanes=8, unroll=4, tail=overlap, taps=loop, order=row_major)",
     "lanes=8 scan=windows vectors_side_by_side=4 tap_code=loops tail=overlap"},
    {"channels_last(lanes=8, unroll=2, tail=mask, taps=unroll, order=strips)",
     "lanes=8 scan=strips vectors_side_by_side=2 tap_code=straight tail=mask"},
    {"interleaved(lanes=8, unroll=1, tail=mask, taps=unroll, order=row_major)",
     "lanes=8 scan=tap_by_tap rows_together=1 vectors_side_by_side=1 tap_code=straight tail=mask"},
    {"channels_first(lanes=8, unroll=4, tail=mask, taps=loop, order=rows_first)",
     "lanes=8 scan=rows_first rows_together=4 vectors_side_by_side=1 tap_code=loops tail=mask"},
    {"channels_first(lanes=8, unroll=2, tail=mask, taps=unroll, order=rolling)",
     "lanes=8 scan=rolling rows_together=1 vectors_side_by_side=2 tap_code=straight tail=mask"},
    {"window_rows(lanes=16, unroll=8, tail=mask, taps=unroll, order=row_major)",
     "lanes=16 windows_together=8 tail=mask"},
};

class ScheduleParameters : public testing::TestWithParam<Row> {};

TEST_P(ScheduleParameters, HaveTheNamesOfTheFamily) {
  const auto schedule = parse_schedule(GetParam().schedule);
  ASSERT_TRUE(schedule) << to_string(schedule.error());
  EXPECT_EQ(print(*schedule), GetParam().schedule);
  std::string named;
  for (const Parameter& parameter : parameters(*schedule))
    named += (named.empty() ? "" : " ") + std::string(parameter.name) + "=" + parameter.value;
  EXPECT_EQ(named, GetParam().named);
}

INSTANTIATE_TEST_SUITE_P(Rows, ScheduleParameters, testing::ValuesIn(rows));

// Every family has a row above.
TEST(ScheduleParameters, OfAllFamilies) {
  size_t families = 0;
#define FAMILY(name, text, note) ++families;
#include "ir/schedules.def"
#undef FAMILY
  std::vector<Family> seen;
  for (const Row& row : rows) seen.push_back(parse_schedule(row.schedule)->family);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()) - seen.begin(), static_cast<std::ptrdiff_t>(families));
}

}  // namespace
}  // namespace pooljit::ir
