#include "runtime/cpu_features.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "jit/fork_gate.h"

namespace pooljit::runtime {
namespace {

// Otherwise it would run wherever the one before it does.
static_assert(std::ranges::all_of(ir::isa_table,
                                  [](const ir::IsaInfo& isa) {
                                    return std::ranges::find(ir::cpu_features, isa.isa,
                                                             &ir::CpuFeature::since) !=
                                           std::end(ir::cpu_features);
                                  }),
              "each row of ir/isa.def promises a feature of its own in ir/cpu_features.def");

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

// What POOLJIT_MAX_ISA says.
struct Limit {
  std::string text = [] {
    const char* const value = std::getenv("POOLJIT_MAX_ISA");
    return std::string(value ? value : "");
  }();
  std::optional<ir::Isa> largest = ir::find_isa(text);

  bool is_known() const { return text.empty() || text == "none" || largest; }
  // It names an earlier row of ir/isa.def, or none at all.
  bool hides(ir::Isa isa) const { return !text.empty() && (!largest || isa > *largest); }
};

struct Features {
  Limit limit;
  bool can_run[std::size(ir::isa_table)] = {};
  Features() {
    const Processor here{cpuid, saved_registers()};
    for (const ir::IsaInfo& row : ir::isa_table)
      can_run[static_cast<int>(row.isa)] = has(here, row.isa) && !limit.hides(row.isa);
  }
};

const Features& features() {
  return jit::made_once([] { return Features(); });
}

}  // namespace

bool has(const Processor& processor, ir::Isa isa) {
  const uint32_t saved = ir::info(isa).saved_registers;
  return (processor.saved_registers & saved) == saved &&
         std::ranges::all_of(ir::cpu_features, [&](const ir::CpuFeature& feature) {
           return feature.since > isa || has(processor, feature);
         });
}

bool can_run(ir::Isa isa) { return features().can_run[static_cast<int>(isa)]; }

ir::Result<void> check_isa_limit() {
  const Limit& limit = features().limit;
  if (limit.is_known()) return {};
  std::string names = "none";
  for (const ir::IsaInfo& row : ir::isa_table) names += ", " + std::string(row.text);
  return ir::invalid("runtime.max_isa", "POOLJIT_MAX_ISA=\"" + limit.text + "\" is no instruction set",
                     "one of " + names + "; or leave it out");
}

std::optional<ir::Isa> best_isa() {
  std::optional<ir::Isa> best;
  for (const ir::IsaInfo& row : ir::isa_table)
    if (can_run(row.isa)) best = row.isa;
  return best;
}

}  // namespace pooljit::runtime
