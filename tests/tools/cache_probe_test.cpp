// What the caches are, found in the time of loads as real machines show them. No time of this machine
// decides.
#include "tools/bench/cache_probe.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace pooljit::tools {
namespace {

std::vector<LoadTime> loads_of(std::initializer_list<double> nanoseconds) {
  std::vector<LoadTime> loads;
  int64_t bytes = 8 << 10;
  for (const double time : nanoseconds) {
    loads.push_back({bytes, time});
    bytes = loads.size() % 2 == 1 ? bytes / 2 * 3 : bytes / 3 * 4;
  }
  return loads;
}

TEST(CacheProbe, CachesShowInTheTimeOfLoads) {
  struct Case {
    const char* of;
    std::vector<LoadTime> loads;  // 8, 12, 16, 24 KiB ... 4 MiB
    int64_t kib[2];
  };
  const Case cases[] = {
      {"Zen 3, idle",
       loads_of({1.25, 1.25, 1.24, 1.25, 1.31, 2.47, 2.49, 2.49, 2.51, 2.49, 2.96, 3.41, 5.01, 6.73, 7.96,
                 8.72, 8.72, 9.32, 8.17}),
       {32, 384}},
      {"Zen 3, its other thread at work",
       loads_of({1.35, 1.36, 1.38, 1.46, 2.13, 2.61, 2.65, 2.68, 2.68, 2.71, 3.07, 4.83, 5.09, 7.85, 7.25,
                 9.25, 9.25, 9.36, 8.97}),
       {24, 256}},
      {"one level that never ends",
       loads_of({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
       {0, 0}},
      {"two levels", loads_of({1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}), {48, 0}},
      {"three sharp levels", loads_of({1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 9, 9, 9, 9}), {48, 1024}},
      {"nothing measured", {}, {0, 0}},
  };
  for (const Case& c : cases) {
    const auto found = caches_of_loads(c.loads).bytes;
    EXPECT_EQ(found[0] >> 10, c.kib[0]) << c.of;
    EXPECT_EQ(found[1] >> 10, c.kib[1]) << c.of;
    EXPECT_EQ(found[2], 0) << c.of;
  }
  const auto measured = measure_loads();
  ASSERT_EQ(measured.size(), 19U);
  EXPECT_EQ(measured.front().bytes, 8 << 10);
  EXPECT_EQ(measured.back().bytes, 4 << 20);
  for (size_t i = 1; i < measured.size(); ++i) EXPECT_LT(measured[i - 1].bytes, measured[i].bytes);
  for (const auto& load : measured) EXPECT_GT(load.nanoseconds, 0);
}

}  // namespace
}  // namespace pooljit::tools
