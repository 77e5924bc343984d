// Plants faults and prints the table of docs/proof.md: how many the proof catches, how many random testing of
// the same number of runs, and each that the proof lets pass. Usage: mutations [FAULTS PER KIND] [--all |
// --sizes]
// --all: lists those that are caught, too. --sizes: only in code for all sizes.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "tests/proof/mutants.h"
#include "tests/proof/subjects.h"

int main(int argc, char** argv) {
  using namespace pooljit::tests;
  const int64_t per_kind = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 15;
  const bool all = argc > 2 && std::strcmp(argv[2], "--all") == 0;
  const bool sizes = argc > 2 && std::strcmp(argv[2], "--sizes") == 0;
  fmt::print(
      "| fault | planted | equivalent | caught by proof | caught by random tests |\n|---|---|---|---|---|\n");
  int64_t planted_in_all = 0, equivalent_in_all = 0, proved_in_all = 0, random_in_all = 0;
  std::string passed;
  uint64_t seed = 0;  // goes on from kind to kind, so that all kernels have their turn
  for (const MutantKind& kind : mutant_kinds()) {
    int64_t planted = 0, equivalent = 0, by_proof = 0, by_random = 0;
    for (uint64_t tries = uint64_t(per_kind) * subject_count(); planted < per_kind && tries > 0; --tries) {
      const uint64_t number = seed++;
      if (sizes && !is_of_all_sizes(number)) continue;
      const MutantResult result = try_mutant(kind, number);
      if (result.proof == Verdict::no_mutant) continue;
      ++planted;
      equivalent += result.is_equivalent;
      by_proof += result.proof == Verdict::caught;
      by_random += result.random == Verdict::caught;
      if (all || result.proof == Verdict::passes)
        passed += fmt::format("- {}, {}: `{}`{}{}\n", result.kind, result.spec, result.change,
                              result.is_equivalent               ? " (equivalent: right in every cell)"
                              : result.random == Verdict::caught ? " (random tests catch it)"
                                                                 : "",
                              result.why.empty() ? "" : ": " + result.why);
    }
    fmt::print("| {} | {} | {} | {} | {} |\n", kind.name, planted, equivalent, by_proof, by_random);
    std::fflush(stdout);
    planted_in_all += planted, equivalent_in_all += equivalent, proved_in_all += by_proof,
        random_in_all += by_random;
  }
  fmt::print("| **all** | {} | {} | {} | {} |\n\nNot caught by the proof:\n\n{}", planted_in_all,
             equivalent_in_all, proved_in_all, random_in_all, passed);
}
