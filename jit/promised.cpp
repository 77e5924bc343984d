#include "jit/promised.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace pooljit::jit {
namespace {

// Every x86-64 processor has them, or takes them for no operation: endbr64, prefetches.
constexpr std::array<std::string_view, 16> baseline = {
    "I86",     "I186", "I286REAL", "I386", "I486", "I486REAL", "PENTIUMREAL",  "PPRO",
    "FAT_NOP", "CMOV", "LONGMODE", "CET",  "SSE",  "SSE2",     "SSE_PREFETCH", "PREFETCH_NOP"};

// The widths that Zydis tells apart. Of EVEX's, vectors of 16 and 32 bytes are a feature of their own.
struct Width {
  std::string_view suffix;
  bool needs_vl;
};
constexpr Width widths[] = {{"_128", true},   {"_256", true},  {"_512", false},
                            {"_128N", false}, {"_KOP", false}, {"_SCALAR", false}};

bool is_promised(std::string_view feature, ir::Isa isa) {
  return std::ranges::any_of(
      ir::cpu_features, [&](const ir::CpuFeature& row) { return row.text == feature && row.since <= isa; });
}

}  // namespace

std::string missing_feature(const ZydisDecodedInstruction& instruction, ir::Isa isa) {
  std::string_view set = ZydisISASetGetString(instruction.meta.isa_set);
  if (std::ranges::find(baseline, set) != baseline.end()) return "";
  bool needs_vl = false;
  for (const Width& width : widths) {
    if (!set.ends_with(width.suffix)) continue;
    set.remove_suffix(width.suffix.size());
    needs_vl = width.needs_vl;
    break;
  }
  if (!is_promised(set, isa)) return std::string(set);
  return needs_vl && !is_promised("AVX512VL", isa) ? "AVX512VL" : "";
}

}  // namespace pooljit::jit
