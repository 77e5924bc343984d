// Why a layer gets its schedule: what is said fits what compiling does.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/schedule.h"
#include "lab/schedules/explain.h"
#include "pooljit.hpp"
#include "runtime/compile.h"
#include "tests/all_isas.h"

namespace pooljit::runtime {
namespace {

Explanation explained(const char* spec, const Options& options = {}) {
  return explain(*frontend::parse_spec(spec), options).value();
}

constexpr const char* explained_layers[] = {
    "max_pool2d(float32[1,64,56,56], kernel_size=3, stride=2, padding=1)",
    "avg_pool2d(uint8[1,24,56,56]:nhwc, kernel_size=3)",
    "adaptive_avg_pool2d(bfloat16[1,512,7,7], output_size=1)",
    "max_pool1d(float32[1,8,4096], kernel_size=31, stride=1, return_indices=True)",
    "sum_pool3d(int64[1,9,8,16,7], kernel_size=[5,3,3], ceil_mode=True)",
};

TEST(Explanation, FitsWhatCompilingTakes) {
  for (const char* layer : explained_layers)
    for (const ir::Isa isa : ir::all_isas) {
      const Options options{.backend = "interpreter", .isa = std::string(info(isa).text)};
      const Explanation why = explained(layer, options);
      const KernelPtr kernel = compile(layer, options).value();
      EXPECT_EQ(why.schedule, kernel->code().info.schedule) << layer;
      EXPECT_EQ(why.isa, options.isa);
      EXPECT_FALSE(why.decided_by.empty());
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
  const Explanation why = explained(explained_layers[0], {.backend = "interpreter"});
  std::vector<std::string> families;
  for (const Explanation::FamilyVerdict& one : why.families) families.push_back(one.family);
  const std::vector<std::string> all = {
#define FAMILY(name, text, ...) text,
#include "ir/schedules.def"
#undef FAMILY
  };
  EXPECT_EQ(families, all);
}

// Rows of ir/schedules/choose/rules.def that applied, with what was measured.
TEST(Explanation, NamesRules) {
  const Explanation why = explained("max_pool2d(uint8[1,48,56,56]:nhwc, kernel_size=3, stride=2)",
                                    {.backend = "interpreter", .isa = "avx512"});
  size_t found = 0;
  for (const Explanation::FamilyVerdict& one : why.families)
    for (const auto& rule : one.rules) {
      EXPECT_FALSE(rule.about.empty()) << rule.name;
      found += one.family == "channels_last" && rule.name == "bytes_of_half_vectors";
    }
  EXPECT_EQ(found, 1U) << why.text();
  EXPECT_NE(why.text().find("rule bytes_of_half_vectors: says 2: lanes are divided by so much - "),
            std::string::npos);
}

// Several pools: how they go together, then each as if it were alone.
TEST(Explanation, SaysThatCostsDecided) {
  const Explanation why =
      explained("max_pool2d(float32[1,8,64,64], kernel_size=9, padding=4)", {.isa = "avx2"});
  EXPECT_TRUE(why.schedule.starts_with("whole_planes(lanes=8")) << why.text();
  EXPECT_TRUE(why.decided_by.starts_with("what the families offer first has one lane: ")) << why.text();
}

TEST(Explanation, OfSeveralPools) {
  const char* const text = "pools(float32[1,8,64,64], avg_pool2d(kernel_size=2), max_pool2d(kernel_size=2))";
  const Options options{.backend = "interpreter", .isa = "avx2"};
  const Explanation why = explained(text, options);
  EXPECT_EQ(why.schedule, compile(text, options).value()->code().info.schedule);
  EXPECT_TRUE(why.families.empty());
  ASSERT_EQ(why.members.size(), 2U);
  for (const Explanation& member : why.members) {
    EXPECT_EQ(member.text(), explained(member.spec.c_str(), options).text());
    EXPECT_NE(why.text().find(member.spec + "\n" + member.text()), std::string::npos) << why.text();
  }
  EXPECT_EQ(why.members[1].spec, "max_pool2d(float32[1,8,64,64], kernel_size=2)");
}

TEST(Explanation, IsTheSameTextForUsers) {
  EXPECT_EQ(pooljit::explain(Spec(explained_layers[0])), explained(explained_layers[0]).text());
  char* text = nullptr;
  EXPECT_EQ(pooljit_explain(nullptr, &text), POOLJIT_INVALID);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(pooljit_explain(Spec(explained_layers[0]).c_handle(), nullptr), POOLJIT_INVALID);
}

TEST(Explanation, IsRefusedWhereThereAreNoSchedules) {
  const auto refused =
      explain(*frontend::parse_spec("max_unpool2d(float32[1,1,2,2], kernel_size=2)"), Options{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "schedule.unpool");
}

}  // namespace
}  // namespace pooljit::runtime
