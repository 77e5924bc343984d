// The arithmetic of ir/reductions/power.h against extended precision, by the interpreter and both back ends'
// common definition of the ops: the bounds that the header states.
#include "ir/reductions/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "ir/interp/interpret.h"
#include "ir/isa.h"

namespace pooljit::ir {
namespace {

constexpr int lanes = 8;

std::vector<double> evaluate(std::vector<double> x, const std::function<Value(Builder&, Value)>& function) {
  x.resize((x.size() + lanes - 1) / lanes * lanes);
  Builder b("power", Isa::avx512);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value row = b.begin_loop(b.iconst(static_cast<int64_t>(x.size()) / lanes)).iv;
  const Value loaded = b.load(Type::vec(DType::f64, lanes), {in, {{row, lanes * 8}}, 0});
  b.store({out, {{row, lanes * 8}}, 0}, function(b, loaded));
  b.end_loop();
  b.ret();
  const Program program = b.finish();
  std::vector<double> y(x.size());
  std::vector<uint64_t> args = {reinterpret_cast<uintptr_t>(x.data()), reinterpret_cast<uintptr_t>(y.data())};
  const auto size = static_cast<int64_t>(x.size() * sizeof(double));
  const auto done = interpret(program, args, {{size, nullptr}, {size, nullptr}, {}});
  EXPECT_TRUE(done) << to_string(done.error());
  return y;
}

std::vector<double> samples() {
  std::mt19937_64 random(1);
  std::vector<double> x = {1, 2, 0.5, std::sqrt(0.5), std::sqrt(2.0), 4, std::numeric_limits<double>::min()};
  for (int i = 0; i < 4000; ++i)
    x.push_back(std::ldexp(1 + std::ldexp(double(random() >> 12), -52), int(random() % 400) - 200));
  for (int i = 0; i < 4000; ++i) x.push_back(1 + std::ldexp(double(random() >> 11), -53) - 0.5);
  return x;
}

void expect_within(double exponent, double bound, const std::function<Value(Builder&, Value)>& function,
                   long double true_exponent) {
  const std::vector<double> x = samples(), y = evaluate(x, function);
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::pow(static_cast<long double>(x[i]), true_exponent);
    if (!(exact > std::numeric_limits<double>::min() && exact < std::numeric_limits<double>::max())) continue;
    ASSERT_LE(std::abs(static_cast<long double>(y[i]) - exact), bound * exact) << x[i] << " ^ " << exponent;
  }
}

TEST(Power, IsWithinItsBound) {
  for (const double p : {0.5, 0.1, 1.5, 2.7, 3.0, 17.25, 100.5})
    expect_within(
        p, (p + 4) * 0x1p-52, [p](Builder& b, Value x) { return power(b, x, p); }, p);
}

TEST(Root, IsWithinItsBound) {
  for (const double p : {0.5, 0.7, 1.5, 2.7, 3.0, 17.25, 100.5})
    expect_within(
        1 / p, (1 / p + 4) * 0x1p-52, [p](Builder& b, Value x) { return root(b, x, p); },
        1 / static_cast<long double>(p));
}

TEST(Power, KeepsWhatIsNoOrdinaryNumber) {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   tiny = std::numeric_limits<double>::denorm_min();
  const auto y = evaluate({0, inf, std::nan(""), 1, 1e300, tiny, 1e-300, tiny},
                          [](Builder& b, Value x) { return power(b, x, 1.5); });
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], inf);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 1);
  EXPECT_EQ(y[4], inf);
  EXPECT_EQ(y[5], 0);
  EXPECT_EQ(y[6], 0);
  const auto root_of_tiny = evaluate({tiny}, [](Builder& b, Value x) { return root(b, x, 1.5); })[0];
  EXPECT_NEAR(root_of_tiny / std::pow(tiny, 1 / 1.5), 1, 1e-12);
}

}  // namespace
}  // namespace pooljit::ir
