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
  bool is_small;          // no float becomes an integer: each digit is divided once
};

const Case cases[] = {
    {"windows of one tap", "avg_pool2d(int64[1,16,5,5]:nhwc, kernel_size=1)", false, false, true},
    {"minus one", "avg_pool2d(int64[1,16,5,5]:nhwc, kernel_size=1, divisor_override=-1)", false, false, true},
    {"one of several taps", "avg_pool2d(int64[1,16,6,6]:nhwc, kernel_size=2, divisor_override=1)", false,
     false, true},
    {"four taps", "avg_pool2d(int64[1,16,6,6]:nhwc, kernel_size=2)", true, false, true},
    {"ties away from zero", "avg_pool2d(int64[1,16,6,6]:nhwc, kernel_size=2, rounding=half_away)", true,
     false, true},
    {"rows of several divisors",
     "avg_pool2d(int64[1,16,64,64]:nhwc, kernel_size=9, stride=1, padding=4, count_include_pad=False)", true,
     true, true},
    {"the largest small divisor", "avg_pool2d(int64[1,16,6,6]:nhwc, kernel_size=2, divisor_override=-524288)",
     true, false, true},
    {"a larger divisor", "avg_pool2d(int64[1,16,6,6]:nhwc, kernel_size=2, divisor_override=524289)", true,
     false, false},
    {"as many taps as may leave 2^50", "avg_pool2d(int64[1,1,1024,512], kernel_size=[1024,512])", true, false,
     false},
};

TEST(Quotient, WhatIsKnownOfADivisorIsInTheCode) {
  for (const Case& one : cases)
    for (const IsaInfo& isa : isa_table) {
      const PoolNest nest = make_nest(*frontend::parse_spec(one.spec));
      const auto program = lower(nest, enumerate_schedules(nest, isa.isa, 1).front(), isa.isa);
      ASSERT_TRUE(program) << one.what;
      std::vector<bool> is_divisor(program->types.size());
      bool divides = false, converts = false, is_small = true;
      for (const Inst& inst : program->insts)
        if (inst.op == Op::div) divides = is_divisor[static_cast<size_t>(inst.args[1])] = true;
      for (const Inst& inst : program->insts)
        is_small = is_small && !(inst.op == Op::cvt && program->type(inst.results[0]).dtype == DType::i64),
        converts = converts || (inst.op == Op::cvt && is_divisor[static_cast<size_t>(inst.results[0])]);
      EXPECT_EQ(divides, one.divides) << one.what << ' ' << isa.text;
      EXPECT_EQ(is_small, one.is_small) << one.what << ' ' << isa.text;
      EXPECT_EQ(converts, one.converts_divisor) << one.what << ' ' << isa.text;
    }
}

}  // namespace
}  // namespace pooljit::ir
