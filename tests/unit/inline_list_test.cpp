// InlineList: the same values whether they lie inside the list or outside it.
#include "ir/inline_list.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace pooljit::ir {
namespace {

using List = InlineList<int, 4>;

std::vector<int> count_to(int n) {
  std::vector<int> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void expect_values(const List& list, const std::vector<int>& expected) {
  EXPECT_EQ(std::vector<int>(list.begin(), list.end()), expected);
  EXPECT_EQ(list.size(), expected.size());
  EXPECT_EQ(list.empty(), expected.empty());
}

class OfSize : public testing::TestWithParam<int> {};

TEST_P(OfSize, IsBuiltOneByOneOrAtOnce) {
  const std::vector<int> numbers = count_to(GetParam());
  List one_by_one;
  for (const int number : numbers) one_by_one.push_back(number);
  expect_values(one_by_one, numbers);
  EXPECT_EQ(one_by_one, List(numbers.begin(), numbers.end()));
  expect_values(List(numbers.size(), 7), std::vector<int>(numbers.size(), 7));
}

TEST_P(OfSize, CopiesAndMoves) {
  const std::vector<int> numbers = count_to(GetParam());
  const List list(numbers.begin(), numbers.end());
  for (const int other_size : {0, 3, 9}) {
    const std::vector<int> others = count_to(other_size);
    List copied(others.begin(), others.end()), moved = copied;
    copied = list;
    expect_values(copied, numbers);
    moved = std::move(copied);
    expect_values(moved, numbers);
    const List made = std::move(moved);
    expect_values(made, numbers);
    expect_values(list, numbers);
  }
}

TEST_P(OfSize, InsertsAnywhere) {
  const std::vector<int> numbers = count_to(GetParam());
  for (size_t where = 0; where <= numbers.size(); ++where) {
    List list(numbers.begin(), numbers.end());
    std::vector<int> expected = numbers;
    const std::vector<int> more = {-1, -2, -3};
    list.insert(list.begin() + where, more.begin(), more.end());
    expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(where), more.begin(), more.end());
    expect_values(list, expected);
  }
}

TEST_P(OfSize, GrowsAndShrinks) {
  List list;
  std::vector<int> expected;
  for (const int size : {GetParam(), 2, 12, 0, 5}) {
    list.resize(static_cast<size_t>(size), size);
    expected.resize(static_cast<size_t>(size), size);
    expect_values(list, expected);
  }
  list.pop_back();
  EXPECT_EQ(list.size(), 4U);
  for (int i = 0; i < 10; ++i) list.push_back(list.front());  // one of its own
  expect_values(list, std::vector<int>(14, 5));
  list.clear();
  EXPECT_TRUE(list.empty());
}

INSTANTIATE_TEST_SUITE_P(InsideAndOutside, OfSize, testing::Values(0, 1, 3, 4, 5, 8, 9, 40));

TEST(InlineList, ComparesValues) {
  EXPECT_EQ((List{1, 2}), (List{1, 2}));
  EXPECT_NE((List{1, 2}), (List{1, 3}));
  EXPECT_NE((List{1, 2}), (List{1, 2, 3}));
}

}  // namespace
}  // namespace pooljit::ir
