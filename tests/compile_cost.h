// What compiling a spec takes, and what docs/safety.md promises that it takes at most. Included in one file
// of a program (tests/allocations.h).
#pragma once

#include <cstdint>
#include <string>

#include "ir/error.h"
#include "runtime/compile.h"
#include "tests/allocations.h"

namespace pooljit::tests {

// In bytes. What is allocated stands for the time: no machine decides it.
struct CompileCost {
  int64_t held = 0, allocated = 0, code = 0;
};
inline constexpr CompileCost most_of_compile = {
    .held = int64_t{64} << 20, .allocated = int64_t{1} << 30, .code = 1 << 20};
inline constexpr CompileCost most_of_llvm = {
    .held = int64_t{256} << 20, .allocated = INT64_MAX, .code = 1 << 20};

// Of a refusal too, which has no code; why: what it was refused for.
inline CompileCost compile_cost(const std::string& spec, const runtime::Options& options,
                                std::string* why = nullptr) {
  const Allocations before = allocations;
  allocations.most_held = allocations.held;
  const auto made = runtime::compile_uncached(spec, options);
  if (!made && why) *why = made.error().id;
  return {.held = allocations.most_held - before.held,
          .allocated = allocations.all - before.all,
          .code = made ? int64_t((*made)->code().info.code_bytes) : 0};
}

}  // namespace pooljit::tests
