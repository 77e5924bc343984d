// Engines with a bug that a known list names: its row accepts that bug, and no other of the same operator and
// dtype.
#include "tests/fuzz/planted_engine.h"

namespace pooljit::fuzz {
namespace {

const auto loses_nan_in_tail = [](At& at) {
  if (at.is_in_tail()) ignores_nan_and_its_index(at);
};
const auto begins_with_lowest = [](At& at) {
  ignores_nan_and_its_index(at);
  if (at.value == -INFINITY && !at.is_dilated()) at.value = at.lowest();
};
struct {
  Planted engine;
  AcceptedDifference known;
  bool is_found = false;
} const listed[] = {
    {{"a NaN is lost in the tail", "max_pool2d(float32[", loses_nan_in_tail},
     {"nan_any", "*max_pool*(float32[*", "a bug"}},
    {{"a NaN is lost in the tail, and -inf beyond four columns", "max_pool2d(float32[",
      [](At& at) {
        loses_nan_in_tail(at);
        if (at.columns() > 4 && at.value == -INFINITY) at.value = 0;
      }},
     {"nan_any", "*max_pool*(float32[*", "a bug"},
     true},
    {{"-inf, in dilated layers", "max_pool2d(float32[", begins_with_lowest},
     {"inconsistent:lowest_finite", "*dilation=*", "a bug"}},
    {{"-inf and NaN, in dilated layers", "max_pool2d(float32[",
      [](At& at) {
        if (!at.is_dilated() || !at.facts.has_nan) begins_with_lowest(at);
      }},
     {"inconsistent:lowest_finite", "*dilation=*", "a bug"},
     true},
    {{"-inf, in layers without dilation", "max_pool2d(float32[",
      [](At& at) {
        begins_with_lowest(at);
        if (at.columns() > 4 && at.value == at.lowest()) at.value = -INFINITY;
      }},
     {"inconsistent:lowest_finite", "*dilation=*", "a bug"},
     true},
    {{"a NaN is lost in the tail of layers without dilation", "max_pool2d(float32[", loses_nan_in_tail},
     {"nan_any", "*max_pool*(float32[* !*kernel_size=* !*dilation=*", "a bug"},
     true},
    {{"no tap: an index beyond the input, and one beyond four taps", "max_pool2d(float32[",
      [](At& at) {
        if (at.taps() == 0) at.index = 1 << 20;
        if (at.taps() > 4) at.index = 1 << 20;
      }},
     {"empty_index", "*max_pool*(float32[*", "a bug"},
     true},
    {{"an average of zeros is 2", "avg_pool2d(uint8[",
      [](At& at) {
        if (at.taps() > 1 && at.facts.sum == 0) at.value = 2;
      }},
     {"blur_division", "*avg_pool*(uint8[*", "a bug"},
     true},
    {{"an average of 255 is 0", "avg_pool2d(uint8[",
      [](At& at) {
        if (at.value == 255) at.value = 0;
      }},
     {"float_integers", "*avg_pool*(uint8[*", "a bug"},
     true},
    {{"averages of bytes are one too large", "avg_pool2d(uint8[",
      [](At& at) {
        if (at.taps() > 1 && at.value < 255) at.value += 1;
      }},
     {"reciprocal_average", "*avg_pool*(uint8[*", "a bug"},
     true},
    {{"averages of small numbers are one too large", "avg_pool2d(int32[",
      [](At& at) {
        if (at.taps() > 1 && std::abs(at.value) < 1e6) at.value += 1;
      }},
     {"float_integers", "*avg_pool*(int32[*", "a bug"},
     true},
    {{"a maximum of numbers below 2^53 is the lowest", "max_pool2d(int64[",
      [](At& at) {
        if (std::abs(at.value) < 0x1p53 && at.facts.greatest < 0x1p62) at.value = at.lowest();
      }},
     {"float64_integers", "*max_pool*(int64[*", "a bug"},
     true},
    {{"a padded maximum is another, in layers without dilation, too", "max_pool2d(float32[",
      [](At& at) {
        if (at.facts.taps < at.nest.full_taps()) at.value += 1;
      }},
     {"moved_window", "*max_pool*(float32[*", "a bug"},
     true},
    {{"an average ignores NaN", "avg_pool2d(float32[",
      [](At& at) {
        if (at.facts.has_nan) at.value = at.facts.greatest;
      }},
     {"rolling_sum", "*avg_pool*(float32[*", "a bug"},
     true},
};

TEST(PlantedKnown, AKnownBugHidesNoOther) {
  for (const auto& one : listed) {
    SCOPED_TRACE(one.engine.name);
    planted = &one.engine;
    const CampaignReport report =
        campaign(OtherEngine::of(run_planted), one.engine.only, one.is_found ? 250 : 30, {one.known});
    EXPECT_EQ(report.failures.size(), one.is_found ? 1U : 0U) << told(report);
    EXPECT_TRUE(one.is_found || report.by_label.contains(one.known.what));
  }
}

}  // namespace
}  // namespace pooljit::fuzz
