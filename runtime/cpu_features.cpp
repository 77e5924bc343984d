#include "runtime/cpu_features.h"

#include <xbyak/xbyak_util.h>

#include <cstdlib>
#include <iterator>
#include <string_view>

namespace pooljit::runtime {
namespace {

using Xbyak::util::Cpu;

bool machine_has(const Cpu& cpu, ir::Isa isa) {
  // Xbyak reports a feature only if the system saves the registers that it needs.
  const bool avx2 = cpu.has(Cpu::tAVX2) && cpu.has(Cpu::tFMA) && cpu.has(Cpu::tBMI2) && cpu.has(Cpu::tF16C);
  switch (isa) {
    case ir::Isa::avx2:
      return avx2;
    case ir::Isa::avx512:
      return avx2 && cpu.has(Cpu::tAVX512F) && cpu.has(Cpu::tAVX512BW) && cpu.has(Cpu::tAVX512DQ) &&
             cpu.has(Cpu::tAVX512VL);
  }
  return false;
}

// True if POOLJIT_MAX_ISA hides the ISA: it names an earlier row of ir/isa.def, or none at all.
bool is_hidden(ir::Isa isa) {
  const char* limit = std::getenv("POOLJIT_MAX_ISA");
  if (!limit || !*limit) return false;
  if (std::string_view(limit) == "none") return true;
  const std::optional<ir::Isa> largest = ir::find_isa(limit);
  return largest && isa > *largest;
}

struct Features {
  bool can_run[std::size(ir::isa_table)] = {};
  Features() {
    const Cpu cpu;
    for (const ir::IsaInfo& row : ir::isa_table)
      can_run[static_cast<int>(row.isa)] = machine_has(cpu, row.isa) && !is_hidden(row.isa);
  }
};

}  // namespace

bool can_run(ir::Isa isa) {
  static const Features features;
  return features.can_run[static_cast<int>(isa)];
}

std::optional<ir::Isa> best_isa() {
  std::optional<ir::Isa> best;
  for (const ir::IsaInfo& row : ir::isa_table)
    if (can_run(row.isa)) best = row.isa;
  return best;
}

}  // namespace pooljit::runtime
