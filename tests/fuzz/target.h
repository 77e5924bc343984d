// A fuzz target: one function that takes bytes and stops the process where something is wrong. libFuzzer
// calls it (preset `fuzz`); everywhere else tests/fuzz/replay.cpp does, with the files of a corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace pooljit::fuzz {

// Ends the process as a finding.
inline void demand(bool condition, std::string_view what, std::string_view text = "") {
  if (condition) return;
  std::fprintf(stderr, "%.*s\n%.*s\n", int(what.size()), what.data(), int(text.size()), text.data());
  std::abort();
}

}  // namespace pooljit::fuzz
