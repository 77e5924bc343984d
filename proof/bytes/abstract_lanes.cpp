#include "proof/bytes/abstract_lanes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace pooljit::jit {
namespace {

constexpr DataLanes low_single = 0b1, low_double = 0b11;  // 32 and 64 bits
constexpr int xmm_bits = 128;

bool is_vector(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
         name_of(operand.reg.value).kind == RegisterKind::vector;
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

// What an instruction makes its result of: its visible operands but the result, a mask and immediates. More
// than two: none of those that are known here.
struct Sources {
  std::array<const ZydisDecodedOperand*, 2> of{};
  size_t count = 0;
};

Sources sources_of(const Instruction& i) {
  Sources sources;
  for (const ZydisDecodedOperand& operand : i.all().subspan(1)) {
    if (operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
        operand.encoding == ZYDIS_OPERAND_ENCODING_MASK || operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
      continue;
    if (sources.count < sources.of.size()) sources.of[sources.count] = &operand;
    ++sources.count;
  }
  return sources;
}

// Each lane stays where it is; what was not moved is 0.
bool is_plain_move(std::string_view mnemonic) {
  constexpr std::string_view stems[] = {"vmovaps", "vmovapd", "vmovups", "vmovupd", "vmovdqa", "vmovdqu"};
  constexpr std::string_view of_low_lanes[] = {"vmovss", "vmovsd", "vmovd", "vmovq"};
  return std::ranges::any_of(stems, [&](std::string_view stem) { return mnemonic.starts_with(stem); }) ||
         std::ranges::find(of_low_lanes, mnemonic) != std::end(of_low_lanes);
}

// The lanes that vbroadcastss and the like copy to all of a result; none: it is no such instruction.
DataLanes copied_lanes(std::string_view mnemonic, int result_bits) {
  if (mnemonic == "vmovddup") return result_bits == xmm_bits ? low_double : DataLanes{0};
  if (!mnemonic.starts_with("vbroadcasts") && !mnemonic.starts_with("vpbroadcast")) return 0;
  if (mnemonic.ends_with("sd") || mnemonic.ends_with("tq")) return low_double;
  const bool is_narrow = mnemonic.ends_with("ss") || mnemonic.ends_with("td") || mnemonic.ends_with("tw") ||
                         mnemonic.ends_with("tb");
  return is_narrow ? low_single : DataLanes{0};
}

LaneResult scalar(const Sources& sources, std::string_view mnemonic, const AbstractOperands& operands,
                  const AbstractState& state) {
  const DataLanes written = mnemonic.ends_with("sd") ? low_double : low_single;
  const DataLanes read = mnemonic.find("sd") != std::string_view::npos ? low_double : low_single;
  const DataLanes first = operands.data_lanes(*sources.of[0], state),
                  second = operands.data_lanes(*sources.of[1], state);
  // One source: the first one's low lane goes nowhere.
  const bool converts = mnemonic.starts_with("vcvt") || mnemonic.starts_with("vmov") ||
                        mnemonic.starts_with("vsqrt") || mnemonic.starts_with("vround") ||
                        mnemonic.starts_with("vrndscale");
  const bool is_data = ((converts ? second : static_cast<DataLanes>(first | second)) & read) != 0;
  const auto upper = static_cast<DataLanes>(first & lanes_of(xmm_bits) & ~written);
  return {static_cast<DataLanes>(upper | (is_data ? written : 0)), is_data};
}

}  // namespace

std::optional<LaneResult> result_lanes(const Instruction& i, const AbstractOperands& operands,
                                       const AbstractState& state) {
  const ZydisDecodedOperand& result = i.operands[0];
  if (i.info.operand_count_visible < 2 || !is_unmasked(i) || !is_vector(result)) return std::nullopt;
  const Sources sources = sources_of(i);
  if (sources.count == 0 || sources.count > 2) return std::nullopt;
  const std::string_view mnemonic = ZydisMnemonicGetString(i.info.mnemonic);
  const DataLanes first = operands.data_lanes(*sources.of[0], state);
  if (sources.count == 1 && is_memory(*sources.of[0])) {
    if (!is_plain_move(mnemonic)) return std::nullopt;
    const auto lanes = static_cast<DataLanes>(first & lanes_of(sources.of[0]->size));
    return LaneResult{lanes, lanes != 0};
  }
  if (!is_vector(*sources.of[0])) return std::nullopt;
  if (sources.count == 1) {
    const DataLanes copied = copied_lanes(mnemonic, name_of(result.reg.value).bits);
    if (copied == 0) return std::nullopt;
    const bool is_data = (first & copied) != 0;
    return LaneResult{is_data ? lanes_of(name_of(result.reg.value).bits) : DataLanes{0}, is_data};
  }
  if (is_scalar(mnemonic)) return scalar(sources, mnemonic, operands, state);
  if (i.info.mnemonic == ZYDIS_MNEMONIC_VUNPCKLPD && name_of(result.reg.value).bits == xmm_bits) {
    const auto low = static_cast<DataLanes>(first & low_double);
    const auto high = static_cast<DataLanes>(operands.data_lanes(*sources.of[1], state) & low_double);
    const auto lanes = static_cast<DataLanes>(low | high << 2);
    return LaneResult{lanes, lanes != 0};
  }
  return std::nullopt;
}

std::optional<DataLanes> stored_lanes(const Instruction& i, const AbstractOperands& operands,
                                      const AbstractState& state) {
  if (i.info.operand_count_visible < 2 || !is_unmasked(i) || !is_memory(i.operands[0])) return std::nullopt;
  const Sources sources = sources_of(i);
  if (sources.count != 1 || !is_vector(*sources.of[0]) ||
      !is_plain_move(ZydisMnemonicGetString(i.info.mnemonic)))
    return std::nullopt;
  return static_cast<DataLanes>(operands.data_lanes(*sources.of[0], state) & lanes_of(i.operands[0].size));
}

}  // namespace pooljit::jit
