// jit/x86/instructions.def as a table.
#pragma once

#include <Zydis/Zydis.h>

#include <optional>
#include <span>

#include "jit/x86/lane_op.h"

namespace pooljit::jit::x86 {

enum class Form : uint8_t {
  unary,
  narrow,
  binary,
  scalar,
  muladd132,
  muladd213,
  muladd231,
  compare,
  order,
  equal,
  greater,
  bits_and,
  bits_and_not,
  bits_or,
  bits_xor,
  all_ones,
  mask_and,
  mask_or,
  mask_xor,
  mask_move,
  shift,
  pack,
  choose,
  masked,
  fix,
  blend,
  guarded,
  move,
  move4,
  move8,
  aligned,
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

// Of floats, as the immediate of a comparison says it; none: ir/ops.def has no such one.
std::optional<ir::Predicate> predicate_of(uint8_t imm);
// The same of integers.
std::optional<ir::Predicate> order_of(uint8_t imm);

}  // namespace pooljit::jit::x86
