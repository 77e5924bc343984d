// Every Program of the matrix is proved, as lowered and as the passes leave it; wrong ones are not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"
#include "ir/text.h"
#include "proof/program/prove.h"
#include "tests/matrix/specs.h"

namespace pooljit {
namespace {

constexpr int64_t batches_proved = 2;

class ProgramProof : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Block, ProgramProof, testing::Range<size_t>(0, tests::symbolic_blocks));

TEST_P(ProgramProof, EachOutputTakesItsWindow) {
  const std::vector<tests::MatrixSpec> matrix = tests::matrix(tests::symbolic_specs);
  int64_t proved = 0, programs = 0;
  std::map<std::string, int64_t> unread;  // Programs by why
  for (size_t i = GetParam(); i < matrix.size(); i += tests::symbolic_blocks) {
    const frontend::PoolSpec& spec = matrix[i].spec;
    if (tests::output_count(spec) == 0) continue;
    const ir::PoolNest nest = make_nest(spec);
    for (const ir::IsaInfo& isa : ir::isa_table) {
      const std::vector<ir::Schedule> schedules = enumerate_schedules(nest, isa.isa);
      const ir::Schedule& schedule = schedules[i % schedules.size()];
      const auto affine = ir::lower(nest, schedule, isa.isa);
      ASSERT_TRUE(affine) << print(spec) << "\n" << ir::to_string(affine.error());
      const auto legal = ir::legalize(*affine);
      ASSERT_TRUE(legal) << print(spec) << "\n" << ir::to_string(legal.error());
      for (const ir::Program* program : {&*affine, &*legal}) {
        const auto proof = ir::prove(*program, nest, std::min(spec.batch.value_or(1), batches_proved));
        if (!proof && proof.error().kind == ir::ErrorKind::unsupported) {
          const std::string& why = proof.error().message;  // behind the place, if it names one
          ++unread[why.substr(why.starts_with("output at") ? why.find("]: ") + 3 : 0)];
          continue;
        }
        ASSERT_TRUE(proof) << print(spec) << "\n"
                           << print(schedule) << " " << isa.text << "\n"
                           << ir::to_string(proof.error());
        proved += proof->outputs;
        ++programs;
      }
    }
  }
  int64_t unread_programs = 0;
  fmt::print("{} Programs proved, {} elements\n", programs, proved);
  for (const auto& [why, count] : unread) {
    fmt::print("{:6} not read: {}\n", count, why);
    unread_programs += count;
  }
  EXPECT_GT(programs, 6 * unread_programs);
}

// --- what is wrong is refused, with a sentence that says so

struct WrongProgram {
  const char* name;
  const char* spec;
  std::function<bool(ir::Inst&)> change;  // true: changed, so that one instruction is
  const char* sentence;
  bool is_legal = false;  // it is changed behind the passes
};

bool swap_operands(ir::Inst& inst) {
  if (inst.op != ir::Op::max || inst.args[0] == inst.args[1]) return false;
  std::swap(inst.args[0], inst.args[1]);
  return true;
}

const char* const max3 = "max_pool1d(float32[1,1,40], kernel_size=3)";
const char* const ignoring = "max_pool1d(float32[1,1,40], kernel_size=3, nan=ignore)";
const char* const indexed = "max_pool1d(float32[1,1,40], kernel_size=3, return_indices=True)";
const char* const average = "avg_pool1d(float32[1,1,40], kernel_size=3)";

const char* const halves = "max_pool1d(float16[1,1,40], kernel_size=3)";
const char* const half_ignoring = "max_pool1d(bfloat16[1,1,40], kernel_size=3, nan=ignore)";
const char* const half_indexed = "max_pool1d(float16[1,1,40], kernel_size=3, return_indices=True)";
const char* const rounded = "max_pool1d(float32[1,1,40], kernel_size=3, output_dtype=int8)";
const char* const with_steps =
    "max_pool1d(float32[1,2,40], kernel_size=3, epilogue=[relu, scale(3,5), clamp(0,6), add_channel])";
const char* const requantized = "avg_pool1d(uint8[1,2,40], kernel_size=3, epilogue=[requantize(3,5)])";
const char* const gradients = "avg_pool1d_backward(float32[1,1,40], kernel_size=3, stride=2)";
const char* const quantized =
    "quantized_avg_pool1d(quint8[1,1,40], kernel_size=3, scale=0.5, zero_point=3, output_scale=2)";

const char* const even_and_odd = "avg_pool1d(bfloat16[1,80,6]:nhwc, kernel_size=2)";
const char* const whole_sum = "sum_pool1d(int16[1,1,40], kernel_size=3, output_dtype=int32)";
const char* const bytes_by_halves = "avg_pool1d(int8[1,80,6]:nhwc, kernel_size=3)";
const char* const bytes_by_four = "avg_pool1d(uint8[1,80,6]:nhwc, kernel_size=4)";
const char* const bytes_by_six = "avg_pool1d(uint8[1,80,8]:nhwc, kernel_size=6)";
const char* const shorts = "avg_pool1d(int16[1,80,6]:nhwc, kernel_size=3)";

// The first of this operation, if another one takes its place.
std::function<bool(ir::Inst&)> turn(ir::Op op, ir::Op other) {
  return [=](ir::Inst& inst) {
    if (inst.op != op) return false;
    inst.op = other;
    return true;
  };
}
// A constant with these bits gets others: the first, or the one behind so many that nothing reads.
std::function<bool(ir::Inst&)> change(int64_t bits, int64_t others, int behind = 0) {
  return [=](ir::Inst& inst) mutable {
    if (inst.op != ir::Op::vconst || inst.data.empty() || inst.data[0] != bits || behind-- > 0) return false;
    std::ranges::fill(inst.data, others);
    return true;
  };
}
std::function<bool(ir::Inst&)> swap(ir::Op op) {
  return [=](ir::Inst& inst) {
    if (inst.op != op || inst.args[0] == inst.args[1]) return false;
    std::swap(inst.args[0], inst.args[1]);
    return true;
  };
}

std::function<bool(ir::Inst&)> shift_by(ir::Op op, int64_t bits, int64_t others) {
  return [=](ir::Inst& inst) { return inst.op == op && inst.imm == bits && (inst.imm = others) == others; };
}

std::function<bool(ir::Inst&)> compare_by(ir::Predicate pred, ir::Predicate other) {
  return [=](ir::Inst& inst) {
    return inst.op == ir::Op::cmp && inst.pred == pred && (inst.pred = other) == other;
  };
}

const char* const wide_average = "avg_pool1d(int64[1,4,6]:nhwc, kernel_size=3, divisor_override=1000003)";
const char* const small_average = "avg_pool1d(int64[1,4,6]:nhwc, kernel_size=2, rounding=half_away)";
const char* const wide_sum = "sum_pool1d(int64[1,4,6]:nhwc, kernel_size=2)";
const char* const long_to_double = "max_pool1d(int64[1,4,6]:nhwc, kernel_size=2, output_dtype=float64)";
const char* const long_to_float = "max_pool1d(int64[1,4,6]:nhwc, kernel_size=2, output_dtype=float32)";
const char* const double_to_long = "max_pool1d(float64[1,4,6]:nhwc, kernel_size=2, output_dtype=int64)";
constexpr auto bits_of = [](double number) { return std::bit_cast<int64_t>(number); };

const WrongProgram wrongs[] = {
    {"another offset", max3,
     [](ir::Inst& inst) { return inst.op == ir::Op::load && (inst.addr.offset += 4) != 0; },
     "its window has"},
    {"a NaN is lost", max3, swap_operands, "a choice among elements that is none of a maximum's"},
    {"a NaN is kept", ignoring, swap_operands, "NaNs are not treated as the nest says"},
    {"ties go to the last", indexed,
     [](ir::Inst& inst) {
       if (inst.op != ir::Op::cmp || inst.pred != ir::Predicate::gt) return false;
       inst.pred = ir::Predicate::ge;
       return true;
     },
     "none of a maximum's"},
    {"an index is another tap's", indexed,
     [](ir::Inst& inst) {
       if (inst.op != ir::Op::vconst || inst.data.empty() || inst.data[0] != 1) return false;
       inst.data[0] = 2;
       return true;
     },
     "is numbered"},
    {"nothing is stored", max3,
     [](ir::Inst& inst) {
       if (inst.op != ir::Op::store) return false;
       inst.addr.offset += 4;
       return true;
     },
     "nothing was stored"},
    {"the divisor", average,
     [](ir::Inst& inst) {
       if (inst.op != ir::Op::vconst || inst.data[0] != 0x40400000) return false;
       inst.data[0] = 0x40800000;
       return true;
     },
     "weighs"},
    {"a tap is taken twice", average,
     [](ir::Inst& inst) {
       if (inst.op != ir::Op::add || inst.args[0] == inst.args[1]) return false;
       inst.args[1] = inst.args[0];
       return true;
     },
     "weighs"},
    {"a key is made with another infinity", halves, change(0x7c00, 0x7c01), "as another type"},
    {"a key is turned the other way", halves, swap(ir::Op::sub), "as another type"},
    {"the smallest key", halves, turn(ir::Op::max, ir::Op::min), "min of input elements"},
    {"NaNs stay above", half_ignoring, turn(ir::Op::add, ir::Op::sub), "sub of input elements"},
    {"the start is another key", half_ignoring, change(-32641, -32640), "takes part as a key"},
    {"the bits of another tap", half_indexed,
     [](ir::Inst& inst) {
       return inst.op == ir::Op::cvt && std::exchange(inst.args[0], inst.args[0] - 4) != 0;
     },
     ""},
    {"another end of the range", rounded, change(0x42fe0000, 0x42fc0000), "has no reading"},
    {"a NaN is no 0", rounded, change(0, 0x3f800000), "has no reading"},
    {"relu is missing", with_steps,
     [](ir::Inst& inst) {
       if (inst.op != ir::Op::cmp || inst.pred != ir::Predicate::le) return false;
       inst.pred = ir::Predicate::gt;
       return true;
     },
     "step 1 is not done"},
    {"another scale", with_steps, change(0x40400000, 0x40800000), "step 2 is not done"},
    {"another addend", with_steps, change(0x40a00000, 0x40800000), "step 2 is not done"},
    {"a bound", with_steps, change(0x40c00000, 0x40e00000), "step 3 is not done"},
    {"the bounds see a NaN", with_steps, swap(ir::Op::min), "step 3 is not done"},
    {"another channel's number", with_steps,
     [loads = 0](ir::Inst& inst) mutable {
       if (inst.op != ir::Op::load || ++loads < 4) return false;
       inst.addr.offset += 4;
       return true;
     },
     "interp.bounds"},
    {"its own number, and another's", with_steps, swap(ir::Op::add), ""},
    {"another zero point", requantized, change(0x40a00000, 0x40800000), "step 1 is not done"},
    {"a product for a quotient", requantized, turn(ir::Op::div, ir::Op::mul), ""},
    {"a gradient's divisor", gradients, change(0x40400000, 0x40800000), "weighs"},
    {"another zero point", quantized, change(3, 2, 1), "another constant is added"},
    {"half of the odd lanes' bits", even_and_odd, change(0xffff0000, 0xff000000), ""},
    {"even lanes from the middle", even_and_odd, shift_by(ir::Op::shl, 16, 8), ""},
    {"an even lane's result moved up", even_and_odd,
     [shifts = 0](ir::Inst& inst) mutable {
       return inst.op == ir::Op::shl && ++shifts == 3 && (inst.imm = 0) == 0;
     },
     ""},
    {"odd bytes with a part of the even ones", bytes_by_halves, shift_by(ir::Op::shr, 8, 7), "shr"},
    {"a sum that is moved out", whole_sum,
     [](ir::Inst& inst) {
       if (inst.op != ir::Op::add) return false;
       inst.op = ir::Op::shl, inst.imm = 27;
       inst.args.resize(1);
       return true;
     },
     "may overflow"},
    {"another factor than a third", shorts, change(0x3eaaaaab, 0x3eaaaaaa), "weighs"},
    {"a fifth for a third of 16 bits", bytes_by_halves, change(21846, 13108), "not rounded as a quotient"},
    {"a tenth for a third of 16 bits, of ten times as much", bytes_by_halves, change(21846, 6554),
     "not rounded as a quotient"},
    {"more than a half is added", bytes_by_halves, change(769, 770), "not rounded as a quotient"},
    {"another quotient beside the low byte", bytes_by_halves, change(769, 772), "not rounded as a quotient"},
    {"a sixth that is too small", bytes_by_six, change(10923, 10922), "not rounded as a quotient"},
    {"ties that are never raised", bytes_by_six, change(1, 0), "not rounded as a quotient"},
    {"ties that are always raised", bytes_by_six, change(2, 3), "not rounded as a quotient"},
    {"another bit of what lies below a tie", bytes_by_six, change(1, 2), "and of input elements"},
    {"a half is added of even quotients", bytes_by_four, change(1, 2), "and of input elements"},
    {"another bit than the quotient's", bytes_by_four, shift_by(ir::Op::shr, 2, 3), "shr of input elements"},
    {"a low byte of the odd lanes", bytes_by_four, change(0xff, 0x7f), ""},
    {"another ratio", quantized, change(0x3fd0000000000000, 0x3fe0000000000000), "weighs"},
    {"another low digit", wide_average, change(0xffffffff, 0xfffffffe), ""},
    {"another high digit", wide_average, shift_by(ir::Op::shr, 32, 31), ""},
    {"a high digit that is moved too far", wide_average, shift_by(ir::Op::shl, 32, 33), ""},
    {"ties of a quotient", wide_average, compare_by(ir::Predicate::eq, ir::Predicate::ne), ""},
    {"half of a divisor is more", wide_average, compare_by(ir::Predicate::gt, ir::Predicate::ge), ""},
    {"another divisor as a float", wide_average, change(1000003, 1000005), "select of input elements"},
    {"ties of a small sum", small_average, compare_by(ir::Predicate::eq, ir::Predicate::ne), ""},
    {"a quotient beside another number", small_average, change(bits_of(0x1.8p52), bits_of(0x1p52)), ""},
    {"the largest that a quotient is clamped to", wide_average, change(INT64_MAX, INT64_MAX - 1), ""},
    {"where a sum is clamped", wide_sum, change(INT32_MAX, INT32_MAX - 1), ""},
    {"a sum without its carry", wide_sum, shift_by(ir::Op::shr, 32, 40), ""},
    {"a power below", long_to_double, change(bits_of(0x1p52), bits_of(0x1p51)), "has no reading", true},
    {"another power above", long_to_double, change(bits_of(0x3p67), bits_of(0x1p67)), "has no reading", true},
    {"a digit of 47 bits", long_to_double, change((1LL << 48) - 1, (1LL << 47) - 1), "has no reading", true},
    {"a bit is not joined", long_to_float, change(0x7ff, 0x3ff), "has no reading", true},
    {"bits are joined where all count", long_to_float, change(1LL << 54, 1LL << 53), "has no reading", true},
    {"another magic", double_to_long, change(bits_of(0x1.8p52), bits_of(0x1.8p51)), "has no reading", true},
    {"another digit", double_to_long, change(bits_of(0x1p-32), bits_of(0x1p-31)), "has no reading", true},
};

TEST(ProgramProofOf, WhatIsWrongFails) {
  for (const WrongProgram& wrong : wrongs) {
    const ir::PoolNest nest = make_nest(*frontend::parse_spec(wrong.spec));
    ir::Program program = *ir::lower(nest, enumerate_schedules(nest, ir::Isa::avx2)[0], ir::Isa::avx2);
    if (wrong.is_legal) program = *ir::legalize(program);
    const auto right = ir::prove(program, nest);
    ASSERT_TRUE(right) << wrong.name << ": " << ir::to_string(right.error());
    bool changed = false;
    for (ir::Inst& inst : program.insts)
      if (!changed) changed = wrong.change(inst);
    ASSERT_TRUE(changed) << wrong.name << "\n" << ir::print(program);
    const auto proof = ir::prove(program, nest);
    ASSERT_FALSE(proof) << wrong.name;
    EXPECT_NE(ir::to_string(proof.error()).find(wrong.sentence), std::string::npos)
        << wrong.name << ": " << ir::to_string(proof.error());
  }
}

// Accumulators are as narrow as their windows let them be: at the most taps of each, and beyond.
TEST(ProgramProofOf, SumsFitTheirAccumulators) {
  const std::vector<int> of_bytes = {128, 129, 256, 257, 258, 513}, of_others = {257};
  for (const std::string_view dtype : {"uint8", "int8", "int16", "int32", "int64"})
    for (const int taps : dtype.ends_with("int8") ? of_bytes : of_others)
      for (const std::string_view layout : {"nwc", "ncw"})
        for (const auto& [op, more] : {std::pair("avg", ""), {"avg", ", rounding=half_away"}, {"sum", ""}}) {
          const std::string spec =
              fmt::format("{}_pool1d({}[1,8,{}]:{}, kernel_size={}{})", op, dtype, taps, layout, taps, more);
          const ir::PoolNest nest = make_nest(*frontend::parse_spec(spec));
          for (const ir::IsaInfo& isa : ir::isa_table)
            for (const ir::Schedule& schedule : enumerate_schedules(nest, isa.isa)) {
              const auto program = ir::lower(nest, schedule, isa.isa);
              ASSERT_TRUE(program) << spec;
              const auto proof = ir::prove(*program, nest);
              EXPECT_TRUE(proof) << spec << " " << print(schedule) << " " << isa.text << "\n"
                                 << (proof ? "" : ir::to_string(proof.error()));
            }
        }
}

// A Program whose ties go to the even integer is none of a nest whose ties go away from zero, and the other
// way.
TEST(ProgramProofOf, TiesAreToldApart) {
  using Rule = ir::RoundingRule;
  for (const std::string_view spec :
       {"avg_pool1d(uint8[1,80,8]:nhwc, kernel_size=4)", "avg_pool1d(int8[1,80,8]:nhwc, kernel_size=4)",
        "avg_pool1d(uint8[1,80,8]:nhwc, kernel_size=6)", "avg_pool1d(int8[1,80,8]:nhwc, kernel_size=6)",
        "avg_pool1d(int8[1,2,24], kernel_size=2, output_dtype=int16)",
        "avg_pool1d(int16[1,2,24], kernel_size=6)", "avg_pool1d(int32[1,8,400], kernel_size=400)",
        "avg_pool1d(int64[1,2,24], kernel_size=2)",
        "quantized_avg_pool1d(quint8[1,1,40], kernel_size=3, scale=0.5, zero_point=3, output_scale=2)"}) {
    ir::PoolNest nest = make_nest(*frontend::parse_spec(spec)), other = nest;
    nest.rounding = Rule::half_away;
    for (const ir::IsaInfo& isa : ir::isa_table)
      for (const auto& [lowered, proved] : {std::pair(nest, nest), {nest, other}, {other, nest}}) {
        const auto program = ir::lower(lowered, enumerate_schedules(lowered, isa.isa)[0], isa.isa);
        ASSERT_TRUE(program) << spec;
        const auto proof = ir::prove(*program, proved);
        if (lowered.rounding == proved.rounding) {
          EXPECT_TRUE(proof) << spec << " " << isa.text << "\n"
                             << (proof ? "" : ir::to_string(proof.error()));
        } else {
          ASSERT_FALSE(proof) << spec << " " << isa.text;
          EXPECT_NE(proof.error().message.find("ties are not rounded"), std::string::npos)
              << spec << " " << isa.text << "\n"
              << proof.error().message;
        }
      }
  }
}

// Columns that roll down the image in 16 bits: full ones, several tasks, rows that enter and leave alone.
TEST(ProgramProofOf, SumsThatRollDownTheImage) {
  for (const std::string_view spec :
       {"avg_pool2d(uint8[1,1,134,24], kernel_size=[128,5], stride=1)",
        "avg_pool2d(int8[1,1,133,23], kernel_size=[127,4], stride=1)",
        "sum_pool2d(uint8[1,2,30,37], kernel_size=16, stride=1, padding=8, output_dtype=int32)",
        "avg_pool2d(int8[1,2,90,21], kernel_size=[3,2], stride=1, padding=1, count_include_pad=False)",
        "avg_pool2d(uint8[2,40,19,3]:nhwc, kernel_size=[7,4], stride=[3,1], padding=2, ceil_mode=True)"}) {
    const ir::PoolNest nest = make_nest(*frontend::parse_spec(spec));
    for (const ir::IsaInfo& isa : ir::isa_table) {
      size_t proved = 0;
      for (const ir::Schedule& schedule : ir::schedule_space(nest, isa.isa)) {
        if (ir::print(schedule).find("scan=rolling_sums") == std::string::npos) continue;
        const auto program = ir::lower(nest, schedule, isa.isa);
        if (!program) continue;  // not of these lanes
        const auto proof = ir::prove(*program, nest);
        EXPECT_TRUE(proof) << spec << " " << print(schedule) << " " << isa.text << "\n"
                           << (proof ? "" : ir::to_string(proof.error()));
        ++proved;
      }
      EXPECT_GT(proved, 2U) << spec << " " << isa.text;
    }
  }
}

// Of operators without a reading too: passes leave the same terms, a tap elsewhere does not.
TEST(StoreTheSame, ComparesTheTermsInEachPlace) {
  for (const char* const spec : {"max_pool1d_backward(float32[1,2,21], kernel_size=3, stride=1)",
                                 "avg_pool2d_backward(float32[1,2,5,9], kernel_size=2)",
                                 "lp_pool1d(float32[1,2,20], kernel_size=3, norm_type=inf)",
                                 "max_pool1d(float32[1,2,20], kernel_size=2, epilogue=[relu,add])"}) {
    const auto parsed = frontend::parse_spec(spec);
    ASSERT_TRUE(parsed) << ir::to_string(parsed.error());
    const ir::PoolNest nest = make_nest(*parsed);
    const ir::Schedule schedule = enumerate_schedules(nest, ir::Isa::avx512).front();
    const ir::Program affine = *ir::lower(nest, schedule, ir::Isa::avx512);
    ir::Program legal = *ir::legalize(affine);
    EXPECT_TRUE(ir::store_the_same(affine, legal, nest) == true) << spec;
    const auto store = std::ranges::find(legal.insts, ir::Op::store, &ir::Inst::op);
    const auto made = std::ranges::find_if(legal.insts, [&](const ir::Inst& inst) {
      return std::ranges::find(inst.results, store->args[0]) != inst.results.end();
    });
    ASSERT_FALSE(made->args.empty()) << ir::print(legal);
    store->args[0] = made->args.back();  // the last operation is left out
    const auto same = ir::store_the_same(affine, legal, nest);
    EXPECT_FALSE(same == true) << spec;
  }
}

}  // namespace
}  // namespace pooljit
