// One instruction of a Program, and what it is made of. The ops and their meaning are in ir/ops.def.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/inline_list.h"

namespace pooljit::ir {

enum class Op : uint8_t {
#define OP(name, group, operands, result, effect, equation) name,
#include "ir/ops.def"
#undef OP
};

enum class Effect : uint8_t { none, read, write, control };

struct OpInfo {
  Op op;
  std::string_view text;  // without the trailing underscore that C++ keywords need
  std::string_view group, operands, result;
  Effect effect;
  std::string_view equation;
};
const OpInfo& info(Op op);
std::span<const OpInfo> ops();

// The type of a value. A mask's dtype is the unsigned type as wide as the elements that it guards.
struct Type {
  enum class Kind : uint8_t { index, ptr, vec, mask };
  Kind kind = Kind::index;
  DType dtype = DType::u8;  // vec, mask
  int lanes = 0;            // vec, mask: a power of two
  bool operator==(const Type&) const = default;

  static Type index() { return {}; }
  static Type ptr() { return {Kind::ptr, DType::u8, 0}; }
  static Type vec(DType dtype, int lanes) { return {Kind::vec, dtype, lanes}; }
  static Type mask(DType dtype, int lanes) { return {Kind::mask, unsigned_of(dtype), lanes}; }
  Type mask_of() const { return mask(dtype, lanes); }
  int vector_bytes() const { return lanes * bytes(dtype); }
};

using Value = int32_t;  // an SSA name: an index into Program::types
inline constexpr Value no_value = -1;
// Few values: lists that live inside their owner, because a compile makes thousands of them.
using Values = InlineList<Value, 4>;

struct Term {
  Value iv = no_value;  // a loop's counter
  int64_t bytes = 0;
  bool operator==(const Term&) const = default;
};

// base + sum(iv * bytes) + offset, in bytes. Terms are ordered outermost loop first, each iv once.
struct Address {
  Value base = no_value;
  InlineList<Term, 4> terms = {};
  int64_t offset = 0;
  bool operator==(const Address&) const = default;
};

enum class Predicate : uint8_t { eq, ne, lt, le, gt, ge, un };

struct Inst {
  Op op = Op::ret;
  Values args = {};                // as ops.def says
  Values results = {};             // loop: iv, carried...; end: finals...; others 0 or 1
  Address addr = {};               // iload ptradd load store prefetch
  int64_t imm = 0;                 // param: slot; iconst: value; shl shr: bits
  std::vector<int64_t> data = {};  // vconst: each lane's bits; shuffle: lanes; vmask: 0/1 per lane
  Predicate pred = Predicate::eq;  // cmp
  bool saturate = false;           // cvt
  bool non_temporal = false;       // store, to the output: past the caches, at a multiple of its size
  bool operator==(const Inst&) const = default;
};

}  // namespace pooljit::ir
