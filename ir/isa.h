// Instruction sets, from the table ir/isa.def, and what they promise of a processor, from
// ir/cpu_features.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pooljit::ir {

enum class Isa : uint8_t {
#define ISA(name, text, vector_bytes, vector_registers, mask, cpu, saved) name,
#include "ir/isa.def"
#undef ISA
};

enum class MaskEncoding : uint8_t { vector, k_bits };

struct IsaInfo {
  Isa isa;
  std::string_view text;
  int vector_bytes;
  int vector_registers;
  MaskEncoding mask;
  std::string_view llvm_cpu;
  uint32_t saved_registers;  // bits of XCR0
};

inline constexpr IsaInfo isa_table[] = {
#define ISA(name, text, vector_bytes, vector_registers, mask, cpu, saved) \
  {Isa::name, text, vector_bytes, vector_registers, MaskEncoding::mask, cpu, saved},
#include "ir/isa.def"
#undef ISA
};

constexpr const IsaInfo& info(Isa isa) { return isa_table[static_cast<int>(isa)]; }

constexpr std::optional<Isa> find_isa(std::string_view text) {
  for (const IsaInfo& row : isa_table)
    if (row.text == text) return row.isa;
  return std::nullopt;
}

// A bit that the cpuid instruction shows: of word a (eax) to d (edx) of a leaf, subleaf 0.
enum class CpuidWord : uint8_t { a, b, c, d };
struct CpuFeature {
  Isa since;  // the first instruction set that promises it
  std::string_view text;
  uint32_t leaf;
  CpuidWord word;
  int bit;
};

inline constexpr CpuFeature cpu_features[] = {
#define CPU_FEATURE(since, text, leaf, word, bit) {Isa::since, text, leaf, CpuidWord::word, bit},
#include "ir/cpu_features.def"
#undef CPU_FEATURE
};

}  // namespace pooljit::ir
