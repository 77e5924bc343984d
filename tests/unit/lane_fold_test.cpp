// LaneFold, by the interpreter: lane i is the sum of all lanes of vector i, whatever their number and width.
#include "ir/schedules/lane_fold.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ir/interp/interpret.h"

namespace pooljit::ir {
namespace {

// The sums of `vectors` vectors of so many lanes that lie one after the other.
template <typename T>
std::vector<T> folded(DType dtype, int vectors, int lanes, const std::vector<T>& input) {
  Builder b("test", Isa::avx512);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  LaneFold fold(b, [&](Value earlier, Value later) { return b.binary(Op::add, earlier, later); });
  for (int64_t i = 0; i < vectors; ++i)
    fold.add(b.load(Type::vec(dtype, lanes), {in, {}, i * lanes * bytes(dtype)}));
  const Value sums = fold.finish();
  std::vector<T> output(static_cast<size_t>(b.type(sums).lanes));
  b.store({out, {}, 0}, sums);
  b.ret();
  const std::vector<uint64_t> args = {reinterpret_cast<uintptr_t>(input.data()),
                                      reinterpret_cast<uintptr_t>(output.data())};
  const auto size = [](const std::vector<T>& all) { return static_cast<int64_t>(all.size() * sizeof(T)); };
  const auto done = interpret(b.finish(), args, {{size(input), nullptr}, {size(output), nullptr}, {}});
  EXPECT_TRUE(done) << to_string(done.error());
  return output;
}

template <typename T>
void check(DType dtype) {
  for (int lanes = 1; lanes * bytes(dtype) <= 64; lanes *= 2)
    for (int vectors = 1; vectors <= 9 && vectors * bytes(dtype) <= 32; ++vectors) {
      SCOPED_TRACE(testing::Message() << vectors << " vectors of " << lanes << ' ' << info(dtype).text);
      std::vector<T> input(static_cast<size_t>(vectors * lanes));
      for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<T>(i * 37 % 101);
      const std::vector<T> found = folded(dtype, vectors, lanes, input);
      ASSERT_GE(found.size(), static_cast<size_t>(vectors));
      EXPECT_LT(found.size(), 2 * static_cast<size_t>(vectors));
      for (int i = 0; i < vectors; ++i) {
        const auto* first = input.data() + i * lanes;
        EXPECT_EQ(found[static_cast<size_t>(i)], std::accumulate(first, first + lanes, T{0}))
            << "vector " << i;
      }
    }
}

TEST(LaneFold, EachLaneIsTheSumOfAVector) {
  check<uint8_t>(DType::u8);
  check<uint16_t>(DType::u16);
  check<int32_t>(DType::i32);
  check<float>(DType::f32);
  check<int64_t>(DType::i64);
}

// A join serves two vectors: 16 sums of 16 lanes take 15 joins.
TEST(LaneFold, HalvesTheWork) {
  int joins = 0;
  Builder b("test", Isa::avx512);
  LaneFold fold(b, [&](Value earlier, Value later) {
    ++joins;
    return b.binary(Op::add, earlier, later);
  });
  const Value in = b.param(Param::Role::input);
  for (int64_t i = 0; i < 16; ++i) fold.add(b.load(Type::vec(DType::f32, 16), {in, {}, i * 64}));
  fold.finish();
  EXPECT_EQ(joins, 15);
}

}  // namespace
}  // namespace pooljit::ir
