// The interpreter: what a Program means. Every back end's kernel must leave the same bytes in memory.
//
// It takes the argument block of the native ABI (jit/backend.h) and works on the caller's memory itself.
// Every access is checked as (buffer, offset), lane by lane, so it also proves that a Program touches nothing
// but its views on the given tasks.
//
// Errors (kind `invalid`; the Program or the map is wrong) are "interp.<fault>", a row of
// ir/interp/faults.def, naming the line and the loop counters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/program.h"

namespace pooljit::ir {

// The memory behind a pointer of the argument block.
struct Region {
  int64_t bytes = 0;  // from the first element's first byte to behind the last's last
  const std::vector<bool>* touchable = nullptr;  // one per byte; null: all of them
};

// Tables need none: they are as large as the Program's. Nor does scratch memory, of which the interpreter has
// its own and whose word in the argument block it does not look at.
struct MemoryMap {
  Region input, output, indices;
  std::span<const Region> operands = {};
  std::span<const Region> sizes = {};  // words of sizes, by number
};

struct FaultInfo {
  std::string_view id;  // "interp.bounds"
  std::string_view prose;
};
std::span<const FaultInfo> faults();

// `program` must pass verify(); any stage, any ISA.
Result<void> interpret(const Program& program, std::span<const uint64_t> args, const MemoryMap& memory);

}  // namespace pooljit::ir
