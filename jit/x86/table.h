// jit/x86/instructions.def as a table.
#pragma once

#include <Zydis/Zydis.h>

#include <span>

#include "jit/x86/lane_op.h"

namespace pooljit::jit::x86 {

enum class Form : uint8_t {
  unary,
  binary,
  muladd,
  compare,
  bits,
  shift,
  pack,
  choose,
  blend,
  guarded,
  move,
  places
};

struct VectorRow {
  ZydisMnemonic mnemonic;
  Form form;
  LaneOp op;
};

// Null: the table does not have it.
const VectorRow* find_row(ZydisMnemonic mnemonic);
std::span<const VectorRow> rows();

}  // namespace pooljit::jit::x86
