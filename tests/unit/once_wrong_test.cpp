// Layers that a kernel once did wrongly (tests/golden/once_wrong.txt), by all engines and schedules.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "lab/check.h"

namespace pooljit {
namespace {

TEST(OnceWrong, IsRightByEveryScheduleNow) {
  std::ifstream file(POOLJIT_GOLDEN_DIR "/once_wrong.txt");
  int layers = 0;
  for (std::string spec; std::getline(file, spec);) {
    if (spec.empty() || spec[0] == '#') continue;
    ++layers;
    const auto report = runtime::check(spec, {.schedules = runtime::CheckOptions::Schedules::all});
    ASSERT_TRUE(report) << spec << "\n" << ir::to_string(report.error());
    EXPECT_TRUE(report->ok()) << runtime::print(*report);
  }
  EXPECT_GT(layers, 0);
}

}  // namespace
}  // namespace pooljit
