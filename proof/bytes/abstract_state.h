// The facts about registers and stack at one place of machine code that hold for all data: the values of the
// abstract interpretation in proof/bytes/inspect.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "ir/program.h"

namespace pooljit::jit {

// Bases of pointers: the argument block, the stack on entry and after alignment, the six registers that a
// function keeps, the words of the argument block that are pointers.
enum Base : uint8_t { base_args, base_stack, base_aligned_stack, base_saved, base_param = base_saved + 6 };
inline constexpr size_t bases = base_param + ir::most_params;

inline constexpr int word_bits = 64;

// A word: a sum of bases, each times a small number, and a number.
struct AbstractWord {
  std::array<int8_t, bases> times{};
  bool is_data = false;    // depends on tensor elements
  bool is_left = false;    // depends on what a register that nothing was written to held, or may do so
  uint8_t clean_bits = 0;  // so many of the lowest bits do not, even then
  bool is_mixed = false;   // independent of data, but of which bases is not known
  bool is_exact = false;   // the number is `offset`
  int64_t offset = 0;
  bool operator==(const AbstractWord&) const = default;

  static AbstractWord number() { return {}; }
  static AbstractWord data() {
    AbstractWord word;
    word.is_data = true;
    return word;
  }
  static AbstractWord mixed() {
    AbstractWord word;
    word.is_mixed = true;
    return word;
  }
  static AbstractWord left() {
    AbstractWord word = mixed();
    word.is_left = true;
    return word;
  }
  static AbstractWord exact(int64_t value) {
    AbstractWord word;
    word.is_exact = true;
    word.offset = value;
    return word;
  }
  static AbstractWord pointer(size_t base) {
    AbstractWord word = exact(0);
    word.times[base] = 1;
    return word;
  }
  bool has_base() const;
  // Whether its lowest bits are made of what a register held before the call, one that is kept or another.
  bool has_left(int bits) const;
  // The one base that it is an offset from; `bases` if there is none.
  size_t base() const;
};

// a + factor * b.
AbstractWord plus(const AbstractWord& a, const AbstractWord& b, int64_t factor);
// Either of two.
AbstractWord either(const AbstractWord& a, const AbstractWord& b);

// 8 bytes of the stack. Masks lie there side by side, so bytes that depend on data are told from others.
struct Slot {
  AbstractWord word;
  uint8_t data_bytes = 0;  // bit i: byte i depends on data
  bool operator==(const Slot&) const = default;
};

// Bit i: lane i of a vector, of 32 bits each, depends on data.
using DataLanes = uint16_t;
// All lanes of so many bits.
constexpr DataLanes lanes_of(int bits) { return static_cast<DataLanes>((1U << (bits / 32)) - 1); }

struct AbstractState {
  std::array<AbstractWord, 16> words{};        // general registers
  std::array<DataLanes, 32> vectors{};         // xmm, ymm and zmm registers
  std::array<uint8_t, 8> masks = all_clean();  // k0 to k7: so many of the lowest bits do not depend on data
  // Bits of ZydisCPUFlags: those that depend on data or on what was left in registers, or that nobody set.
  uint32_t flags = ~uint32_t{0};
  bool is_fenced = true;  // nothing was stored past the caches since the last fence
  std::map<std::pair<size_t, int64_t>, Slot> stack;  // by base and offset
  bool operator==(const AbstractState&) const = default;

  static constexpr uint8_t mask_bits = 64;
  static constexpr std::array<uint8_t, 8> all_clean() {
    std::array<uint8_t, 8> clean{};
    clean.fill(mask_bits);
    return clean;
  }

  // Takes in what else may be true here; true if that changed anything.
  bool join(const AbstractState& other);
};

}  // namespace pooljit::jit
