#include "proof/bytes/words.h"

#include <algorithm>

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

// What the name of a jcc, cmovcc or setcc says.
enum class Asked : uint8_t { zero, sign, below, below_or_equal, less, less_or_equal, parity };
struct AskedFor {
  Asked asked;
  bool is_negated;
};

std::optional<AskedFor> asked_for(ZydisMnemonic mnemonic) {
#define ROW(cc, ...)                                                                         \
  {                                                                                          \
    {ZYDIS_MNEMONIC_J##cc, ZYDIS_MNEMONIC_CMOV##cc, ZYDIS_MNEMONIC_SET##cc}, { __VA_ARGS__ } \
  }
  static constexpr struct {
    ZydisMnemonic mnemonics[3];
    AskedFor found;
  } rows[] = {
      ROW(Z, Asked::zero, false),
      ROW(NZ, Asked::zero, true),
      ROW(S, Asked::sign, false),
      ROW(NS, Asked::sign, true),
      ROW(B, Asked::below, false),
      ROW(NB, Asked::below, true),
      ROW(BE, Asked::below_or_equal, false),
      ROW(NBE, Asked::below_or_equal, true),
      ROW(L, Asked::less, false),
      ROW(NL, Asked::less, true),
      ROW(LE, Asked::less_or_equal, false),
      ROW(NLE, Asked::less_or_equal, true),
      ROW(P, Asked::parity, false),
      ROW(NP, Asked::parity, true),
  };
#undef ROW
  for (const auto& row : rows)
    if (std::ranges::count(row.mnemonics, mnemonic) != 0) return row.found;
  return std::nullopt;
}

// Of flags that vucomiss and its like set: those of unsigned integers, all set where one is a NaN.
std::optional<WordComparison> of_floats(Asked asked) {
  switch (asked) {
    case Asked::parity:
      return WordComparison{ir::Predicate::un};
    case Asked::below:
      return WordComparison{ir::Predicate::ge, true, true};
    case Asked::below_or_equal:
      return WordComparison{ir::Predicate::gt, true, true};
    default:
      return std::nullopt;
  }
}

std::optional<WordComparison> of_integers(Asked asked, bool is_with_zero) {
  switch (asked) {
    case Asked::zero:
      return WordComparison{ir::Predicate::eq};
    case Asked::less:
      return WordComparison{ir::Predicate::lt};
    case Asked::less_or_equal:
      return WordComparison{ir::Predicate::gt, true, true};
    case Asked::below:
      return WordComparison{ir::Predicate::lt, false};
    case Asked::below_or_equal:
      return WordComparison{ir::Predicate::gt, false, true};
    case Asked::sign:
      return is_with_zero ? std::optional(WordComparison{ir::Predicate::lt}) : std::nullopt;
    case Asked::parity:
      break;
  }
  return std::nullopt;
}

std::optional<bool> holds(Asked asked, const Flags& flags) {
  const auto differ = [](std::optional<bool> a, std::optional<bool> b) {
    return a && b ? std::optional(*a != *b) : std::nullopt;
  };
  const auto either = [](std::optional<bool> a, std::optional<bool> b) {
    return a && b ? std::optional(*a || *b) : std::nullopt;
  };
  switch (asked) {
    case Asked::zero:
      return flags.zero;
    case Asked::sign:
      return flags.sign;
    case Asked::below:
      return flags.carry;
    case Asked::below_or_equal:
      return either(flags.carry, flags.zero);
    case Asked::less:
      return differ(flags.sign, flags.overflow);
    case Asked::less_or_equal:
      return either(flags.zero, differ(flags.sign, flags.overflow));
    case Asked::parity:
      break;
  }
  return std::nullopt;
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

std::optional<WordComparison> comparison(ZydisMnemonic mnemonic, bool is_float, bool is_with_zero) {
  const auto asked = asked_for(mnemonic);
  if (!asked) return std::nullopt;
  auto found = is_float ? of_floats(asked->asked) : of_integers(asked->asked, is_with_zero);
  if (found) found->is_negated = found->is_negated != asked->is_negated;
  return found;
}

const DataWordOp* data_word_op(ZydisMnemonic mnemonic) {
  using ir::Op;
  static constexpr DataWordOp rows[] = {
      {.mnemonic = ZYDIS_MNEMONIC_ADD, .op = Op::add},
      {.mnemonic = ZYDIS_MNEMONIC_SUB, .op = Op::sub},
      {.mnemonic = ZYDIS_MNEMONIC_INC, .op = Op::add, .is_one = true},
      {.mnemonic = ZYDIS_MNEMONIC_DEC, .op = Op::sub, .is_one = true},
      {.mnemonic = ZYDIS_MNEMONIC_NEG, .op = Op::sub, .is_negated = true},
      {.mnemonic = ZYDIS_MNEMONIC_SHL, .op = Op::shl, .is_signed = false},
      {.mnemonic = ZYDIS_MNEMONIC_SHR, .op = Op::shr, .is_signed = false},
      {.mnemonic = ZYDIS_MNEMONIC_SAR, .op = Op::shr},
      {.mnemonic = ZYDIS_MNEMONIC_AND, .bits = BitOp::and_},
      {.mnemonic = ZYDIS_MNEMONIC_OR, .bits = BitOp::or_},
      {.mnemonic = ZYDIS_MNEMONIC_XOR, .bits = BitOp::xor_},
      {.mnemonic = ZYDIS_MNEMONIC_NOT, .bits = BitOp::xor_, .is_not = true},
  };
  for (const DataWordOp& row : rows)
    if (row.mnemonic == mnemonic) return &row;
  return nullptr;
}

std::optional<bool> condition(ZydisMnemonic mnemonic, const Flags& flags) {
  const auto asked = asked_for(mnemonic);
  const std::optional<bool> is_so = asked ? holds(asked->asked, flags) : std::nullopt;
  return is_so ? std::optional(*is_so != asked->is_negated) : std::nullopt;
}

}  // namespace pooljit::jit::x86
