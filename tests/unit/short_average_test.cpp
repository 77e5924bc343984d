// Averages of bytes in lanes of 16 bits (ir/reductions/short_average.h): every sum that a window can have, by
// every divisor and with either rule for ties, against the nearest integer.
#include "ir/reductions/short_average.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/interp/interpret.h"

namespace pooljit::ir {
namespace {

constexpr int lanes = 8;

constexpr RoundingRule rules[] = {RoundingRule::half_even, RoundingRule::half_away};

int64_t nearest(int64_t sum, int64_t divisor, RoundingRule ties) {
  const int64_t below = (sum >= 0 ? sum : sum - divisor + 1) / divisor, twice = 2 * (sum - below * divisor);
  const bool is_raised = ties == RoundingRule::half_away ? sum >= 0 : below % 2 != 0;
  return below + (twice > divisor || (twice == divisor && is_raised) ? 1 : 0);
}

std::string told(int64_t sum, int64_t divisor, bool is_signed, RoundingRule ties) {
  return std::to_string(sum) + " / " + std::to_string(divisor) + (is_signed ? " signed" : "") +
         (ties == RoundingRule::half_away ? " away" : "");
}

std::vector<int64_t> every_sum(bool is_signed, int64_t divisor) {
  std::vector<int64_t> sums;
  const int64_t least = is_signed ? -128 * divisor : 0;
  for (int64_t sum = least; sum <= least + 255 * divisor; ++sum) sums.push_back(sum);
  while (sums.size() % lanes != 0) sums.push_back(0);
  return sums;
}

// The averages' low bytes, each lane divided by its own number; empty: there is no short form of the
// division.
std::vector<uint8_t> averages(const std::vector<int64_t>& sums, bool is_signed, RoundingRule ties,
                              int64_t rows, const std::vector<int64_t>& columns) {
  const char* const spec = is_signed ? "avg_pool1d(int8[1,8,8]:nhwc, kernel_size=2)"
                                     : "avg_pool1d(uint8[1,8,8]:nhwc, kernel_size=2)";
  PoolNest nest = frontend::make_nest(*frontend::parse_spec(spec));
  nest.rounding = ties;
  Builder b("averages", Isa::avx2);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value row = b.begin_loop(b.iconst(static_cast<int64_t>(sums.size()) / lanes)).iv;
  const Type type = Type::vec(is_signed ? DType::i16 : DType::u16, lanes);
  const Value sum = b.load(type, {in, {{row, lanes * 2}}, 0});
  const Value average = short_average(nest, b, sum, {b.iconst(rows), columns});
  if (average == no_value) return {};
  b.store({out, {{row, lanes}}, 0}, b.cvt(DType::u8, b.bitcast(Type::vec(DType::u16, lanes), average)));
  b.end_loop();
  b.ret();
  const Program program = b.finish();
  std::vector<uint16_t> x(sums.begin(), sums.end());
  std::vector<uint8_t> y(sums.size());
  std::vector<uint64_t> args = {reinterpret_cast<uintptr_t>(x.data()), reinterpret_cast<uintptr_t>(y.data())};
  const auto done = interpret(program, args, {{std::ssize(x) * 2, nullptr}, {std::ssize(y), nullptr}, {}});
  EXPECT_TRUE(done) << to_string(done.error());
  return y;
}

void expect_nearest(bool is_signed, RoundingRule ties, int64_t divisor) {
  const std::vector<int64_t> sums = every_sum(is_signed, divisor);
  // Some of the taps in rows, where the divisor has two factors.
  const int64_t rows = divisor % 3 == 0 ? 3 : 1;
  const std::vector<uint8_t> found =
      averages(sums, is_signed, ties, rows, std::vector<int64_t>(lanes, divisor / rows));
  EXPECT_EQ(!found.empty(), divisor <= (is_signed ? 170 : 256)) << told(0, divisor, is_signed, ties);
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], static_cast<uint8_t>(nearest(sums[i], divisor, ties)))
        << told(sums[i], divisor, is_signed, ties);
}

TEST(ShortAverage, IsTheNearestIntegerOfEverySum) {
  for (const RoundingRule ties : rules)
    for (const bool is_signed : {false, true})
      for (int64_t divisor = 1; divisor <= 257; ++divisor) expect_nearest(is_signed, ties, divisor);
}

TEST(ShortAverage, DividesEachLaneByItsOwn) {
  struct {
    int64_t rows;
    std::vector<int64_t> columns;
    bool is_short = true;
  } const rows[] = {
      {1, {1, 2, 2, 2, 2, 2, 2, 1}},
      {2, {1, 2, 2, 2, 2, 2, 2, 1}},
      {2, {2, 3, 3, 3, 3, 3, 3, 2}},
      {3, {2, 3, 3, 3, 3, 3, 3, 2}},
      {5, {3, 4, 5, 5, 5, 5, 4, 3}},
      {9, {5, 6, 7, 8, 9, 9, 9, 5}},
      {16, {1, 9, 10, 11, 12, 13, 14, 18}, false},
  };
  for (const RoundingRule ties : rules)
    for (const bool is_signed : {false, true})
      for (const auto& row : rows) {
        // Each lane's sums over and over, so that all see all of theirs.
        std::vector<int64_t> sums;
        const int64_t most = row.rows * *std::ranges::max_element(row.columns);
        for (int64_t i = 0; i <= 255 * most; ++i)
          for (const int64_t columns : row.columns) {
            const int64_t divisor = row.rows * columns;
            sums.push_back(i % (255 * divisor + 1) - (is_signed ? 128 * divisor : 0));
          }
        const std::vector<uint8_t> found = averages(sums, is_signed, ties, row.rows, row.columns);
        ASSERT_EQ(!found.empty(), row.is_short) << told(0, row.rows, is_signed, ties);
        for (size_t i = 0; i < found.size(); ++i) {
          const int64_t divisor = row.rows * row.columns[i % lanes];
          ASSERT_EQ(found[i], static_cast<uint8_t>(nearest(sums[i], divisor, ties)))
              << told(sums[i], divisor, is_signed, ties);
        }
      }
}

}  // namespace
}  // namespace pooljit::ir
