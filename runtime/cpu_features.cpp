#include "runtime/cpu_features.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace pooljit::runtime {
namespace {

// XCR0, which programs may read where the system has said so (OSXSAVE).
uint32_t saved_registers() {
  constexpr unsigned osxsave = 1U << 27;
  if ((cpuid(1).c & osxsave) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool has(const Processor& processor, const ir::CpuFeature& feature) {
  // A leaf that the processor does not have reads as another one's words. Each x86-64 processor has the leaf
  // of long mode, 0x80000001.
  if (feature.leaf < 0x80000000 && processor.ask(0, 0).a < feature.leaf) return false;
  const CpuidWords words = processor.ask(feature.leaf, 0);
  const unsigned by_word[] = {words.a, words.b, words.c, words.d};
  return (by_word[static_cast<size_t>(feature.word)] >> feature.bit & 1) != 0;
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
    const Processor here{cpuid, saved_registers()};
    for (const ir::IsaInfo& row : ir::isa_table)
      can_run[static_cast<int>(row.isa)] = has(here, row.isa) && !is_hidden(row.isa);
  }
};

}  // namespace

bool has(const Processor& processor, ir::Isa isa) {
  const uint32_t saved = ir::info(isa).saved_registers;
  return (processor.saved_registers & saved) == saved &&
         std::ranges::all_of(ir::cpu_features, [&](const ir::CpuFeature& feature) {
           return feature.since > isa || has(processor, feature);
         });
}

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
