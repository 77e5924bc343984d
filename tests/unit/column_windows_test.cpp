// ColumnWindows and FloatKeys, by the interpreter: every window from exactly its columns, in no more steps
// than one by one; keys in the order of floats, with NaN at the end where it wins.
#include "ir/schedules/windows/column_windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/interp/interpret.h"
#include "ir/reductions/float_keys.h"

namespace pooljit::ir {
namespace {

constexpr int vector_lanes = 8;

// Runs a Program of float32 vectors.
template <typename Body>
std::vector<float> evaluate(const std::vector<float>& input, size_t outputs, const Body& body) {
  Builder b("test", Isa::avx512);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  body(b, in, out);
  b.ret();
  std::vector<float> output(outputs);
  const std::vector<uint64_t> args = {reinterpret_cast<uintptr_t>(input.data()),
                                      reinterpret_cast<uintptr_t>(output.data())};
  const auto size = [](const std::vector<float>& all) { return static_cast<int64_t>(all.size() * 4); };
  const auto done = interpret(b.finish(), args, {{size(input), nullptr}, {size(output), nullptr}, {}});
  EXPECT_TRUE(done) << to_string(done.error());
  return output;
}

std::vector<float> windows(int64_t outputs, int64_t kernel, int64_t dilation, Op op,
                           const std::vector<float>& columns) {
  const ColumnWindows plan(vector_lanes, outputs, kernel, dilation, op == Op::max);
  const int64_t side_by_side = (outputs + vector_lanes - 1) / vector_lanes;
  EXPECT_LE(plan.steps(), side_by_side * (kernel - 1));
  return evaluate(
      columns, static_cast<size_t>(side_by_side * vector_lanes), [&](Builder& b, Value in, Value out) {
        std::vector<Value> vectors;
        for (int64_t i = 0; i < plan.vectors(); ++i)
          vectors.push_back(b.load(Type::vec(DType::f32, vector_lanes), {in, {}, i * vector_lanes * 4}));
        const auto join = [&](Value earlier, Value later) { return b.binary(op, earlier, later); };
        const std::vector<Value> found = plan.reduce(b, vectors, join);
        EXPECT_EQ(std::ssize(found), side_by_side);
        for (size_t i = 0; i < found.size(); ++i)
          b.store({out, {}, static_cast<int64_t>(i) * vector_lanes * 4}, found[i]);
      });
}

TEST(ColumnWindows, EveryWindowIsReducedFromItsColumns) {
  for (int64_t kernel = 2; kernel <= 40; ++kernel)
    for (const int64_t dilation : {1, 2, 3, 8, 11})
      for (const int outputs : {vector_lanes, vector_lanes + 3, 2 * vector_lanes, 2 * vector_lanes + 1})
        for (const Op op : {Op::max, Op::add}) {
          const auto needed = static_cast<size_t>(outputs + (kernel - 1) * dilation);
          std::vector<float> columns((needed + vector_lanes - 1) / vector_lanes * vector_lanes,
                                     1e30F);  // behind the last: anything
          for (size_t i = 0; i < needed; ++i) columns[i] = static_cast<float>(i * 37 % 101);
          const std::vector<float> found = windows(outputs, kernel, dilation, op, columns);
          for (size_t output = 0; output < static_cast<size_t>(outputs); ++output) {
            float expected = 0;
            for (size_t tap = 0; tap < static_cast<size_t>(kernel); ++tap) {
              const float x = columns[output + tap * static_cast<size_t>(dilation)];
              expected = op == Op::max ? std::max(expected, x) : expected + x;
            }
            EXPECT_EQ(found[output], expected) << "kernel " << kernel << ", dilation " << dilation
                                               << ", output " << output << " of " << outputs;
          }
        }
}

TEST(ColumnWindows, StepsGrowWithTheLogarithm) {
  EXPECT_EQ(ColumnWindows(16, 16, 31, 1, true).steps(), 12);
  EXPECT_EQ(ColumnWindows(16, 19, 13, 1, true).steps(), 8);  // one vector of 16 alone takes 7
  EXPECT_EQ(ColumnWindows(64, 64, 31, 1, true).steps(), 9);
}

TEST(FloatKeys, KeepTheOrderAndThePlaceOfNaN) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // From the lowest to the highest.
  const std::vector<float> ordered = {-inf, -1e38F, -1, -1e-45F, -0.F, 0.F, 1e-45F, 1};
  for (const bool nans_above : {true, false})
    for (const float special : {nan, -nan, inf})
      for (const Op op : {Op::max, Op::min}) {
        std::vector<float> input = ordered;
        input.insert(input.end(), vector_lanes, special);
        const std::vector<float> found = evaluate(input, vector_lanes, [&](Builder& b, Value in, Value out) {
          FloatKeys keys(b, DType::f32, nans_above);
          const auto key = [&](int64_t offset) {
            return keys.key(b.load(Type::vec(DType::f32, vector_lanes), {in, {}, offset}));
          };
          const Value numbers = key(0), others = key(vector_lanes * 4);
          b.store({out, {}, 0}, keys.value(b.binary(op, numbers, others)));
        });
        const bool wins = (op == Op::max) == (!std::isnan(special) || nans_above);
        for (size_t lane = 0; lane < vector_lanes; ++lane) {
          const float expected = wins ? special : ordered[lane];
          if (std::isnan(expected))
            EXPECT_TRUE(std::isnan(found[lane]));
          else
            EXPECT_EQ(std::bit_cast<uint32_t>(found[lane]), std::bit_cast<uint32_t>(expected)) << lane;
        }
      }
}

}  // namespace
}  // namespace pooljit::ir
