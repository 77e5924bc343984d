// The interpreter: what a Program means. Every back end's kernel must leave the same bytes in memory.
//
// It takes the argument block of the native ABI (jit/backend.h) and works on the caller's memory itself.
// Every access is checked as (buffer, offset), lane by lane, so it also proves that a Program touches nothing
// but its views on the given tasks.
//
// Errors (kind `invalid`; the Program or the map is wrong), each naming the line and the loop counters:
//   interp.arguments    fewer words than params, or a null pointer to a buffer that is not empty
//   interp.bounds       an access outside its buffer
//   interp.gap          an access to a byte of the buffer that belongs to no element of the view
//   interp.read_only    a store to the input or a table
//   interp.write_only   a load from an output
//   interp.table        an iload that is not from a table, or not at a multiple of 8
//   interp.trip         a loop with a negative trip count
//   interp.cvt          a float that its integer type cannot hold, or NaN
//   interp.alignment    a non-temporal store that is not aligned to its size
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/error.h"
#include "ir/program.h"

namespace pooljit::ir {

// What lies behind a pointer of the argument block.
struct Region {
  int64_t bytes = 0;  // from the first element's first byte to behind the last's last
  const std::vector<bool>* touchable = nullptr;  // one per byte; null: all of them
};

// Tables need none: they are as large as the Program's.
struct MemoryMap {
  Region input, output, indices;
};

// `program` must pass verify(); any stage, any ISA.
Result<void> interpret(const Program& program, std::span<const uint64_t> args, const MemoryMap& memory);

}  // namespace pooljit::ir
