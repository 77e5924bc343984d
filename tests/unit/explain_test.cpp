// Why a layer gets its schedule: C++ and C say the same, and what they say fits what compiling does.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/schedule.h"
#include "pooljit.h"
#include "pooljit.hpp"

namespace pooljit {
namespace {

constexpr const char* layers[] = {
    "max_pool2d(float32[1,64,56,56], kernel_size=3, stride=2, padding=1)",
    "avg_pool2d(uint8[1,24,56,56]:nhwc, kernel_size=3)",
    "adaptive_avg_pool2d(bfloat16[1,512,7,7], output_size=1)",
    "max_pool1d(float32[1,8,4096], kernel_size=31, stride=1, return_indices=True)",
    "sum_pool3d(int64[1,9,8,16,7], kernel_size=[5,3,3], ceil_mode=True)",
};

TEST(Explanation, FitsWhatCompilingTakes) {
  for (const char* layer : layers)
    for (const ir::Isa isa : {ir::Isa::avx2, ir::Isa::avx512}) {
      const Options options{.backend = "interpreter", .isa = std::string(info(isa).text)};
      const Explanation why = explain(layer, options);
      const Kernel kernel = compile(layer, options);
      EXPECT_EQ(why.schedule, kernel.schedule()) << layer;
      EXPECT_EQ(why.isa, options.isa);
      EXPECT_FALSE(why.decided_by.empty());
      EXPECT_GT(why.near_bytes, 0);
      EXPECT_EQ(std::ranges::count(why.families, why.schedule, &Explanation::FamilyVerdict::schedule), 1)
          << why.text();
      for (const Explanation::FamilyVerdict& one : why.families) {
        const bool is_offered = one.verdict == "offered";
        EXPECT_EQ(one.reason.empty(), is_offered) << layer << " " << one.family;
        EXPECT_EQ(one.schedules > 0 && one.filled_lanes > 0, is_offered) << layer << " " << one.family;
        EXPECT_EQ(one.predicted_seconds > 0, !one.price.empty()) << layer << " " << one.family;
        EXPECT_NE(why.text().find(one.family + " "), std::string::npos) << layer;
      }
    }
}

// Each family of ir/schedules.def is there once, in its order.
TEST(Explanation, NamesEveryFamily) {
  const Explanation why = explain(layers[0], {.backend = "interpreter"});
  std::vector<std::string> families;
  for (const Explanation::FamilyVerdict& one : why.families) families.push_back(one.family);
  const std::vector<std::string> all = {
#define FAMILY(name, text, note) text,
#include "ir/schedules.def"
#undef FAMILY
  };
  EXPECT_EQ(families, all);
}

// Several pools: how they go together, then each as if it were alone.
TEST(Explanation, OfSeveralPools) {
  const char* const text = "pools(float32[1,8,64,64], avg_pool2d(kernel_size=2), max_pool2d(kernel_size=2))";
  const Options options{.backend = "interpreter", .isa = "avx2"};
  const Explanation why = explain(text, options);
  EXPECT_EQ(why.schedule, compile(text, options).schedule());
  EXPECT_TRUE(why.families.empty());
  ASSERT_EQ(why.members.size(), 2U);
  for (const Explanation& member : why.members) {
    EXPECT_EQ(member.text(), explain(member.spec, options).text());
    EXPECT_NE(why.text().find(member.spec + "\n" + member.text()), std::string::npos) << why.text();
  }
  EXPECT_EQ(why.members[1].spec, "max_pool2d(float32[1,8,64,64], kernel_size=2)");
}

TEST(Explanation, IsTheSameTextInC) {
  pooljit_spec* spec = nullptr;
  ASSERT_EQ(pooljit_spec_read(layers[0], nullptr, &spec), POOLJIT_OK) << pooljit_last_error();
  char text[8192];
  ASSERT_EQ(pooljit_explain(spec, text, sizeof text), POOLJIT_OK) << pooljit_last_error();
  EXPECT_EQ(text, explain(layers[0]).text());
  char cut[8];
  EXPECT_EQ(pooljit_explain(spec, cut, sizeof cut), POOLJIT_OK);
  EXPECT_EQ(std::string(cut), std::string(text, 7));
  EXPECT_EQ(pooljit_explain(spec, nullptr, 0), POOLJIT_OK);
  EXPECT_EQ(pooljit_explain(nullptr, text, sizeof text), POOLJIT_INVALID);
  pooljit_spec_release(spec);
}

TEST(Explanation, IsRefusedWhereThereAreNoSchedules) {
  try {
    explain("max_unpool2d(float32[1,1,2,2], kernel_size=2)");
    FAIL() << "an unpool was explained";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "schedule.unpool");
  }
}

}  // namespace
}  // namespace pooljit
