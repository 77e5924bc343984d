// The domain of fingerprints: a byte is a number, or a number of 64 bits that is made, by a random function,
// of how the byte was made of input elements. Of these it holds where in their plane they lie, and apart from
// that whether all are of one plane (a batch and a channel), and of which. So equal fingerprints of two bytes
// say that both are made in the same way, each of its own plane.
//
// Different ways have equal fingerprints with a probability of about 2^-64 for each pair, whatever the code:
// the function is drawn when the code is already there.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "proof/bytes/executor.h"

namespace pooljit::jit::x86 {

// Which plane elements are of. Of batches a few are enough. unwritten: it takes in what a register held
// before the call.
struct PlaneOf {
  static constexpr int8_t any = -1, mixed = -2, unwritten = -3;
  int32_t c = any;
  int8_t n = any;
  bool operator==(const PlaneOf&) const = default;
  // Whether it takes in no elements but those of this plane.
  bool is_within(int64_t batch, int64_t channel) const {
    return (n == any || n == batch) && (c == any || c == channel);
  }
};

class FingerprintDomain {
 public:
  struct Byte {
    uint64_t value = 0;  // the number, or the fingerprint of what it is a byte of
    int32_t c = PlaneOf::any;
    int8_t n = PlaneOf::any;
    uint8_t number = 0;  // which byte of that
    bool is_known = true;
    uint8_t unused = 0;  // no padding: bytes are compared as two words
    PlaneOf plane() const { return {c, n}; }
    // All of it but the value.
    uint64_t tags() const { return std::bit_cast<std::array<uint64_t, 2>>(*this)[1]; }
    bool operator==(const Byte& other) const { return value == other.value && tags() == other.tags(); }
  };

  explicit FingerprintDomain(uint64_t seed) : seed_(seed) {}

  // The bytes of an element of a buffer, whose place is counted within its plane.
  void input(int buffer, int64_t place, PlaneOf plane, Byte* to, int width) const;

  static Byte constant(uint8_t value) { return {value, PlaneOf::any, PlaneOf::any, 0, true}; }
  static std::optional<uint8_t> known(const Byte& byte) {
    if (!byte.is_known) return std::nullopt;
    return static_cast<uint8_t>(byte.value);
  }
  Byte unwritten(size_t number) const;
  static bool is_unwritten(const Byte& byte) { return byte.n == PlaneOf::unwritten; }
  // Of a few bytes, as one; and of a sequence that goes on.
  uint64_t fingerprint(const Byte* bytes, int width) const;
  uint64_t with(uint64_t hash, uint64_t next) const { return mixed(hash, next); }

  void lane(const LaneOp& op, std::array<const Byte*, 3> args, Byte* to);
  void bits(BitOp op, const Byte* a, const Byte* b, Byte* to, int count) const;
  void choose(const Byte* mask, const Byte* a, const Byte* b, Byte* to, int count, int width) const;

 private:
  uint64_t mixed(uint64_t hash, uint64_t word) const;
  struct Operand {
    uint64_t hash;
    PlaneOf plane;
  };
  Operand operand(const Byte* bytes, int width) const;
  uint64_t of_op(const LaneOp& op);

  const uint64_t seed_;
  uint64_t last_code_ = 0, last_hash_ = 0;  // of the lane before, most often another of the same vector
};

}  // namespace pooljit::jit::x86
