// Averages of int64 (ir/reductions/quotient.h): a divisor that is known is a float in the code already, and
// one that is 1 divides nothing.
#include "ir/reductions/quotient.h"

#include <gtest/gtest.h>

#include <vector>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedules/lower.h"

namespace pooljit::ir {
namespace {

struct Case {
  const char* what;
  const char* spec;
  bool divides;           // floats
  bool converts_divisor;  // to a float
};

const Case cases[] = {
    {"windows of one tap", "avg_pool2d(int64[1,16,5,5]:nhwc, kernel_size=1)", false, false},
    {"minus one", "avg_pool2d(int64[1,16,5,5]:nhwc, kernel_size=1, divisor_override=-1)", false, false},
    {"one of several taps", "avg_pool2d(int64[1,16,6,6]:nhwc, kernel_size=2, divisor_override=1)", false,
     false},
    {"four taps", "avg_pool2d(int64[1,16,6,6]:nhwc, kernel_size=2)", true, false},
    {"ties away from zero", "avg_pool2d(int64[1,16,6,6]:nhwc, kernel_size=3, rounding=half_away)", true,
     false},
    {"rows of several divisors",
     "avg_pool2d(int64[1,16,64,64]:nhwc, kernel_size=9, stride=1, padding=4, count_include_pad=False)", true,
     true},
};

TEST(Quotient, WhatIsKnownOfADivisorIsInTheCode) {
  for (const Case& one : cases)
    for (const IsaInfo& isa : isa_table) {
      const PoolNest nest = make_nest(*frontend::parse_spec(one.spec));
      const auto program = lower(nest, enumerate_schedules(nest, isa.isa, 1).front(), isa.isa);
      ASSERT_TRUE(program) << one.what;
      std::vector<bool> is_divisor(program->types.size());
      bool divides = false, converts = false;
      for (const Inst& inst : program->insts)
        if (inst.op == Op::div) divides = is_divisor[static_cast<size_t>(inst.args[1])] = true;
      for (const Inst& inst : program->insts)
        converts = converts || (inst.op == Op::cvt && is_divisor[static_cast<size_t>(inst.results[0])]);
      EXPECT_EQ(divides, one.divides) << one.what << ' ' << isa.text;
      EXPECT_EQ(converts, one.converts_divisor) << one.what << ' ' << isa.text;
    }
}

}  // namespace
}  // namespace pooljit::ir
