// Golden tables: cases of "key: value" lines, with a blank line between two. Lines with # are comments.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace pooljit::test {

struct GoldenCase {
  int line = 0;
  std::map<std::string, std::string> fields;
};

// Of a file in tests/golden/.
inline std::vector<GoldenCase> read_cases(const std::string& name) {
  std::ifstream file(std::string(POOLJIT_GOLDEN_DIR) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::vector<GoldenCase> cases;
  std::string text;
  GoldenCase current;
  for (int line = 1; std::getline(file, text); ++line) {
    if (!text.empty() && text[0] == '#') continue;
    if (text.empty()) {
      if (!current.fields.empty()) cases.push_back(std::move(current));
      current = {};
      continue;
    }
    const size_t colon = text.find(':');
    EXPECT_NE(colon, std::string::npos) << name << ":" << line;
    if (current.fields.empty()) current.line = line;
    const size_t value = std::min(colon + 2, text.size());  // behind one blank
    current.fields[text.substr(0, colon)] = text.substr(value);
  }
  if (!current.fields.empty()) cases.push_back(std::move(current));
  EXPECT_FALSE(cases.empty()) << name;
  return cases;
}

}  // namespace pooljit::test
