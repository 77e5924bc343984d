// Constants as registers hold them: vectors and index lists as bytes, masks of avx512 as bits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/passes/shuffle_forms.h"
#include "ir/program.h"

namespace pooljit::jit {

inline constexpr size_t most_vector_bytes = 64;

struct Constant {
  bool is_mask_bits = false;                     // a k register: the first 8 bytes
  uint8_t size = 0;                              // a multiple of 16; what lies above is zero
  std::array<uint8_t, most_vector_bytes> bytes;  // all of them are compared

  bool operator==(const Constant&) const = default;
  uint64_t bits() const;
  bool is_zero() const;
  bool is_ones() const;
};

inline bool masks_are_bits(const ir::Program& program) {
  return ir::info(program.isa).mask == ir::MaskEncoding::k_bits;
}

// The value of a vconst or vmask of stage `legal` in a register of its ISA.
Constant constant_of(const ir::Program& program, const ir::Inst& inst);

// The index list, byte selection or mask that a shuffle needs besides its operands.
std::optional<Constant> implied_constant(const ir::Program& program, const ir::Inst& shuffle,
                                         const ir::ShuffleForm& form);
// vfixupimm's action for each class of floats, for `propagate`.
Constant nan_responses(const ir::Type& type);

// The constants of one kernel, each once, laid out so that each is aligned to its size.
class ConstantPool {
 public:
  int add(const Constant& constant);
  const Constant& at(int number) const { return constants_[static_cast<size_t>(number)]; }
  int count() const { return static_cast<int>(constants_.size()); }
  // Marks one as read from memory; the others take no room.
  void keep_in_memory(int number) { offsets_[static_cast<size_t>(number)] = 0; }
  // After the last add and keep_in_memory: bytes of the pool, a multiple of 64.
  size_t lay_out();
  size_t offset(int number) const { return static_cast<size_t>(offsets_[static_cast<size_t>(number)]); }
  void write(uint8_t* to) const;

 private:
  std::vector<Constant> constants_;
  std::vector<int> offsets_;  // -1: not in memory
};

}  // namespace pooljit::jit
