// Shuffles that are one instruction, as a table of patterns: shared by the legaliser, which cuts other lane
// lists into these, and by the back end, which emits them.
//
// A vector smaller than 16 bytes lies at the low end of a 16-byte register; what lies above it is undefined.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/program.h"

namespace pooljit::ir {

// "Unit" is a group of `width` bytes that moves as one; "lane" here is a 16-byte part of a register.
enum class Move : uint8_t {
  low,             // the first units of a: no instruction
  part,            // aligned 16 or 32 bytes of a, number imm
  shift_down,      // a moved down by imm bytes; a has 16 bytes at most
  splat,           // unit 0 of a everywhere
  dwords_in_lane,  // imm: 2 bits per dword, the same in each lane
  qwords,          // imm: 2 bits per qword of 32 bytes
  bytes_in_lane,   // by index, each byte from its own lane
  permute,         // by index, any units of a
  permute_two,     // by index, any units of a and b
  insert,          // a with part imm (as large as b) replaced by b
  unpack_low,      // a0 b0 a1 b1 ... of each lane's lower half
  unpack_high,     // ... of its upper half
  shuffle_two,     // per lane, the lower half from a, the upper half from b; imm as vshufps / vshufpd has it
  lanes,           // imm as vperm2i128 has it
  align,           // the concatenation of a and b, from unit imm on
  align_in_lane,   // the same in each lane by itself
  blend,           // each unit from a or b, at its own place; bit i of imm: unit i from b
};

struct ShuffleForm {
  Move move = Move::low;
  int width = 1;
  int64_t imm = 0;
};

// The shuffle's operands are of type `source`; `lanes` numbers the elements of a, then those of b.
// A thread remembers what it asked for last.
std::optional<ShuffleForm> shuffle_form(Isa isa, const Type& source, bool two,
                                        std::span<const int64_t> lanes);

}  // namespace pooljit::ir
