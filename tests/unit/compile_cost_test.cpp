// Whatever a spec says, compiling it takes no more than docs/safety.md promises.
#include "tests/compile_cost.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace pooljit::tests {
namespace {

TEST(CompileCost, DoesNotGrowWithWhatASpecSays) {
  ASSERT_EQ(unverified, 0);
  std::ifstream file(POOLJIT_GOLDEN_DIR "/costly_specs.txt");
  int specs = 0;
  for (std::string spec; std::getline(file, spec);) {
    if (spec.starts_with('#')) continue;
    ++specs;
    std::string why;
    const CompileCost cost = compile_cost(spec, {.threads = 1}, &why);
    EXPECT_LE(cost.held, most_of_compile.held) << spec;
    EXPECT_LE(cost.allocated, most_of_compile.allocated) << spec;
    EXPECT_LE(cost.code, most_of_compile.code) << spec;
    EXPECT_TRUE(why.empty() || why == "spec.overflow" || why.starts_with("spec.unsupported_"))
        << why << ": " << spec;
  }
  EXPECT_GT(specs, 50);
}

}  // namespace
}  // namespace pooljit::tests
