// Which rules make an output right that the oracle calls wrong; and planted mistakes that none may explain.
#include "tools/fuzz/explain.h"

#include <gtest/gtest.h>

#include <cstring>

#include "frontend/pool_spec.h"
#include "lab/check_case.h"
#include "lab/elements.h"

namespace pooljit::fuzz {
namespace {

struct Row {
  const char *spec, *input;
  const char* output;
  const char* indices;  // "": the layer has none
  const char* rules;
};

void put(ir::DType dtype, const char* text, void* to) {
  const auto elements = runtime::parse_elements(dtype, text);
  ASSERT_TRUE(elements) << text;
  const auto width = static_cast<size_t>(ir::bytes(dtype));
  for (size_t i = 0; i < elements->size(); ++i)
    std::memcpy(static_cast<std::byte*>(to) + i * width, &(*elements)[i], width);
}

// What explains it, of all that may be rules or of these.
void expect_rules(const Row& row, std::span<const Divergence> among = {}) {
  SCOPED_TRACE(std::string(row.spec) + " of " + row.input + ": " + row.output + " at " + row.indices);
  const auto spec = frontend::parse_spec(row.spec);
  ASSERT_TRUE(spec);
  const ir::PoolNest nest = make_nest(*spec);
  const auto input = runtime::parse_elements(nest.input.dtype, row.input);
  ASSERT_TRUE(input);
  const auto data = runtime::Case::make(nest, runtime::data_kinds(nest)[0], 1, 0, *input);
  ASSERT_TRUE(data);
  data->clear_outputs(0);
  put(nest.output.dtype, row.output, data->call(0).output);
  if (nest.indices) put(nest.indices->dtype, row.indices, data->call(0).indices);
  const auto rules =
      among.empty() ? explain(nest, *data, data->results(0)) : explain(nest, *data, data->results(0), among);
  std::string names;
  for (const Divergence rule : rules.value_or(std::vector<Divergence>()))
    names += std::string(names.empty() ? "" : " ") + std::string(info(rule).name);
  EXPECT_EQ(rules ? names : "nothing", row.rules);
}

constexpr const char *pair = "max_pool1d(float32[1,2], kernel_size=2)",
                     *indexed = "max_pool1d(float32[1,2], kernel_size=2, return_indices=True)",
                     *bytes = "max_pool1d(int8[1,2], kernel_size=2, return_indices=True)",
                     *words = "max_pool1d(int32[1,2], kernel_size=2, return_indices=True)",
                     *mean = "avg_pool1d(int32[1,3], kernel_size=3)",
                     *narrow = "max_pool1d(bfloat16[1,2], kernel_size=2, return_indices=True)";

TEST(Explain, ByTheRuleThatForgivesJustThat) {
  const Row table[] = {
      {"max_pool1d(bfloat16[1,2], kernel_size=1)", "0 -1.1663108e-38", "0 -0", "", "subnormal_flushed"},
      {narrow, "-1e-39 -2e-39", "0", "1", "subnormal_flushed"},
      {narrow, "-1e-39 0", "0", "0", "subnormal_flushed"},
      {mean, "247597660 -923128920 570148955", "-35127444", "", "float_integers"},
      {"max_pool1d(int32[1,2], kernel_size=2)", "5 1386882561", "1386882560", "", "float_integers"},
      {words, "1386882560 1386882561", "1386882560", "0", "float_integers"},
      {"avg_pool1d(int32[1,1], kernel_size=1)", "2147483646", "-2147483648", "", "float_integers"},
      {"avg_pool1d(int32[1,2], kernel_size=2)", "2000000000 1500000000", "-397483648", "", "wrapped_sum"},
      {"avg_pool1d(int32[1,3], kernel_size=3)", "-2147483648 -2147483648 -2147483648", "-715827883", "",
       "wrapped_sum"},
      {mean, "1 2 2", "1", "", "truncated_average"},
      {mean, "-1 -2 -2", "-1", "", "truncated_average"},
      {mean, "1 1 2", "2", "", "integer_average"},
      {"avg_pool1d(int32[1,2], kernel_size=2)", "-1 -4", "-3", "", "half_away_average"},
      {"avg_pool1d(int32[1,2], kernel_size=2)", "-3 -4", "-3", "", "truncated_average"},
      {"avg_pool1d(int32[1,4], kernel_size=4, stride=4)", "-1 -4 -4 -5", "-3", "", "truncated_average"},
      {"avg_pool1d(uint8[1,1], kernel_size=2, stride=1, padding=1)", "9 ", "5 4", "", "half_away_average"},
      {bytes, "9 9", "9", "1", "ties_last"},
      {indexed, "2 2", "2", "1", "ties_last"},
      {indexed, "-inf -inf", "-inf", "1", "ties_last"},
      {pair, "-inf -inf", "-3.4028235e38", "", "lowest_finite"},
      {indexed, "-inf -inf", "-3.4028235e38", "1", "lowest_finite"},
      {pair, "nan 1", "1", "", "nan_ignored"},
      {"max_pool1d(float32[1,3], kernel_size=3)", "1 nan 0", "0", "", "nan_any"},
      {"max_pool1d(float32[1,3], kernel_size=3, return_indices=True)", "1 nan 0", "0", "2", "nan_any"},
      {pair, "nan 1", "-inf", "", "nan_any"},
      {pair, "nan 1", "inf", "", "nan_clamped"},
      {pair, "nan 1e-45", "0", "", "nan_any"},
      {"avg_pool1d(float32[1,2], kernel_size=2)", "nan 1", "-inf", "", "nan_clamped"},
      {indexed, "nan nan", "nan", "0", "nan_index"},
      {narrow, "1 0xff8f", "0xffcf", "1", "nan_index"},
      {"avg_pool1d(float32[1,2], kernel_size=2)", "inf -inf", "-inf", "", "nan_clamped"},
      {"max_pool1d(float32[1,1], kernel_size=1, padding=1, stride=2)", "1", "0 0", "", "empty_window"},
      // Sums of a narrow type are off by units of it; what is not summed is not.
      {"avg_pool1d(bfloat16[1,2], kernel_size=2)", "1 3", "2.03125", "", "narrow_sum"},
      {"max_pool1d(float32[1,2], kernel_size=2, nan=ignore)", "nan nan", "nan", "", "nan_alone"},
      {"min_pool1d(float32[1,2], kernel_size=2)", "inf inf", "3.4028235e38", "", "lowest_finite"},
      {"avg_pool1d(int64[1,2], kernel_size=2)", "9223372036854775807 9223372036854775807", "-1", "",
       "wrapped_sum"},
      {"avg_pool1d(int64[1,2], kernel_size=2, divisor_override=-1)",
       "-9223372036854775807 -9223372036854775807", "-2", "", "wrapped_sum"},
      {"avg_pool1d(int64[1,4], kernel_size=4)",
       "9223372036854775807 9223372036854775806 -9223372036854775807 -9223372036854775803", "0", "",
       "truncated_average"},
  };
  for (const Row& row : table) expect_rules(row);
}

TEST(Explain, PlantedMistakesAreNone) {
  const Row table[] = {
      // Wrong values.
      {"max_pool1d(bfloat16[1,2], kernel_size=1)", "0 1.2e-38", "0 0", "", "nothing"},
      {pair, "1 2", "1", "", "nothing"},
      {pair, "1 2", "3", "", "nothing"},
      {pair, "-1 -2", "0", "", "nothing"},
      {pair, "-1e-39 1", "0", "", "nothing"},
      {pair, "1 2", "nan", "", "nothing"},
      {pair, "1 2", "inf", "", "nothing"},
      {pair, "-inf -inf", "inf", "", "nothing"},
      {pair, "-inf -inf", "nan", "", "nothing"},
      // 42 is no tap, no NaN and nothing that a maximum begins with.
      {pair, "nan 1", "42", "", "nothing"},
      {pair, "nan 1", "7", "", "nothing"},
      {pair, "nan 1", "3.4028235e38", "", "nothing"},
      {"min_pool1d(float32[1,2], kernel_size=2)", "nan 1", "0", "", "nothing"},
      {"avg_pool1d(float32[1,2], kernel_size=2)", "nan 1", "7", "", "nothing"},
      {"avg_pool1d(float32[1,2], kernel_size=2)", "nan 1", "1", "", "nothing"},
      // The lowest number beside -inf is no identity of a sum, nor of a minimum: it is one unit off.
      {"avg_pool1d(float32[1,2], kernel_size=2)", "-inf -inf", "-3.4028235e38", "", "nothing"},
      {"min_pool1d(float32[1,2], kernel_size=2)", "-inf 1", "-3.4028235e38", "", "nothing"},
      {"avg_pool1d(float32[1,2], kernel_size=2)", "1 3", "2.0001", "", "nothing"},
      {"avg_pool1d(bfloat16[1,1], kernel_size=1)", "1", "1.0078125", "", "nothing"},
      {"avg_pool1d(bfloat16[1,2], kernel_size=2)", "1 3", "4", "", "nothing"},
      // Windows without a tap: what lies beside the image is no identity.
      {"max_pool1d(float32[1,1], kernel_size=1, padding=1, stride=2)", "1", "7 7", "", "nothing"},
      {"max_pool1d(float32[1,1], kernel_size=1, padding=1, stride=2)", "1", "1 1", "", "nothing"},
      {"max_pool1d(float32[1,1], kernel_size=1, padding=1, stride=2)", "1", "inf inf", "", "nothing"},
      {"max_pool1d(float32[1,1], kernel_size=1, padding=1, stride=2, return_indices=True)", "1", "-inf -inf",
       "7 7", "nothing"},
      // Means of integers: off by more than one, or by anything where nothing is to be rounded.
      {mean, "1 2 3", "3", "", "nothing"},
      {mean, "1 2 3", "1", "", "nothing"},
      {mean, "1 2 3", "4", "", "nothing"},
      {mean, "0 0 0", "1", "", "nothing"},
      {mean, "5 5 5", "4", "", "nothing"},
      {"avg_pool2d(uint8[1,2,1], kernel_size=[2,1], stride=1)", "0 0", "1", "", "nothing"},
      {"avg_pool1d(uint8[1,1], kernel_size=2, stride=1, padding=1)", "0", "1 0", "", "nothing"},
      {mean, "247597660 -923128920 570148955", "-35127000", "", "nothing"},
      {"avg_pool1d(int32[1,1], kernel_size=1)", "2147480000", "-2147483648", "", "nothing"},
      {"avg_pool1d(int32[1,2], kernel_size=2)", "2000000000 1500000000", "-397480000", "", "nothing"},
      {"max_pool1d(int32[1,2], kernel_size=2)", "5 6", "5", "", "nothing"},
      // Right values with wrong indices: outside, of another tap, of the last of equal ones.
      {bytes, "3 9", "9", "-12345", "nothing"},
      {bytes, "3 9", "9", "0", "nothing"},
      {words, "7 6", "7", "1", "nothing"},
      {indexed, "nan 1", "nan", "1", "nothing"},
      {indexed, "nan nan", "nan", "5", "nothing"},
      {indexed, "-0 -1", "0", "0", "nothing"},
      {narrow, "-1e-39 1", "1", "0", "nothing"},
  };
  for (const Row& row : table) expect_rules(row);
}

// Bugs by their names, and what is not that bug. Unnamed they explain nothing.
struct NamedRow {
  Divergence bug;
  Row row;
  const char* unnamed = "nothing";
};
std::vector<NamedRow> rows_of_sums() {
  constexpr const char *row = "avg_pool1d(float32[1,3], kernel_size=2, stride=1)",
                       *box = "avg_pool2d(uint8[1,2,1], kernel_size=[2,1], stride=1)",
                       *two = "sum_pool2d(float32[1,2,2], kernel_size=1)",
                       *longer = "avg_pool1d(float32[1,4], kernel_size=2, stride=1)",
                       *big = "sum_pool1d(float64[1,2], kernel_size=1)",
                       *square = "avg_pool2d(int32[1,2,2], kernel_size=2)",
                       *three = "avg_pool1d(bfloat16[1,3], kernel_size=3)";
  return {
      {Divergence::rolling_sum, {row, "1e30 1 1", "5e29 0", "", "rolling_sum"}},
      {Divergence::rolling_sum, {row, "nan 1 1", "nan nan", "", "rolling_sum"}},
      {Divergence::rolling_sum, {row, "inf 1 1", "inf nan", "", "rolling_sum"}},
      {Divergence::rolling_sum, {two, "nan 1 2 3", "nan nan nan nan", "", "rolling_sum"}},
      {Divergence::rolling_sum, {longer, "nan 1e30 1 1", "nan 5e29 0", "", "rolling_sum"}},
      {Divergence::rolling_sum,
       {big, "-1.7976931348623157e308 1", "-1.7976931348623157e308 0", "", "rolling_sum"}},
      {Divergence::rolling_sum,
       {big, "-1.7976931348623157e308 1.7976931348623157e308", "-1.7976931348623157e308 inf", "",
        "rolling_sum"}},
      {Divergence::rolling_sum, {big, "1 2", "1 inf", "", "nothing"}},
      {Divergence::rolling_sum, {row, "2 1 1", "1.5 0", "", "nothing"}},
      {Divergence::rolling_sum, {row, "1 1 1e30", "0 5e29", "", "nothing"}},
      {Divergence::rolling_sum, {row, "1 1 nan", "nan nan", "", "nothing"}},
      {Divergence::rolling_sum, {row, "nan 1 1", "nan 7", "", "nothing"}},
      {Divergence::rolling_sum, {two, "1 nan 2 3", "1 nan nan nan", "", "nothing"}},
      {Divergence::axis_average, {square, "3 3 3 2", "1", "", "axis_average"}},
      {Divergence::axis_average, {square, "3 3 3 2", "0", "", "nothing"}},
      {Divergence::axis_average, {mean, "1 2 3", "1", "", "nothing"}},
      {Divergence::cancelled_sum, {three, "1 -1.0078125 0.0078125", "0.00390625", "", "cancelled_sum"}},
      {Divergence::cancelled_sum, {three, "1 -1.0078125 0.0078125", "0.03125", "", "nothing"}},
      {Divergence::cancelled_sum,
       {"avg_pool1d(float32[1,2], kernel_size=2)", "1 -1", "0.001", "", "nothing"}},
      {Divergence::blur_division, {box, "0 0", "1", "", "blur_division"}},
      {Divergence::blur_division, {box, "8 8", "9", "", "blur_division"}},
      {Divergence::blur_division, {box, "0 0", "2", "", "nothing"}},
      {Divergence::blur_division, {"avg_pool2d(int8[1,2,1], kernel_size=[2,1])", "0 0", "1", "", "nothing"}},
  };
}
std::vector<NamedRow> rows_of_maxima(const std::string& ones) {
  constexpr const char *pairs = "max_pool1d(float32[1,3], kernel_size=2, stride=1)",
                       *wide = "max_pool1d(int64[1,2], kernel_size=2)",
                       *dilated =
                           "max_pool1d(float32[1,1], kernel_size=2, stride=1, padding=1, dilation=2, "
                           "return_indices=True)",
                       *not_empty =
                           "max_pool1d(float32[1,2], kernel_size=2, stride=1, padding=1, dilation=2, "
                           "return_indices=True)",
                       *clipped = "max_pool1d(float32[1,3], kernel_size=2, stride=1, padding=1, dilation=2)",
                       *long_row = "max_pool1d(bfloat16[1,300], kernel_size=300, return_indices=True)";
  return {
      {Divergence::spoiled_extreme, {pairs, "nan 2 1", "nan 1", "", "spoiled_extreme"}},
      {Divergence::spoiled_extreme, {pairs, "nan 2 1", "nan 3", "", "nothing"}},
      {Divergence::spoiled_extreme, {pairs, "3 2 nan", "2 nan", "", "nothing"}},
      {Divergence::float64_integers,
       {wide, "9223372036854775807 0", "-9223372036854775808", "", "float64_integers"},
       "float_integers"},
      {Divergence::float64_integers,
       {wide, "9007199254740993 0", "9007199254740992", "", "float64_integers"},
       "float_integers"},
      {Divergence::float64_integers,
       {wide, "9007199254740993 0", "9007199254740990", "", "nothing"},
       "float_integers"},
      {Divergence::float64_integers, {wide, "5 7", "5", "", "nothing"}},
      {Divergence::empty_index, {dilated, "5", "-inf", "77", "empty_index"}},
      {Divergence::empty_index, {not_empty, "5 6", "6 5", "1 77", "nothing"}},
      {Divergence::narrow_index, {long_row, ones.c_str(), "2", "300", "narrow_index"}},
      {Divergence::narrow_index, {long_row, ones.c_str(), "2", "298", "nothing"}},
      {Divergence::narrow_index, {long_row, ones.c_str(), "1", "300", "nothing"}},
      {Divergence::moved_window, {clipped, "1 2 3", "9 3 2", "", "moved_window"}},
      {Divergence::moved_window, {clipped, "1 2 3", "2 9 2", "", "nothing"}},
      {Divergence::moved_window, {clipped, "1 2 3", "2 3 9", "", "moved_window"}},
  };
}

TEST(Explain, AKnownBugIsNoOther) {
  std::string ones = "1";
  for (int i = 1; i < 300; ++i) ones += i == 299 ? " 2" : " 1";
  for (const std::vector<NamedRow>& rows : {rows_of_sums(), rows_of_maxima(ones)})
    for (const NamedRow& one : rows) {
      expect_rules(one.row, std::span(&one.bug, 1));
      Row unnamed = one.row;
      unnamed.rules = one.unnamed;
      expect_rules(unnamed);
    }
}

TEST(Explain, AForgivenValueForgivesNoIndex) {
  const Row table[] = {
      {indexed, "nan 1", "1", "0", "nothing"},
      {indexed, "nan 1", "1", "77", "nothing"},
      {indexed, "-inf -inf", "-3.4028235e38", "9", "nothing"},
      {words, "1386882560 1386882561", "1386882560", "-1", "nothing"},
      {words, "5 1386882561", "1386882560", "0", "nothing"},
  };
  for (const Row& row : table) expect_rules(row);
}

}  // namespace
}  // namespace pooljit::fuzz
