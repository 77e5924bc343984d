#include "jit/abstract_lanes.h"

#include <algorithm>
#include <string_view>

namespace pooljit::jit {
namespace {

constexpr Lanes low_single = 0b1, low_double = 0b11;  // 32 and 64 bits
constexpr int xmm_bits = 128;

bool is_register(const ZydisDecodedOperand& operand, RegisterKind kind) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && name_of(operand.reg.value).kind == kind;
}

// No mask, or one that lets everything through.
bool is_unmasked(const Instruction& i) {
  return i.info.avx.mask.reg == ZYDIS_REGISTER_NONE || i.info.avx.mask.reg == ZYDIS_REGISTER_K0;
}

// vmulss and the like: they compute the lowest lane, and take the others from their first source.
bool is_scalar(std::string_view mnemonic) {
  constexpr std::string_view stems[] = {"vadd", "vsub",   "vmul",      "vdiv", "vmin", "vmax",
                                        "vmov", "vround", "vrndscale", "vcvt", "vsqrt"};
  return (mnemonic.ends_with("ss") || mnemonic.ends_with("sd")) &&
         std::ranges::any_of(stems, [&](std::string_view stem) { return mnemonic.starts_with(stem); });
}

LaneResult scalar(const Instruction& i, std::string_view mnemonic, const Operands& operands,
                  const State& state) {
  const auto& ops = i.operands;
  const Lanes written = mnemonic.ends_with("sd") ? low_double : low_single;
  const Lanes read = mnemonic.find("sd") != std::string_view::npos ? low_double : low_single;
  const Lanes first = operands.data_lanes(ops[1], state), second = operands.data_lanes(ops[2], state);
  // One source: the first one's low lane goes nowhere.
  const bool converts = mnemonic.starts_with("vcvt") || mnemonic.starts_with("vmov") ||
                        mnemonic.starts_with("vsqrt") || mnemonic.starts_with("vround") ||
                        mnemonic.starts_with("vrndscale");
  const bool is_data = ((converts ? second : static_cast<Lanes>(first | second)) & read) != 0;
  const auto upper = static_cast<Lanes>(first & lanes_of(xmm_bits) & ~written);
  return {static_cast<Lanes>(upper | (is_data ? written : 0)), is_data};
}

}  // namespace

std::optional<LaneResult> result_lanes(const Instruction& i, const Operands& operands, const State& state) {
  const auto& ops = i.operands;
  if (i.info.operand_count_visible < 3 || !is_unmasked(i) || !is_register(ops[0], RegisterKind::vector) ||
      !is_register(ops[1], RegisterKind::vector))
    return std::nullopt;
  const std::string_view mnemonic = ZydisMnemonicGetString(i.info.mnemonic);
  if (is_scalar(mnemonic)) return scalar(i, mnemonic, operands, state);
  if (i.info.mnemonic == ZYDIS_MNEMONIC_VUNPCKLPD && name_of(ops[0].reg.value).bits == xmm_bits) {
    const auto low = static_cast<Lanes>(operands.data_lanes(ops[1], state) & low_double);
    const auto high = static_cast<Lanes>(operands.data_lanes(ops[2], state) & low_double);
    const auto lanes = static_cast<Lanes>(low | high << 2);
    return LaneResult{lanes, lanes != 0};
  }
  return std::nullopt;
}

}  // namespace pooljit::jit
