// The symbolic domain of machine code: a byte is a number, or a byte of a term that says how it was made of
// input elements (proof/program/terms.h). Every byte of a lane that a comparison made is byte 0 of the
// comparison's term.
//
// Throws ir::Unreadable for what no term says.
#pragma once

#include <optional>
#include <vector>

#include "proof/bytes/executor.h"
#include "proof/program/terms.h"

namespace pooljit::jit::x86 {

class TermDomain {
 public:
  using Byte = ir::TermGraph::Byte;

  explicit TermDomain(ir::TermGraph& graph) : graph_(graph) {}

  // Stands for all that is made of elements of which no term is wanted, or of what registers held before the
  // call, which fingerprints tell from each other.
  static constexpr Byte apart = {ir::no_term - 1, 0};
  static Byte unwritten(size_t /*number*/) { return apart; }
  static bool is_unwritten(const Byte& /*byte*/) { return false; }

  static Byte constant(uint8_t value) { return {ir::no_term, value}; }
  static std::optional<uint8_t> known(const Byte& byte) {
    if (byte.term != ir::no_term) return std::nullopt;
    return static_cast<uint8_t>(byte.number);
  }
  void lane(const LaneOp& op, std::array<const Byte*, 3> args, Byte* to);
  void bits(BitOp op, const Byte* a, const Byte* b, Byte* to, int count);
  void choose(const Byte* mask, const Byte* a, const Byte* b, Byte* to, int count, int width);

  // The term of an element with these bytes.
  ir::TermId term_of(ir::DType dtype, const Byte* bytes);

 private:
  // A few bytes as operands of an operation that has no type: a number, a mask, or one term.
  struct Chunk {
    bool is_known = false, is_mask = false;
    ir::TermId term = ir::no_term;  // also a known one's
  };
  // Which terms may stand for bytes: such as are no wider; also a part of one; also bytes that are put
  // together.
  enum class Takes : uint8_t { whole, parts, any };
  std::optional<Chunk> chunk(const Byte* bytes, int width, Takes takes);
  bool is_mask(ir::TermId id) const {
    return id >= 0 && static_cast<size_t>(id) < masks_.size() && masks_[static_cast<size_t>(id)];
  }
  bool is_mask(const Byte* bytes, int width) const;
  bool has_mask(const Byte* bytes, int width) const;
  ir::TermId number_with_mask(ir::DType dtype, const Byte* bytes);
  void put(ir::TermId id, bool as_mask, Byte* to, int width);

  static std::optional<bool> bits_apart(BitOp op, const Byte* a, const Byte* b, Byte* to, int width);
  ir::TermId of_chosen_numbers(const LaneOp& op, const ir::LaneTerm& term, int count);
  bool bits_of_chunk(BitOp op, const Byte* a, const Byte* b, Byte* to, int width, Takes takes);
  bool bits_with_mask(BitOp op, const Chunk& a, const Chunk& b, Byte* to, int width);
  ir::TermId is_negative(const Byte* bytes, int width);
  bool choose_chunk(const Byte* mask, const Byte* a, const Byte* b, Byte* to, int width, int mask_width,
                    Takes takes);
  ir::TermId choice(ir::TermId mask, const Chunk& a, const Chunk& b);
  ir::TermId combined(ir::Op op, ir::DType dtype, ir::TermId a, ir::TermId b, bool makes_mask);

  ir::TermGraph& graph_;
  std::vector<bool> masks_;  // by TermId
};

}  // namespace pooljit::jit::x86
