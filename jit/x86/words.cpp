#include "jit/x86/words.h"

namespace pooljit::jit::x86 {
namespace {

uint64_t low(uint64_t value, int bits) { return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1); }
bool top(uint64_t value, int bits) { return (value >> (bits - 1) & 1) != 0; }
int64_t with_sign(uint64_t value, int bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

Flags flags_of(uint64_t result, int bits) {
  return {.zero = low(result, bits) == 0, .sign = top(result, bits), .carry = false, .overflow = false};
}

WordResult sum(uint64_t a, uint64_t b, int bits, bool carry = false) {
  const uint64_t result = low(a + b + (carry ? 1 : 0), bits);
  Flags flags = flags_of(result, bits);
  flags.carry = result < low(a, bits) || (carry && result == low(a, bits));
  flags.overflow = top((a ^ result) & (b ^ result), bits);
  return {result, flags};
}

WordResult difference(uint64_t a, uint64_t b, int bits, bool carry = false) {
  const uint64_t result = low(a - b - (carry ? 1 : 0), bits);
  Flags flags = flags_of(result, bits);
  flags.carry = low(a, bits) < low(b, bits) || (carry && low(a, bits) == low(b, bits));
  flags.overflow = top((a ^ b) & (a ^ result), bits);
  return {result, flags};
}

// The flags say whether it fits, which nobody asks.
WordResult product(uint64_t a, uint64_t b, int bits) { return {low(a * b, bits), {}}; }

WordResult shifted(ZydisMnemonic mnemonic, uint64_t a, uint64_t count, int bits) {
  count &= bits == 64 ? 63 : 31;
  const uint64_t result = mnemonic == ZYDIS_MNEMONIC_SHL ? a << count
                          : mnemonic == ZYDIS_MNEMONIC_SHR
                              ? low(a, bits) >> count
                              : static_cast<uint64_t>(with_sign(a, bits) >> count);
  Flags flags = flags_of(result, bits);
  flags.carry = flags.overflow = {};
  return {low(result, bits), count == 0 ? Flags{} : flags};
}

WordResult logical(uint64_t result, int bits) { return {low(result, bits), flags_of(result, bits)}; }

WordResult flags_only(WordResult result) {
  result.value = {};
  return result;
}

// inc and dec leave the carry as it was.
WordResult with_carry(WordResult result, std::optional<bool> carry) {
  result.flags.carry = carry;
  return result;
}

}  // namespace

std::optional<WordResult> compute_word(ZydisMnemonic mnemonic, int bits, uint64_t to, uint64_t from,
                                       std::optional<uint64_t> third, const Flags& before) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
      return sum(to, from, bits);
    case ZYDIS_MNEMONIC_SUB:
      return difference(to, from, bits);
    case ZYDIS_MNEMONIC_ADC:
      return before.carry ? std::optional(sum(to, from, bits, *before.carry)) : std::nullopt;
    case ZYDIS_MNEMONIC_SBB:
      return before.carry ? std::optional(difference(to, from, bits, *before.carry)) : std::nullopt;
    case ZYDIS_MNEMONIC_CMP:
      return flags_only(difference(to, from, bits));
    case ZYDIS_MNEMONIC_TEST:
      return flags_only(logical(to & from, bits));
    case ZYDIS_MNEMONIC_AND:
      return logical(to & from, bits);
    case ZYDIS_MNEMONIC_ANDN:
      return third ? std::optional(logical(~from & *third, bits)) : std::nullopt;
    case ZYDIS_MNEMONIC_OR:
      return logical(to | from, bits);
    case ZYDIS_MNEMONIC_XOR:
      return logical(to ^ from, bits);
    case ZYDIS_MNEMONIC_INC:
      return with_carry(sum(to, 1, bits), before.carry);
    case ZYDIS_MNEMONIC_DEC:
      return with_carry(difference(to, 1, bits), before.carry);
    case ZYDIS_MNEMONIC_NEG:
      return difference(0, to, bits);
    case ZYDIS_MNEMONIC_NOT:
      return WordResult{low(~to, bits), {}, false};
    case ZYDIS_MNEMONIC_IMUL:
      return third ? product(from, *third, bits) : product(to, from, bits);
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
      return shifted(mnemonic, to, from, bits);
    default:
      return std::nullopt;
  }
}

std::optional<bool> condition(ZydisMnemonic mnemonic, const Flags& flags) {
  const auto not_ = [](std::optional<bool> value) { return value ? std::optional(!*value) : std::nullopt; };
  const auto differ = [](std::optional<bool> a, std::optional<bool> b) {
    return a && b ? std::optional(*a != *b) : std::nullopt;
  };
  const auto either = [](std::optional<bool> a, std::optional<bool> b) {
    return a && b ? std::optional(*a || *b) : std::nullopt;
  };
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_JZ:
    case ZYDIS_MNEMONIC_CMOVZ:
      return flags.zero;
    case ZYDIS_MNEMONIC_JNZ:
    case ZYDIS_MNEMONIC_CMOVNZ:
      return not_(flags.zero);
    case ZYDIS_MNEMONIC_JS:
    case ZYDIS_MNEMONIC_CMOVS:
      return flags.sign;
    case ZYDIS_MNEMONIC_JNS:
    case ZYDIS_MNEMONIC_CMOVNS:
      return not_(flags.sign);
    case ZYDIS_MNEMONIC_JB:
    case ZYDIS_MNEMONIC_CMOVB:
      return flags.carry;
    case ZYDIS_MNEMONIC_JNB:
    case ZYDIS_MNEMONIC_CMOVNB:
      return not_(flags.carry);
    case ZYDIS_MNEMONIC_JBE:
    case ZYDIS_MNEMONIC_CMOVBE:
      return either(flags.carry, flags.zero);
    case ZYDIS_MNEMONIC_JNBE:
    case ZYDIS_MNEMONIC_CMOVNBE:
      return not_(either(flags.carry, flags.zero));
    case ZYDIS_MNEMONIC_JL:
    case ZYDIS_MNEMONIC_CMOVL:
      return differ(flags.sign, flags.overflow);
    case ZYDIS_MNEMONIC_JNL:
    case ZYDIS_MNEMONIC_CMOVNL:
      return not_(differ(flags.sign, flags.overflow));
    case ZYDIS_MNEMONIC_JLE:
    case ZYDIS_MNEMONIC_CMOVLE:
      return either(flags.zero, differ(flags.sign, flags.overflow));
    case ZYDIS_MNEMONIC_JNLE:
    case ZYDIS_MNEMONIC_CMOVNLE:
      return not_(either(flags.zero, differ(flags.sign, flags.overflow)));
    default:
      return std::nullopt;
  }
}

}  // namespace pooljit::jit::x86
