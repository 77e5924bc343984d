// Averages of bytes in lanes of 16 bits (ir/reductions/short_average.h): every sum that a window can have, by
// every divisor, against the nearest integer with ties to even.
#include "ir/reductions/short_average.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/interp/interpret.h"

namespace pooljit::ir {
namespace {

constexpr int lanes = 8;

int64_t nearest_even(int64_t sum, int64_t divisor) {
  const int64_t below = (sum >= 0 ? sum : sum - divisor + 1) / divisor, twice = 2 * (sum - below * divisor);
  return below + (twice > divisor || (twice == divisor && below % 2 != 0) ? 1 : 0);
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
std::vector<uint8_t> averages(const std::vector<int64_t>& sums, bool is_signed, int64_t rows,
                              const std::vector<int64_t>& columns) {
  const char* const spec = is_signed ? "avg_pool1d(int8[1,8,8]:nhwc, kernel_size=2)"
                                     : "avg_pool1d(uint8[1,8,8]:nhwc, kernel_size=2)";
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec(spec));
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

TEST(ShortAverage, IsTheNearestIntegerOfEverySum) {
  for (const bool is_signed : {false, true})
    for (int64_t divisor = 1; divisor <= 257; ++divisor) {
      const std::vector<int64_t> sums = every_sum(is_signed, divisor);
      // Some of the taps in rows, where the divisor has two factors.
      const int64_t rows = divisor % 3 == 0 ? 3 : 1;
      const std::vector<uint8_t> found =
          averages(sums, is_signed, rows, std::vector<int64_t>(lanes, divisor / rows));
      EXPECT_EQ(!found.empty(), divisor <= (is_signed ? 170 : 256))
          << divisor << (is_signed ? " signed" : "");
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], static_cast<uint8_t>(nearest_even(sums[i], divisor)))
            << sums[i] << " / " << divisor << (is_signed ? " signed" : "");
    }
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
      const std::vector<uint8_t> found = averages(sums, is_signed, row.rows, row.columns);
      ASSERT_EQ(!found.empty(), row.is_short) << row.rows << (is_signed ? " signed" : "");
      for (size_t i = 0; i < found.size(); ++i) {
        const int64_t divisor = row.rows * row.columns[i % lanes];
        ASSERT_EQ(found[i], static_cast<uint8_t>(nearest_even(sums[i], divisor)))
            << sums[i] << " / " << divisor << (is_signed ? " signed" : "");
      }
    }
}

}  // namespace
}  // namespace pooljit::ir
