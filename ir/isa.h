// Instruction sets, from the table ir/isa.def, and what they promise of a processor, from
// ir/cpu_features.def.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace pooljit::ir {

enum class Isa : uint8_t {
#define ISA(name, ...) name,
#include "ir/isa.def"
#undef ISA
};

enum class MaskEncoding : uint8_t { vector, k_bits };
enum class Shuffles : uint8_t { halves, whole };  // what an element moves across in one instruction

struct IsaInfo {
  Isa isa;
  std::string_view text;
  int vector_bytes;
  int vector_registers;
  MaskEncoding mask;
  bool masks_narrow;
  Shuffles shuffles;
  bool has_long_ints;
  bool fixes_nans;
  std::string_view llvm_cpu;
  uint32_t saved_registers;  // bits of XCR0
};

inline constexpr IsaInfo isa_table[] = {
#define ISA(name, text, vector_bytes, vector_registers, mask, masks_narrow, shuffles, long_ints, fixes_nans, \
            cpu, saved)                                                                                      \
  {Isa::name,                                                                                                \
   text,                                                                                                     \
   vector_bytes,                                                                                             \
   vector_registers,                                                                                         \
   MaskEncoding::mask,                                                                                       \
   masks_narrow,                                                                                             \
   Shuffles::shuffles,                                                                                       \
   long_ints,                                                                                                \
   fixes_nans,                                                                                               \
   cpu,                                                                                                      \
   saved},
#include "ir/isa.def"
#undef ISA
};

constexpr const IsaInfo& info(Isa isa) { return isa_table[static_cast<int>(isa)]; }

// Needs nothing that the table's first row lacks.
inline constexpr Isa least_isa = isa_table[0].isa;

constexpr std::optional<Isa> find_isa(std::string_view text) {
  for (const IsaInfo& row : isa_table)
    if (row.text == text) return row.isa;
  return std::nullopt;
}

// All of them, the least first, "avx2, avx512" or "avx2 or avx512".
inline std::string isa_texts(std::string_view between, std::string_view before_last) {
  std::string all;
  const size_t last = std::size(isa_table) - 1;
  for (size_t i = 0; i <= last; ++i)
    all.append(i == 0 ? "" : i == last ? before_last : between).append(isa_table[i].text);
  return all;
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
