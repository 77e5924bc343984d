// Averages of bytes in lanes of 16 bits (ir/reductions/short_average.h): every sum that a window can have, by
// every divisor, against the nearest integer with ties to even.
#include "ir/reductions/short_average.h"

#include <gtest/gtest.h>

#include <bit>
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

// The averages' low bytes; empty: there is no short form of the division.
std::vector<uint8_t> averages(const std::vector<int64_t>& sums, bool is_signed, int64_t divisor) {
  const char* const spec = is_signed ? "avg_pool1d(int8[1,8,8]:nhwc, kernel_size=2)"
                                     : "avg_pool1d(uint8[1,8,8]:nhwc, kernel_size=2)";
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec(spec));
  Builder b("averages", Isa::avx2);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value row = b.begin_loop(b.iconst(static_cast<int64_t>(sums.size()) / lanes)).iv;
  const Type type = Type::vec(is_signed ? DType::i16 : DType::u16, lanes);
  const Value sum = b.load(type, {in, {{row, lanes * 2}}, 0});
  // Half of the divisor's taps in rows, where it has two factors.
  const int64_t rows = divisor % 3 == 0 ? 3 : 1;
  const Value average =
      short_average(nest, b, sum, {b.iconst(rows), std::vector<int64_t>(lanes, divisor / rows)});
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
    for (int64_t divisor = 2; divisor <= 257; ++divisor) {
      const std::vector<int64_t> sums = every_sum(is_signed, divisor);
      const std::vector<uint8_t> found = averages(sums, is_signed, divisor);
      const bool is_odd = divisor % 2 != 0, is_power = std::has_single_bit(static_cast<uint64_t>(divisor));
      const bool has_room = divisor <= (is_signed ? 128 : 255);
      EXPECT_EQ(!found.empty(), has_room && (is_odd || is_power)) << divisor << (is_signed ? " signed" : "");
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], static_cast<uint8_t>(nearest_even(sums[i], divisor)))
            << sums[i] << " / " << divisor << (is_signed ? " signed" : "");
    }
}

}  // namespace
}  // namespace pooljit::ir
