// proof/bytes/instructions.def as a table.
#pragma once

#include <Zydis/Zydis.h>

#include <optional>
#include <span>

#include "proof/bytes/lane_op.h"

namespace pooljit::jit::x86 {

enum class InstructionForm : uint8_t {
  unary,
  narrow,
  binary,
  scalar,
  scalar_unary,
  compare_scalar,
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
  ternary,
  mask_and,
  mask_or,
  mask_xor,
  mask_not,
  mask_join,
  mask_shift,
  mask_move,
  signs,
  spread,
  expand,
  horizontal,
  from_word,
  to_word,
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
  high8,
  aligned,
  places
};

struct VectorRow {
  ZydisMnemonic mnemonic;
  InstructionForm form;
  LaneOp op;
};

// Null: the table does not have it.
const VectorRow* find_row(ZydisMnemonic mnemonic);
std::span<const VectorRow> rows();

// Of floats, as the immediate of a comparison says it: one of which the other may hold, too; none: no row.
struct Predicates {
  ir::Predicate first;
  std::optional<ir::Predicate> second;
};
std::optional<Predicates> predicates_of(uint8_t imm);
// The same of integers.
std::optional<ir::Predicate> order_of(uint8_t imm);

}  // namespace pooljit::jit::x86
