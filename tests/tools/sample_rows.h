// What tests of rows of samples share: layers, the command line, and what a row says of itself.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"

namespace pooljit::tools::of_tuners {

using Json = nlohmann::ordered_json;

inline constexpr const char* layer = "max_pool2d(float32[1,3,9,20], kernel_size=3, stride=2, padding=1)";

// Of which the larger maximum may be made of the smaller one's results.
inline constexpr const char* several =
    "pools(float32[1,4,7,7], max_pool2d(3, 1, 1), max_pool2d(5, 1, 2), concat=True, include_input=True)";

inline std::string on(const std::string& command, const std::string& options, const char* what = layer) {
  return "$P " + command + " '" + what + "' " + options;
}

inline std::vector<Json> lines(const std::string& text) {
  std::vector<Json> rows;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) rows.push_back(Json::parse(line));
  return rows;
}

// What a row says of itself.
inline void expect_description(const Json& row, const std::string& spec) {
  EXPECT_EQ(row["spec"], print(*frontend::parse_spec(spec)));
  for (const char* field : {"cpu", "row", "caches", "isa", "threads", "backend"})
    EXPECT_TRUE(row["machine"].contains(field)) << field;
  for (const char* field : {"pooljit", "compiler", "system"})
    EXPECT_TRUE(row["versions"].contains(field)) << field;
  EXPECT_EQ(row["machine"]["threads"], 1);
}

inline void expect_measurement(const Json& row) {
  EXPECT_EQ(row["status"], "ok") << row;
  EXPECT_GE(row["samples"].size(), 3U);
  EXPECT_GT(row["median"], 0);
  EXPECT_LE(row["first_quartile"], row["third_quartile"]);
  EXPECT_GT(row["ratio"], 0);
  EXPECT_GT(row["reference"]["median"], 0);
  EXPECT_TRUE(row["disturbed"].is_boolean());
  for (const char* field : {"processors", "load", "preemptions"})
    EXPECT_TRUE(row["conditions"].contains(field)) << field;
  EXPECT_GT(row["compile_seconds"], 0);
  EXPECT_TRUE(row.contains("counters"));
}

}  // namespace pooljit::tools::of_tuners
