// LaneFold, on every engine: lane i is the sum of all lanes of vector i, whatever their number and width.
#include "ir/schedules/lanes/lane_fold.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "programs/engines.h"

namespace pooljit::ir {
namespace {

// The sums of so many vectors that lie one after the other.
template <typename T>
test::Case folded(Isa isa, DType dtype, int vectors, int lanes, const std::vector<T>& input) {
  Builder b("fold", isa);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  LaneFold fold(b, [&](Value earlier, Value later) { return b.binary(Op::add, earlier, later); });
  for (int64_t i = 0; i < vectors; ++i)
    fold.add(b.load(Type::vec(dtype, lanes), {in, {}, i * lanes * bytes(dtype)}));
  const Value sums = fold.finish();
  const size_t output_bytes = static_cast<size_t>(b.type(sums).lanes) * sizeof(T);
  b.store({out, {}, 0}, sums);
  b.ret();
  test::Case c{.name = "fold", .program = b.finish(), .input = {}, .output_bytes = output_bytes};
  c.input.resize(input.size() * sizeof(T));
  std::memcpy(c.input.data(), input.data(), c.input.size());
  return c;
}

template <typename T>
void check(Isa isa, DType dtype, int vectors, int lanes) {
  SCOPED_TRACE(testing::Message() << vectors << " vectors of " << lanes << ' ' << info(dtype).text << ", "
                                  << info(isa).text);
  std::vector<T> input(static_cast<size_t>(vectors * lanes));
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<T>(i * 37 % 101);
  for (const test::Run& run : test::run_everywhere(folded(isa, dtype, vectors, lanes, input))) {
    ASSERT_TRUE(run.result) << run.engine << ": " << to_string(run.result.error());
    std::vector<T> found(run.result->output.size() / sizeof(T));
    std::memcpy(found.data(), run.result->output.data(), run.result->output.size());
    ASSERT_GE(found.size(), static_cast<size_t>(vectors));
    EXPECT_LT(found.size(), 2 * static_cast<size_t>(vectors));
    for (int i = 0; i < vectors; ++i) {
      const auto* first = input.data() + i * lanes;
      EXPECT_EQ(found[static_cast<size_t>(i)], std::accumulate(first, first + lanes, T{0}))
          << run.engine << ", vector " << i;
    }
  }
}

template <typename T>
void check_all(DType dtype) {
  for (const IsaInfo& isa : isa_table)
    for (int lanes = 1; lanes * bytes(dtype) <= isa.vector_bytes; lanes *= 2)
      for (int vectors = 1; vectors <= 9 && vectors * bytes(dtype) <= isa.vector_bytes / 2; ++vectors)
        check<T>(isa.isa, dtype, vectors, lanes);
}

TEST(LaneFold, EachLaneIsTheSumOfAVector) {
  check_all<uint8_t>(DType::u8);
  check_all<uint16_t>(DType::u16);
  check_all<int32_t>(DType::i32);
  check_all<float>(DType::f32);
  check_all<double>(DType::f64);
  check_all<int64_t>(DType::i64);
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
