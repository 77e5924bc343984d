// Sequence: lists that begin alike share memory, and none sees what another one was followed by.
#include "proof/program/sequence.h"

#include <gtest/gtest.h>

namespace pooljit::ir {
namespace {

using Numbers = Sequence<int64_t>;

TEST(Sequence, SharesMemoryWithItsBeginning) {
  const Numbers one = {1}, two = one.followed_by({2});
  EXPECT_EQ(two.begin(), one.begin());
  EXPECT_EQ(one, (Numbers{1}));
  EXPECT_EQ(two, (Numbers{1, 2}));
}

TEST(Sequence, IsCopiedWhereItWasFollowedBefore) {
  const Numbers one = {1}, two = one.followed_by({2}), other = one.followed_by({3});
  EXPECT_EQ(two, (Numbers{1, 2}));
  EXPECT_EQ(other, (Numbers{1, 3}));
}

TEST(Sequence, IsFollowedByItself) {
  Numbers twice = {1, 2, 3};
  for (int i = 0; i < 4; ++i) twice = twice.followed_by(twice);
  EXPECT_EQ(twice.size(), 48U);
  EXPECT_EQ(twice[47], 3);
}

TEST(Sequence, OfNothing) {
  const Numbers none, one = {1};
  EXPECT_TRUE(none.followed_by(none).empty());
  EXPECT_EQ(none.followed_by(one), one);
  EXPECT_EQ(one.followed_by(none), one);
}

}  // namespace
}  // namespace pooljit::ir
