// What the C interface tells of a kernel beside its tensors.
#include <gtest/gtest.h>

#include <string>

#include "pooljit.h"
#include "tests/c_words.h"

namespace {

TEST(CApiInfo, TellsTheLabelAndHowManyPartsAreWorthHaving) {
  pooljit_kernel* kernel = nullptr;
  ASSERT_EQ(pooljit::tests::compile_words("max_pool2d(float32[N,64,32,32], kernel_size=2)", "label=net/pool1",
                                          &kernel),
            POOLJIT_OK)
      << pooljit_last_error();
  pooljit_info info = {};
  info.size = sizeof info;
  ASSERT_EQ(pooljit_kernel_info(kernel, &info), POOLJIT_OK);
  EXPECT_STREQ(info.label, "net/pool1");
  EXPECT_STREQ(info.fallback, "");
  int parts = 0;
  EXPECT_EQ(pooljit_useful_parts(kernel, 4, &parts), POOLJIT_OK);
  EXPECT_EQ(parts, 20);
  EXPECT_EQ(pooljit_useful_parts(kernel, -1, &parts), POOLJIT_INVALID);
  EXPECT_EQ(std::string(pooljit_last_error()).rfind("run.batch: ", 0), 0U);
  EXPECT_EQ(pooljit_useful_parts(kernel, 4, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(pooljit_useful_parts(nullptr, 4, &parts), POOLJIT_INVALID);
  EXPECT_EQ(parts, 20);
  pooljit_release(kernel);
}

}  // namespace
