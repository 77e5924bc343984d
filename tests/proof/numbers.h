// The domain of numbers: a byte is a byte.
#pragma once

#include <cstring>

#include "proof/bytes/executor.h"

namespace pooljit::jit::x86 {

struct NumberDomain {
  using Byte = uint8_t;

  static Byte constant(uint8_t value) { return value; }
  static uint8_t value(const Byte& byte) { return byte; }
  static std::optional<uint8_t> known(const Byte& byte) { return byte; }
  // Tests write what they read.
  static Byte unwritten(size_t /*number*/) { return 0; }
  static bool is_unwritten(const Byte& /*byte*/) { return false; }

  static void lane(const LaneOp& op, const std::array<const Byte*, 3>& args, Byte* to) {
    std::array<uint64_t, 3> bits = {};
    for (size_t i = 0; i < args.size(); ++i)
      std::memcpy(&bits[i], args[i], static_cast<size_t>(ir::bytes(op.from)));
    const uint64_t result = compute(op, bits);
    std::memcpy(to, &result, static_cast<size_t>(ir::bytes(op.type)));
  }

  static void bits(BitOp op, const Byte* a, const Byte* b, Byte* to, int count) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<Byte>(combine(op, a[i], b[i]));
  }

  static void choose(const Byte* mask, const Byte* a, const Byte* b, Byte* to, int count, int width) {
    for (int at = 0; at < count; ++at)
      to[at] = (mask[at / width * width + width - 1] & 0x80) != 0 ? a[at] : b[at];
  }
};

}  // namespace pooljit::jit::x86
