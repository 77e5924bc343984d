// A few planted faults of each kind, as a test; `build/tests/mutations` plants many and makes the table of
// docs/proof.md.
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "tests/proof/mutants.h"
#include "tests/proof/subjects.h"

namespace pooljit::tests {
namespace {

// Those of code for all sizes, which take a proof for each of some sizes, by one instruction set.
TEST(Mutations, KernelsAreProvedBeforeThat) {
  std::set<std::string_view> proved;
  for (uint64_t number = 0; number < subject_count(); ++number) {
    const bool is_new = proved.insert(layer_of_subject(number)).second;
    if (!is_new && is_of_all_sizes(number)) continue;
    EXPECT_EQ(fault_of_right_kernel(number), "");
  }
}

TEST(Mutations, TheProofCatchesMoreThanRandomTests) {
  int64_t planted = 0, by_proof = 0, by_random = 0;
  uint64_t seed = 0;
  for (const MutantKind& kind : mutant_kinds()) {
    int64_t of_kind = 0;
    for (uint64_t tries = subject_count(); tries > 0 && of_kind < 2; --tries) {
      const MutantResult result = try_mutant(kind, seed++);
      if (result.proof == Verdict::no_mutant) continue;
      ++of_kind;
      by_proof += result.proof == Verdict::caught || result.is_equivalent;
      by_random += result.random == Verdict::caught;
    }
    EXPECT_GT(of_kind, 0) << kind.name;
    planted += of_kind;
  }
  EXPECT_GE(by_proof * 10, planted * 9) << by_proof << " of " << planted;
  EXPECT_GT(by_proof, by_random);
}

}  // namespace
}  // namespace pooljit::tests
