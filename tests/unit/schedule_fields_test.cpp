// The fields of each family: their texts, what is refused, the space.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "frontend/pool_spec.h"
#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"

namespace pooljit::ir {
namespace {

constexpr const char* texts[] = {
    "separable(lanes=8, vectors_side_by_side=4, scan=rolling, tail=mask)",
    "separable(lanes=8, vectors_side_by_side=2, scan=van_herk, tail=split)",
    "whole_pixels(lanes=16, vectors_side_by_side=2, pixels_along=column, tail=mask)",
    "whole_pixels(lanes=16, pixels_along=row, tail=mask)",
    "whole_planes(lanes=8, tail=overlap)",
    "row_passes(lanes=16, rows_together=8, scan=passes, tail=mask)",
    "row_passes(lanes=16, rows_together=4, scan=trailing, tail=mask, stores=streamed)",
    "row_passes(lanes=8, scan=rolling_sums, tail=overlap)",
    "channels_last(lanes=8, vectors_side_by_side=4, scan=windows, tap_code=loops, tail=overlap)",
    "channels_last(lanes=8, vectors_side_by_side=2, scan=strips, tap_code=straight, tail=mask)",
    "interleaved(lanes=8, scan=tap_by_tap, tap_code=straight, tail=mask)",
    "channels_first(lanes=8, rows_together=4, scan=rows_first, tap_code=loops, tail=mask)",
    "channels_first(lanes=8, vectors_side_by_side=2, scan=rolling, tap_code=straight, tail=mask)",
    "window_rows(lanes=16, windows_together=8, tail=mask)",
};

TEST(ScheduleFields, TextsAreReadAsTheyAreWritten) {
  std::set<Family> seen;
  for (const char* text : texts) {
    const auto schedule = parse_schedule(text);
    ASSERT_TRUE(schedule) << to_string(schedule.error());
    EXPECT_EQ(print(*schedule), text);
    seen.insert(schedule->family());
  }
  EXPECT_EQ(seen.size(), std::size(all_families));
}

// What a text leaves out is as in schedule_of().
TEST(ScheduleFields, MayBeLeftOut) {
  for (const Family family : all_families)
    EXPECT_EQ(*parse_schedule(std::string(text_of(family)) + "()"), schedule_of(family)) << text_of(family);
}

TEST(ScheduleFields, OfOtherFamiliesAreRefused) {
  const struct {
    const char *text, *field, *hint;
  } table[] = {
      {"channels_last(lanes=8, rows_together=2)", "'rows_together=2'",
       "channels_last has lanes, vectors_side_by_side, scan, tap_code, tail, stores, from"},
      {"row_passes(lanes=8, scan=rolling)", "'scan=rolling'", "row_passes has lanes, rows_together, scan"},
      {"whole_planes(lanes=8, scan=rolling)", "'scan=rolling'", "whole_planes has lanes, tail, stores, from"},
      {"whole_pixels(lanes=8, pixels_along=)", "'pixels_along='", "whole_pixels has lanes"},
  };
  for (const auto& row : table) {
    const auto schedule = parse_schedule(row.text);
    ASSERT_FALSE(schedule) << row.text;
    EXPECT_EQ(schedule.error().id, "schedule.text");
    EXPECT_NE(to_string(schedule.error()).find(row.field), std::string::npos) << to_string(schedule.error());
    EXPECT_NE(schedule.error().hint.find(row.hint), std::string::npos) << schedule.error().hint;
  }
}

// A number that does not go with the words beside it.
TEST(ScheduleFields, NumbersGoWithTheirScan) {
  const auto nest =
      frontend::make_nest(*frontend::parse_spec("max_pool2d(float32[1,3,32,32], kernel_size=3, stride=1)"));
  for (const char* text : {"channels_first(lanes=8, rows_together=2, scan=rolling)",
                           "channels_first(lanes=8, vectors_side_by_side=2, scan=rows_first)",
                           "row_passes(lanes=8, rows_together=17)", "row_passes(lanes=8, rows_together=0)"})
    EXPECT_EQ(lower(nest, *parse_schedule(text), Isa::avx2).error().id, "schedule.together") << text;
}

// The space has each value of each field that applies, in the order of the table, and no schedule twice.
TEST(ScheduleFields, MakeTheSpace) {
  const auto nest =
      frontend::make_nest(*frontend::parse_spec("max_pool2d(float32[1,3,32,32], kernel_size=3)"));
  std::map<std::string, std::set<std::string>> seen;
  std::set<std::string> all;
  for (const Schedule& schedule : schedule_space(nest, Isa::avx2)) {
    EXPECT_TRUE(all.insert(print(schedule)).second) << print(schedule);
    for (const ScheduleField& field : fields(schedule.family()))
      seen[std::string(text_of(schedule.family())) + "." + std::string(field.name)].insert(
          value_text(field, schedule));
  }
  for (const Family family : all_families)
    for (const ScheduleField& field : fields(family))
      EXPECT_EQ(seen[std::string(text_of(family)) + "." + std::string(field.name)].size(),
                field.values.size())
          << text_of(family) << ' ' << field.name;
}

}  // namespace
}  // namespace pooljit::ir
