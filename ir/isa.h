// Instruction sets, from the table ir/isa.def. avx2 = AVX2 + FMA + BMI2 + F16C; avx512 = F + BW + DQ + VL
// (Skylake-SP and up).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pooljit::ir {

enum class Isa : uint8_t {
#define ISA(name, text, vector_bytes, vector_registers, mask, cpu) name,
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
};

inline constexpr IsaInfo isa_table[] = {
#define ISA(name, text, vector_bytes, vector_registers, mask, cpu) \
  {Isa::name, text, vector_bytes, vector_registers, MaskEncoding::mask, cpu},
#include "ir/isa.def"
#undef ISA
};

constexpr const IsaInfo& info(Isa isa) { return isa_table[static_cast<int>(isa)]; }

constexpr std::optional<Isa> find_isa(std::string_view text) {
  for (const IsaInfo& row : isa_table)
    if (row.text == text) return row.isa;
  return std::nullopt;
}

}  // namespace pooljit::ir
