// The symbolic domain: a lane is a term, which says how it was made of input elements and constants, for
// every input at once. Readings of a term are its meaning in one algebra: proof/program/provenance.h reads it
// as a maximum of input positions, proof/program/linear.h as a sum of them with rational weights.
//
// Operations that only move bits (loads, shuffles, bitcasts, shifts by whole bytes, widening by zeros and
// taking the low part again) leave no trace in a term. A lane that does not depend on the input is a
// constant: it is computed in the domain of numbers, which runs beside. A mask that depends on the input must
// not guard memory.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/interp/number.h"

namespace pooljit::ir {

// Thrown if a Program does something that no reading can prove.
struct Unreadable {
  std::string why;
  bool is_unsupported = false;  // it may well be right, but there is no reading of it
  bool is_wrong = false;        // it was read, and is not what the nest says
};

using TermId = int32_t;
inline constexpr TermId no_term = -1;

struct LaneTerm {
  enum class Kind : uint8_t { constant, input, op, pack };
  Kind kind = Kind::constant;
  Op op = Op::ret;          // op
  DType dtype = DType::u8;  // of the term; a mask's is that of what was compared
  Predicate pred = Predicate::eq;
  bool saturate = false;
  int64_t imm = 0;  // constant: its bits (lane_bits); input: the element's offset in bytes; pack: which;
                    // shifts; cvt: from
  TermId args[3] = {no_term, no_term, no_term};
  int buffer = 0;  // input: of which parameter, as buffer_of() numbers it
  bool operator==(const LaneTerm&) const = default;
  // cvt: as what it takes the bits of its argument, which may have been made as another type.
  DType source() const { return static_cast<DType>(imm); }
  // cvt of integers to fewer bits: it takes the low ones, unless it saturates.
  bool keeps_low_bytes() const {
    return !is_float(dtype) && !is_float(source()) && bytes(dtype) < bytes(source());
  }
};

// What a reading makes of terms: of each once.
template <typename T>
class Readings {
 public:
  // make() may ask for other terms.
  template <typename Make>
  const T& of(TermId id, const Make& make) {
    if (const auto known = made_.find(id); known != made_.end()) return known->second;
    T made = make(id);
    return made_.emplace(id, std::move(made)).first->second;
  }

 private:
  std::unordered_map<TermId, T> made_;
};

// Which buffer an element lies in: 0 is the input.
constexpr int buffer_of(Param::Role role, int64_t number) {
  return role == Param::Role::input ? 0 : 1 + static_cast<int>(role) * 64 + static_cast<int>(number);
}

// Terms, each once: equal terms have equal ids. References to terms stay valid while others are added.
class TermGraph {
 public:
  const LaneTerm& operator[](TermId id) const { return terms_[static_cast<size_t>(id)]; }
  int64_t size() const { return std::ssize(terms_); }
  // The term, if it is such an operation; else null, as for no_term.
  const LaneTerm* op(TermId id, Op op, DType dtype) const;
  bool is_constant(TermId id) const { return (*this)[id].kind == LaneTerm::Kind::constant; }

  TermId constant(DType dtype, int64_t bits) { return add({.dtype = dtype, .imm = lane_bits(dtype, bits)}); }
  TermId input(DType dtype, int64_t offset, int buffer) {
    return add({.kind = LaneTerm::Kind::input, .dtype = dtype, .imm = offset, .buffer = buffer});
  }
  TermId add(const LaneTerm& term);
  // The term of an operation on a lane of which some operand is no constant: as it is, or as the simpler one
  // that it is. makes_mask: the lane is a mask's.
  TermId apply(const LaneTerm& term, bool makes_mask);

  // A byte of a term; of no term: a constant's.
  struct Byte {
    TermId term = no_term;
    int32_t number = 0;                             // which byte, or the constant's value
    auto operator<=>(const Byte&) const = default;  // NOLINT(modernize-use-nullptr): there is none
  };
  std::vector<Byte> bytes_of(TermId id) const;
  // How many of an integer's low bytes may be other than zero, as far as its operation tells.
  int used_bytes(TermId id) const { return used_bytes_[static_cast<size_t>(id)]; }
  // The term with these bytes, the least significant first.
  TermId from_bytes(DType dtype, const std::vector<Byte>& bytes);
  // The term of 16 bits that is the high half of this one of 32, above zeros (as a bfloat16 is of the float32
  // that it is widened to); no_term if there is none.
  TermId high_half(TermId id) const;
  // The integer that all bytes of this term but zeros above are; no_term if it is none.
  TermId below_zeros(TermId id) const;
  // The term of 32 bits whose high half this one is, zeros above it left out; no_term if it is none.
  TermId whole_of(TermId id) const;
  // The float32 that is rounded to this bfloat16, in one operation or in those that
  // ir/passes/expand_convert.cpp writes for it; no_term if there is none.
  TermId rounded_to_bf16(TermId id) const;

 private:
  bool is_op_with(TermId id, Op op, TermId other, int64_t constant) const;
  bool is_sum_of(TermId sum, TermId x, TermId high) const;
  size_t slot_of(const LaneTerm& term) const;
  void grow();
  int find_used_bytes(const LaneTerm& term) const;
  bool is_not_negative(TermId id) const;
  TermId mask_lane(const LaneTerm& term);
  TermId select_lane(const LaneTerm& term);
  TermId propagate_lane(const LaneTerm& term);
  TermId bytes_lane(const LaneTerm& term);
  TermId extended_lane(const LaneTerm& term, const std::vector<Byte>& left);
  std::deque<LaneTerm> terms_;
  std::vector<int> used_bytes_;  // by TermId
  std::vector<TermId> slots_;  // of each term by its hash, or of the next free place: at most half are taken
  std::vector<std::vector<Byte>> packs_;
  std::map<std::vector<Byte>, int64_t> pack_numbers_;
};

class Terms {
 public:
  // Terms of several Programs in one graph can be compared.
  Terms(const Program& program, TermGraph& graph);

  void copy(Value to, Value from);
  void compute(const Inst& inst);
  void splat(Value to, int64_t index);
  const uint8_t* mask(Value value) const;
  // All lanes of a vector are this term; a constant is one of integers.
  void bind(Value to, TermId id);
  TermId lane(Value value, int number) const { return lanes(value)[number]; }
  void load(Value to, const Access& access, const uint8_t* mask, Value pass);
  void store(Value from, const Access& access, const uint8_t* mask);

  // The term that was stored last to each place: (role, offset in bytes) -> term.
  using Stored = std::unordered_map<int64_t, TermId>;
  const Stored& stored(Param::Role role) const { return stored_[static_cast<size_t>(role)]; }

 private:
  const Type& type(Value value) const { return program_.type(value); }
  TermId* lanes(Value value) { return lanes_.data() + offsets_[static_cast<size_t>(value)]; }
  const TermId* lanes(Value value) const { return lanes_.data() + offsets_[static_cast<size_t>(value)]; }
  TermId stored_at(Param::Role role, int64_t offset, DType dtype) const;
  void forget(Param::Role role, int64_t offset, int64_t width);
  void set_constant(Value value);
  TermId constant_lane(Value value, int lane);
  void shuffle(const Inst& inst);
  void bitcast(const Inst& inst);

  const Program& program_;
  Numbers numbers_;
  TermGraph& graph_;
  std::vector<size_t> offsets_;  // by Value, of its lanes in lanes_
  std::vector<TermId> lanes_;
  std::vector<Stored> stored_;  // by role
};

}  // namespace pooljit::ir
