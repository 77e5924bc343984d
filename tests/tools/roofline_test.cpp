// The footprints of the roofline follow from what is known of the last cache, whatever machine this is.
#include "tools/bench/roofline.h"

#include <gtest/gtest.h>

namespace pooljit::tools {
namespace {

constexpr int64_t kib = 1 << 10, mib = 1 << 20;

TEST(Roofline, ReachesFromTheFirstCacheToMemory) {
  const struct {
    int64_t last_cache, least, most;
  } cases[] = {
      {0, 8 * kib, 128 * mib},  // a virtual machine that hides its caches
      {1, 8 * kib, 32 * kib},          {1 * mib, 8 * kib, 4 * mib},
      {260 * mib, 8 * kib, 512 * mib}, {int64_t{1} << 40, 8 * kib, 512 * mib},
  };
  for (const auto& test : cases) {
    const std::vector<int64_t> sizes = roofline_sizes(test.last_cache);
    ASSERT_GE(sizes.size(), 3U) << test.last_cache;
    EXPECT_EQ(sizes.front(), test.least) << test.last_cache;
    EXPECT_EQ(sizes.back(), test.most) << test.last_cache;
    for (size_t i = 1; i < sizes.size(); ++i) EXPECT_EQ(sizes[i], 2 * sizes[i - 1]);
  }
}

}  // namespace
}  // namespace pooljit::tools
