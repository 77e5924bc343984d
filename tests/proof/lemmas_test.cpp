// What the symbolic proof of Programs takes for known (ir/interp/): that integer keys have the order of
// floats, that conversions and quotients written in several operations are what they are read as. Here they
// are computed as the Program would, for every number where there are few enough, else for those at which
// they could fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "ir/builder.h"
#include "ir/half.h"
#include "ir/interp/interpret.h"
#include "ir/passes/pipeline.h"
#include "ir/reductions/quotient.h"
#include "ir/reductions/stored.h"
#include "ir/reference_epilogue.h"
#include "ir/text.h"
#include "tests/all_isas.h"

namespace pooljit::ir {
namespace {

// ir/reductions/float_keys.h: differences wrap.
template <typename Bits>
Bits mirrored(Bits bits, Bits infinity) {
  using Word = std::make_unsigned_t<Bits>;
  return bits < 0 ? static_cast<Bits>(static_cast<Word>(infinity) - static_cast<Word>(bits)) : bits;
}

template <typename Float, typename Bits>
struct Keyed {
  Bits bits, above, below;
  double value;
  bool is_nan() const { return value != value; }
};

template <typename Float, typename Bits>
Keyed<Float, Bits> keyed(Bits bits) {
  using Word = std::make_unsigned_t<Bits>;
  const auto infinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  const Bits nans = static_cast<Bits>(std::numeric_limits<Bits>::max() - infinity);
  const Bits above = mirrored(bits, infinity);
  const Bits below = static_cast<Bits>(static_cast<Word>(above) + static_cast<Word>(nans));
  const auto value = static_cast<double>(std::bit_cast<Float>(bits));
  const Bits back = mirrored(above, infinity);
  if (value == value) {
    EXPECT_EQ(back, bits);
  } else {
    EXPECT_TRUE(std::isnan(static_cast<double>(std::bit_cast<Float>(back))));
  }
  return {bits, above, below, value};
}

// Numbers in their order, -0 below +0, have keys in the same; NaNs lie above all, or below.
template <typename Float, typename Bits>
void expect_order(std::vector<Keyed<Float, Bits>> floats) {
  std::erase_if(floats, [](const auto& one) { return one.is_nan(); });
  std::ranges::sort(floats, [](const auto& a, const auto& b) {
    if (a.value != b.value) return a.value < b.value;
    return std::signbit(a.value) && !std::signbit(b.value);
  });
  for (size_t i = 1; i < floats.size(); ++i) {
    if (floats[i].bits == floats[i - 1].bits) continue;
    EXPECT_LT(floats[i - 1].above, floats[i].above) << floats[i].value;
    EXPECT_LT(floats[i - 1].below, floats[i].below) << floats[i].value;
  }
}

template <typename Float, typename Bits>
void check_keys(const std::vector<Bits>& all) {
  std::vector<Keyed<Float, Bits>> floats;
  for (const Bits bits : all) floats.push_back(keyed<Float, Bits>(bits));
  expect_order<Float, Bits>(floats);
  const auto infinity = keyed<Float, Bits>(std::bit_cast<Bits>(std::numeric_limits<Float>::infinity()));
  const auto lowest =
      keyed<Float, Bits>(std::bit_cast<Bits>(static_cast<Float>(-std::numeric_limits<Float>::infinity())));
  for (const auto& one : floats) {
    if (!one.is_nan()) continue;
    EXPECT_GT(one.above, infinity.above);
    EXPECT_LT(one.below, lowest.below);
  }
}

std::vector<int16_t> all_halves() {
  std::vector<int16_t> all;
  for (int bits = 0; bits < 0x10000; ++bits) all.push_back(static_cast<int16_t>(bits));
  return all;
}

// Either side of every power of two, of zero, of infinity and of the ends of the NaNs.
template <typename Bits>
std::vector<Bits> ends(int mantissa) {
  using Word = std::make_unsigned_t<Bits>;
  std::vector<Bits> all;
  for (Word high = 0; high < Word{1} << (8 * sizeof(Bits) - static_cast<size_t>(mantissa)); ++high)
    for (const int by : {-2, -1, 0, 1, 2})
      all.push_back(static_cast<Bits>((high << mantissa) + static_cast<Word>(static_cast<Bits>(by))));
  return all;
}

TEST(Lemmas, KeysHaveTheOrderOfFloats) {
  check_keys<Float16, int16_t>(all_halves());
  check_keys<BFloat16, int16_t>(all_halves());
  check_keys<float, int32_t>(ends<int32_t>(23));
  check_keys<double, int64_t>(ends<int64_t>(52));
}

// ir/passes/expand_convert.cpp, of float32 whose low half lies around every rounding.
TEST(Lemmas, BFloat16IsRoundedInIntegers) {
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (const uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const uint32_t bits = high << 16 | low;
      const float x = std::bit_cast<float>(bits);
      const uint32_t rounded = (bits + ((bits >> 16 & 1) + 0x7fff)) >> 16, quiet = bits >> 16 | 0x40;
      EXPECT_EQ(static_cast<uint16_t>(x != x ? quiet : rounded), BFloat16(x).bits) << std::hex << bits;
    }
}

// proof/program/stored_value.cpp: 0 for a NaN, a maximum, a minimum, to the nearest, the end for what lies
// beyond.
template <typename Out, typename Float>
Out rounded(Float x) {
  using Limits = std::numeric_limits<Out>;
  using Wide = std::conditional_t<sizeof(Out) == 8, double, Float>;
  const auto end = static_cast<Wide>(std::ldexp(1.0, Limits::digits));
  const bool has_most = sizeof(Out) < sizeof(Wide) || sizeof(Out) < 4;
  const Wide most = has_most ? end - 1 : std::nextafter(end, Wide{0});
  const Wide wide = x, known = wide != wide ? 0 : wide;
  const Wide clamped = std::min(most, std::max(known, static_cast<Wide>(Limits::lowest())));
  return !has_most && wide >= end ? Limits::max() : static_cast<Out>(std::nearbyint(clamped));
}

template <typename Out>
void expect_rounded(double x) {
  const auto narrow = static_cast<float>(x);
  EXPECT_EQ((rounded<Out, double>(x)), converted<Out>(x)) << x;
  EXPECT_EQ((rounded<Out, float>(narrow)), converted<Out>(narrow)) << narrow;
}

TEST(Lemmas, FloatsAreClampedAndRounded) {
  std::vector<double> all;
  for (const int16_t bits : all_halves()) all.push_back(static_cast<float>(std::bit_cast<Float16>(bits)));
  for (const int32_t bits : ends<int32_t>(23)) all.push_back(std::bit_cast<float>(bits));
  for (const int64_t bits : ends<int64_t>(52)) all.push_back(std::bit_cast<double>(bits));
  for (const double x : all) {
    expect_rounded<int8_t>(x);
    expect_rounded<uint8_t>(x);
    expect_rounded<int16_t>(x);
    expect_rounded<int32_t>(x);
    expect_rounded<int64_t>(x);
  }
}

// --- proof/program/written_out.h: what lowering and passes write, as it is, in the interpreter

__extension__ using Int128 = __int128;
using Words = std::vector<int64_t>;  // the bits of int64 or float64
using Body = std::function<Value(Builder&, const std::vector<Value>&)>;

// body() of each row of the operands, as passes leave it for an instruction set.
Words computed(Isa isa, DType from, const std::vector<Words>& operands, const Body& body) {
  Builder b("lemma", isa);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const int lanes = info(isa).vector_bytes / 8;
  const auto rows = std::ssize(operands[0]), vectors = (rows + lanes - 1) / lanes;
  const int64_t plane = vectors * lanes * 8;
  b.add_task("rows", vectors);
  const Value row = b.begin_loop(b.param(Param::Role::count, 0)).iv;
  std::vector<Value> loaded;
  for (size_t i = 0; i < operands.size(); ++i)
    loaded.push_back(
        b.load(Type::vec(from, lanes), {in, {{row, int64_t{lanes} * 8}}, static_cast<int64_t>(i) * plane}));
  b.store({out, {{row, int64_t{lanes} * 8}}, 0}, body(b, loaded));
  b.end_loop();
  b.ret();
  const auto program = legalize(b.finish());
  if (!program) throw std::runtime_error(to_string(program.error()));
  Words input, output(static_cast<size_t>(vectors * lanes));
  for (const Words& operand : operands) {
    input.insert(input.end(), operand.begin(), operand.end());
    input.resize(input.size() + output.size() - operand.size(), 1);  // lanes that nobody looks at
  }
  std::vector<uint64_t> arguments;
  for (const Param& param : program->params)
    arguments.push_back(param.role == Param::Role::input    ? reinterpret_cast<uintptr_t>(input.data())
                        : param.role == Param::Role::output ? reinterpret_cast<uintptr_t>(output.data())
                        : param.role == Param::Role::count  ? static_cast<uint64_t>(vectors)
                                                            : 0);
  const auto bytes_in = std::ssize(input) * 8, bytes_out = std::ssize(output) * 8;
  if (const auto done = interpret(*program, arguments, {{bytes_in}, {bytes_out}, {}}); !done)
    throw std::runtime_error(to_string(done.error()));
  output.resize(static_cast<size_t>(rows));
  return output;
}

// Either side of every power of two, of its halves and quarters, of both signs; and some in between.
Words wide_integers() {
  std::mt19937_64 random(1);
  Words all = {0};
  for (int bit = 0; bit < 63; ++bit)
    for (const int64_t by : {-3, -2, -1, 0, 1, 2, 3})
      for (const int64_t half : {int64_t{0}, int64_t{1} << bit >> 1, int64_t{1} << bit >> 2})
        for (const int64_t sign : {1, -1}) all.push_back(sign * ((int64_t{1} << bit) + half + by));
  for (const int64_t last : {INT64_MAX, INT64_MIN})
    for (int64_t by = 0; by < 2000; by += 1 + by / 20) all.push_back(last < 0 ? last + by : last - by);
  for (int i = 0; i < 20000; ++i) all.push_back(static_cast<int64_t>(random()) >> random() % 63);
  return all;
}

TEST(Lemmas, Int64BecomesTheNearestFloat) {
  const Words all = wide_integers();
  for (const Isa isa : all_isas) {
    const Words doubles = computed(isa, DType::i64, {all}, [](Builder& b, const std::vector<Value>& x) {
      return b.cvt(DType::f64, x[0]);
    });
    // Widened again, exactly, so that all words are of 8 bytes.
    const Words floats = computed(isa, DType::i64, {all}, [](Builder& b, const std::vector<Value>& x) {
      return b.cvt(DType::f64, b.cvt(DType::f32, x[0]));
    });
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(std::bit_cast<double>(doubles[i]), static_cast<double>(all[i])) << all[i];
      EXPECT_EQ(std::bit_cast<double>(floats[i]), static_cast<double>(static_cast<float>(all[i]))) << all[i];
    }
  }
}

TEST(Lemmas, DoublesBecomeTheNearestInt64) {
  Words all;
  for (const int64_t number : wide_integers())
    for (const double fraction : {0.0, 0.25, 0.5, 0.75}) {
      const double x = static_cast<double>(number) + fraction;
      for (const double near : {x, std::nextafter(x, -HUGE_VAL), std::nextafter(x, HUGE_VAL), x * 0x1p-12})
        if (std::abs(near) < 0x1p63) all.push_back(std::bit_cast<int64_t>(near));
    }
  all.push_back(std::bit_cast<int64_t>(-0x1p63));
  for (const Isa isa : all_isas) {
    const Words found = computed(isa, DType::f64, {all}, [](Builder& b, const std::vector<Value>& x) {
      return b.cvt(DType::i64, x[0]);
    });
    for (size_t i = 0; i < all.size(); ++i) {
      const auto x = std::bit_cast<double>(all[i]);
      EXPECT_EQ(found[i], static_cast<int64_t>(std::nearbyint(x))) << std::hexfloat << x;
    }
  }
}

// Floats to integers whose ties go away from zero: float32 and float64 to int32, float64 to int64.
TEST(Lemmas, TiesGoAwayFromZero) {
  Words all;
  for (const int64_t number : wide_integers())
    for (const double fraction : {-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75}) {
      const double x = static_cast<double>(number) + fraction;
      for (const double near : {x, std::nextafter(x, -HUGE_VAL), std::nextafter(x, HUGE_VAL), -x})
        if (std::abs(near) < 0x1p63) all.push_back(std::bit_cast<int64_t>(near));
    }
  const auto is_small = [](int64_t word) { return std::abs(std::bit_cast<double>(word)) < 0x1p30; };
  Words small;
  std::ranges::copy_if(all, std::back_inserter(small), is_small);
  constexpr auto away = RoundingRule::half_away;
  for (const Isa isa : all_isas) {
    const Words longs = computed(isa, DType::f64, {all}, [](Builder& b, const std::vector<Value>& x) {
      return rounded(b, DType::i64, x[0], away);
    });
    const Words ints = computed(isa, DType::f64, {small}, [](Builder& b, const std::vector<Value>& x) {
      return b.cvt(DType::i64, rounded(b, DType::i32, x[0], away));
    });
    const Words of_floats = computed(isa, DType::f64, {small}, [](Builder& b, const std::vector<Value>& x) {
      return b.cvt(DType::i64, rounded(b, DType::i32, b.cvt(DType::f32, x[0]), away));
    });
    for (size_t i = 0; i < all.size(); ++i) {
      const auto x = std::bit_cast<double>(all[i]);
      EXPECT_EQ(longs[i], static_cast<int64_t>(std::round(x))) << std::hexfloat << x;
    }
    for (size_t i = 0; i < small.size(); ++i) {
      const auto x = std::bit_cast<double>(small[i]);
      EXPECT_EQ(ints[i], static_cast<int64_t>(std::round(x))) << std::hexfloat << x;
      const auto narrow = static_cast<float>(x);
      EXPECT_EQ(of_floats[i], static_cast<int64_t>(std::round(narrow))) << std::hexfloat << narrow;
    }
  }
}

constexpr RoundingRule rules[] = {RoundingRule::half_even, RoundingRule::half_away};

Int128 nearest_quotient(Int128 dividend, Int128 divisor, RoundingRule ties) {
  Int128 quotient = dividend / divisor, rest = dividend % divisor;
  if (rest < 0) --quotient, rest += divisor;
  const bool is_raised = ties == RoundingRule::half_away ? dividend >= 0 : quotient % 2 != 0;
  const bool goes_up = 2 * rest > divisor || (2 * rest == divisor && is_raised);
  return quotient + (goes_up ? 1 : 0);
}

// Small ones, and those about powers of two.
Words divisors(int64_t most) {
  Words all;
  for (int64_t divisor = 1; divisor < 40; ++divisor) all.push_back(divisor);
  for (int64_t power = 64; power > 0 && power <= most; power *= 2)
    for (const int64_t divisor : {power - 1, power, power + 1, power + power / 3})
      if (divisor <= most) all.push_back(divisor);
  return all;
}

// About ties and whole multiples of the divisor, and anywhere.
Words dividends(int64_t divisor, double most) {
  std::mt19937_64 random(static_cast<uint64_t>(divisor));
  Words all;
  const auto add = [&](Int128 dividend) {
    if (std::abs(static_cast<double>(dividend)) < most) all.push_back(static_cast<int64_t>(dividend));
  };
  for (int bits = 1; bits < 63; ++bits) {
    const auto multiple = static_cast<int64_t>(random() >> (64 - bits));
    for (const int64_t sign : {1, -1})
      for (const int by : {-1, 0, 1}) {
        add(sign * (Int128{multiple} * divisor + divisor / 2 + by));
        add(sign * (Int128{multiple} * divisor + by));
        add(sign * Int128{multiple});
      }
  }
  return all;
}

TEST(Lemmas, QuotientsAreTheNearestIntegers) {
  Words all, by;
  for (const int64_t divisor : divisors((int64_t{1} << 62) - 1))
    for (const int64_t dividend : dividends(divisor, 0x1p62)) all.push_back(dividend), by.push_back(divisor);
  for (const Isa isa : all_isas)
    for (const RoundingRule ties : rules) {
      const Words found = computed(isa, DType::i64, {all, by}, [&](Builder& b, const std::vector<Value>& x) {
        return rounded_quotient(b, x[0], x[1], ties);
      });
      for (size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(Int128{found[i]} == nearest_quotient(all[i], by[i], ties), true)
            << all[i] << " / " << by[i];
    }
}

// Of sums in two digits, as they are accumulated: each digit by itself, so the low one may be large, and the
// sum beyond int64.
void expect_nearest_of_wide_sums(int64_t most_divisor, Int128 most_high, SumSize size) {
  Words high, low, by;
  for (const int64_t divisor : divisors(most_divisor))
    for (const int64_t dividend : dividends(divisor, 0x1p62)) {
      const auto add = [&](Int128 number, int64_t borrowed) {
        const Int128 digit = (number >> 32) - borrowed;
        if (digit <= -most_high || digit >= most_high) return;
        high.push_back(static_cast<int64_t>(number >> 32) - borrowed);
        low.push_back(static_cast<int64_t>(number & 0xffffffff) + (borrowed << 32));
        by.push_back(divisor);
      };
      add(dividend, 0), add(dividend, 12345);
      add(Int128{dividend} * divisor + divisor / 2, 0);  // a tie, or below one, perhaps beyond int64
    }
  const auto expect = [&](const Words& found, bool is_divided, RoundingRule ties) {
    for (size_t i = 0; i < high.size(); ++i) {
      const Int128 sum = Int128{high[i]} * (Int128{1} << 32) + low[i];
      const Int128 quotient = is_divided ? nearest_quotient(sum, by[i], ties) : sum;
      const Int128 clamped = std::clamp<Int128>(quotient, INT64_MIN, INT64_MAX);
      EXPECT_EQ(Int128{found[i]} == clamped, true) << high[i] << " * 2^32 + " << low[i] << " / " << by[i];
    }
  };
  for (const Isa isa : all_isas)
    for (const RoundingRule ties : rules) {
      expect(computed(isa, DType::i64, {high, low, by},
                      [&](Builder& b, const std::vector<Value>& x) {
                        return rounded_quotient(b, WideSum{x[0], x[1]}, x[2], ties, {}, size);
                      }),
             true, ties);
      expect(computed(isa, DType::i64, {high, low, by},
                      [&](Builder& b, const std::vector<Value>& x) {
                        return rounded_quotient(b, WideSum{x[0], x[1]}, no_value, ties);
                      }),
             false, ties);
    }
}

TEST(Lemmas, QuotientsOfWideSumsAreTheNearestIntegers) {
  expect_nearest_of_wide_sums(int64_t{1} << 31, Int128{1} << 62, SumSize::any);
}

TEST(Lemmas, QuotientsOfSmallWideSumsAreTheNearestIntegers) {
  expect_nearest_of_wide_sums(most_small_divisor, Int128{1} << 50, SumSize::small);
}

}  // namespace
}  // namespace pooljit::ir
