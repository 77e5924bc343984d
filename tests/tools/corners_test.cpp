// `pooljit corners`: the layers that it draws and how it tells them apart. Nothing here depends on how fast
// the machine is.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "frontend/check.h"
#include "ir/choose/enumerate.h"
#include "tools/bench/corner_layers.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::shell;
using test::TempFolder;

frontend::PoolSpec parsed(const char* text) { return frontend::parse_spec(text).value(); }

TEST(Corners, LayersAreValidLargeAndOfTheirSeed) {
  fuzz::Draw draw(3), again(3);
  int64_t largest = 0;
  size_t views = 0;
  for (int i = 0; i < 200; ++i) {
    const frontend::PoolSpec spec = random_layer(draw);
    EXPECT_EQ(print(spec), print(random_layer(again)));
    EXPECT_EQ(print(spec), print(parsed(print(spec).c_str())));
    EXPECT_GE(moved_bytes(spec), 1 << 10) << print(spec);
    largest = std::max(largest, moved_bytes(spec));
    views += spec.strides.empty() ? 0 : 1;
  }
  EXPECT_GT(largest, 1 << 20);
  EXPECT_GT(views, 5U);
}

TEST(Corners, FeaturesSayWhatALayerIs) {
  const struct {
    const char *spec, *features;
  } rows[] = {
      {"max_pool2d(float32[1,8,9,9], kernel_size=2)", "columns"},
      {"max_pool2d(float32[1,8,9,9]:nhwc, kernel_size=2, return_indices=True)", "indices, channels"},
      {"max_pool2d(float32[1,8,9,9], kernel_size=2, output_layout=nhwc)", "columns to channels"},
      {"max_pool2d(float32[1,8,9,9], kernel_size=9)", "columns to channels, whole planes"},
      {"max_pool1d(float32[1,8,9], kernel_size=2, strides=[144,18,2])", "elements apart to columns"},
      {"avg_pool2d_backward(float32[1,8,9,9], kernel_size=2)", "backward, columns"},
      {"adaptive_avg_pool2d(float32[1,8,9,9], output_size=2)", "columns, adaptive"},
      {"max_unpool2d(float32[1,8,9,9], kernel_size=2)", "unpool, columns"},
      {"pools(float32[1,8,9,9], max_pool2d(2, return_indices=True), global_avg_pool2d())",
       "several pools, indices, columns, columns to channels, whole planes"},
  };
  for (const auto& row : rows) {
    std::string text;
    for (const std::string& feature : features(parsed(row.spec)))
      text += (text.empty() ? "" : ", ") + feature;
    EXPECT_EQ(text, row.features) << row.spec;
  }
}

// What once had one lane.
TEST(Corners, TheseHaveVectors) {
  for (const char* text : {
           "max_pool1d(uint8[1,1024,1024], kernel_size=1024, return_indices=True)",
           "adaptive_max_pool2d(float32[1,17,64,48], output_size=1, return_indices=True)",
           "adaptive_max_pool2d(uint8[1,17,64,48], output_size=1, return_indices=True)",
           "adaptive_max_pool2d(bfloat16[1,17,64,48], output_size=[3,2], return_indices=True)",
       })
    for (const ir::IsaInfo& row : ir::isa_table) {
      const ir::PoolNest nest = make_nest(parsed(text));
      EXPECT_GT(fewest_lanes(ir::enumerate_schedules(nest, row.isa, 1).front()), 1)
          << text << " " << row.text;
    }
}

TEST(Corners, ScalarCountsLayersOfOneLane) {
  const TempFolder folder;
  const Outcome outcome = shell("$P corners --scalar --count 300 --seed 5 --json", folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["layers"], 300);
  int64_t layers = 0;
  for (const auto& cause : report["causes"]) {
    layers += cause["layers"].get<int64_t>();
    EXPECT_NE(cause["cause"].get<std::string>().find("one lane"), std::string::npos);
  }
  EXPECT_EQ(report["scalar"], layers);
}

TEST(Corners, TheReportAddsUp) {
  const TempFolder folder;
  const Outcome outcome =
      shell("$P corners --count 6 --only 'float32[' --worst 1 --shrink-seconds 0 --json", folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["layers"].get<int64_t>() + report["refused"].get<int64_t>(), 6);
  int64_t layers = 0;
  for (const auto& cause : report["causes"]) layers += cause["layers"].get<int64_t>();
  EXPECT_EQ(report["layers"], layers);
  ASSERT_EQ(report["slowest_beside_copy"].size(), 1U);
  EXPECT_GT(report["slowest_beside_copy"][0]["layer"]["share_of_copy"], 0);
}

}  // namespace
}  // namespace pooljit::tools
