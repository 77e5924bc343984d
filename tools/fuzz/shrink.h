// Makes a failing case small: tries simpler ones, keeps those that still fail. It knows texts only, so that
// what is new in specs and schedules is shrunk, too.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tools/fuzz/fuzz_case.h"

namespace pooljit::fuzz {

struct ShrinkLimits {
  int64_t tries = 3000;
  std::chrono::milliseconds time = std::chrono::seconds(30);
};

// Each result fails, as `fails` says; the smallest that was found.
FuzzCase shrink(FuzzCase failing, const std::function<bool(const FuzzCase&)>& fails,
                const ShrinkLimits& limits = {});

// Texts with one argument less, one number nearer to 0, or another word simpler, the boldest first; not all
// of them mean something.
std::vector<std::string> simpler_texts(const std::string& text);

}  // namespace pooljit::fuzz
