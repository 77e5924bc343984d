// Golden files: `key: value` lines, a line `---`, then the text that is expected. A test makes the text anew
// from the keys and compares. With POOLJIT_BLESS=1 in the environment the expectation is rewritten instead;
// read the diff before you commit it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

namespace pooljit::test {

using GoldenKeys = std::map<std::string, std::string>;

struct Golden {
  GoldenKeys keys;
  std::string head;      // up to and with the line ---
  std::string expected;  // what follows
};

inline Golden read_golden(const std::filesystem::path& path) {
  std::ifstream file(path);
  Golden golden;
  for (std::string line; std::getline(file, line);) {
    golden.head += line + "\n";
    if (line == "---") break;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) golden.keys[line.substr(0, colon)] = line.substr(colon + 2);
  }
  std::stringstream rest;
  rest << file.rdbuf();
  golden.expected = rest.str();
  return golden;
}

// Compares what a test made with what the file expects, or blesses it.
inline void expect_golden(const std::filesystem::path& path, const Golden& golden, const std::string& made) {
  if (made == golden.expected) return;
  const char* bless = std::getenv("POOLJIT_BLESS");
  if (bless && *bless == '1') {
    std::ofstream(path) << golden.head << made;
    return;
  }
  ADD_FAILURE() << path << " differs; if the new text is right, run the test with POOLJIT_BLESS=1\n--- got\n"
                << made << "--- expected\n"
                << golden.expected;
}

// Checks every .txt file of tests/golden/<folder>; make(keys) is the text that the file should hold.
inline void check_golden(const std::string& folder,
                         const std::function<std::string(const GoldenKeys&)>& make) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(POOLJIT_GOLDEN_DIR) + "/" + folder)) {
    if (entry.path().extension() != ".txt") continue;
    ++files;
    const Golden golden = read_golden(entry.path());
    expect_golden(entry.path(), golden, make(golden.keys));
  }
  EXPECT_GT(files, 0) << "no golden files in " << folder;
}

}  // namespace pooljit::test
