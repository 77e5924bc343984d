#include "jit/x86/words.h"

#include <span>

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

std::optional<WordComparison> comparison(ZydisMnemonic mnemonic, bool is_float, bool is_with_zero) {
  using ir::Predicate;
  struct Row {
    ZydisMnemonic jump, move, set;
    WordComparison found;
  };
#define ROW(cc, ...) {ZYDIS_MNEMONIC_J##cc, ZYDIS_MNEMONIC_CMOV##cc, ZYDIS_MNEMONIC_SET##cc, {__VA_ARGS__}}
  constexpr Row of_integers[] = {
      ROW(Z, Predicate::eq),          ROW(NZ, Predicate::eq, true, true),
      ROW(L, Predicate::lt),          ROW(NL, Predicate::lt, true, true),
      ROW(NLE, Predicate::gt),        ROW(LE, Predicate::gt, true, true),
      ROW(B, Predicate::lt, false),   ROW(NB, Predicate::lt, false, true),
      ROW(NBE, Predicate::gt, false), ROW(BE, Predicate::gt, false, true),
  };
  constexpr Row of_signs[] = {ROW(S, Predicate::lt), ROW(NS, Predicate::lt, true, true)};
  // Flags are those of unsigned integers, all set where one is a NaN.
  constexpr Row of_floats[] = {
      ROW(P, Predicate::un),   ROW(NP, Predicate::un, true, true), ROW(NB, Predicate::ge),
      ROW(NBE, Predicate::gt), ROW(B, Predicate::ge, true, true),  ROW(BE, Predicate::gt, true, true),
  };
#undef ROW
  const auto find = [&](std::span<const Row> rows) -> std::optional<WordComparison> {
    for (const Row& row : rows)
      if (mnemonic == row.jump || mnemonic == row.move || mnemonic == row.set) return row.found;
    return std::nullopt;
  };
  if (is_float) return find(of_floats);
  const auto found = find(of_integers);
  return found || !is_with_zero ? found : find(of_signs);
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
    case ZYDIS_MNEMONIC_SETZ:
      return flags.zero;
    case ZYDIS_MNEMONIC_JNZ:
    case ZYDIS_MNEMONIC_CMOVNZ:
    case ZYDIS_MNEMONIC_SETNZ:
      return not_(flags.zero);
    case ZYDIS_MNEMONIC_JS:
    case ZYDIS_MNEMONIC_CMOVS:
    case ZYDIS_MNEMONIC_SETS:
      return flags.sign;
    case ZYDIS_MNEMONIC_JNS:
    case ZYDIS_MNEMONIC_CMOVNS:
    case ZYDIS_MNEMONIC_SETNS:
      return not_(flags.sign);
    case ZYDIS_MNEMONIC_JB:
    case ZYDIS_MNEMONIC_CMOVB:
    case ZYDIS_MNEMONIC_SETB:
      return flags.carry;
    case ZYDIS_MNEMONIC_JNB:
    case ZYDIS_MNEMONIC_CMOVNB:
    case ZYDIS_MNEMONIC_SETNB:
      return not_(flags.carry);
    case ZYDIS_MNEMONIC_JBE:
    case ZYDIS_MNEMONIC_CMOVBE:
    case ZYDIS_MNEMONIC_SETBE:
      return either(flags.carry, flags.zero);
    case ZYDIS_MNEMONIC_JNBE:
    case ZYDIS_MNEMONIC_CMOVNBE:
    case ZYDIS_MNEMONIC_SETNBE:
      return not_(either(flags.carry, flags.zero));
    case ZYDIS_MNEMONIC_JL:
    case ZYDIS_MNEMONIC_CMOVL:
    case ZYDIS_MNEMONIC_SETL:
      return differ(flags.sign, flags.overflow);
    case ZYDIS_MNEMONIC_JNL:
    case ZYDIS_MNEMONIC_CMOVNL:
    case ZYDIS_MNEMONIC_SETNL:
      return not_(differ(flags.sign, flags.overflow));
    case ZYDIS_MNEMONIC_JLE:
    case ZYDIS_MNEMONIC_CMOVLE:
    case ZYDIS_MNEMONIC_SETLE:
      return either(flags.zero, differ(flags.sign, flags.overflow));
    case ZYDIS_MNEMONIC_JNLE:
    case ZYDIS_MNEMONIC_CMOVNLE:
    case ZYDIS_MNEMONIC_SETNLE:
      return not_(either(flags.zero, differ(flags.sign, flags.overflow)));
    default:
      return std::nullopt;
  }
}

}  // namespace pooljit::jit::x86
