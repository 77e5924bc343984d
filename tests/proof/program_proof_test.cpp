// Every Program that the matrix makes is proved, as lowered and as the passes leave it: each output takes
// exactly its window, for every input. And Programs that are wrong are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "frontend/pool_spec.h"
#include "ir/passes/pipeline.h"
#include "ir/prove.h"
#include "ir/schedule.h"
#include "ir/text.h"
#include "tests/matrix/specs.h"

namespace pooljit {
namespace {

// The symbolic run is slow: fewer specs than the engines get.
constexpr size_t specs = 600, blocks = 6;
constexpr int64_t most_batches = 2;

int64_t outputs(const frontend::PoolSpec& spec) {
  int64_t count = 1;
  for (int64_t extent : output_shape(spec)) count *= extent;
  return count;
}

class ProgramProof : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Block, ProgramProof, testing::Range<size_t>(0, blocks));

TEST_P(ProgramProof, EachOutputTakesItsWindow) {
  const std::vector<tests::MatrixSpec> matrix = tests::matrix(specs);
  int64_t proved = 0, unsupported = 0;
  for (size_t i = GetParam(); i < matrix.size(); i += blocks) {
    const frontend::PoolSpec& spec = matrix[i].spec;
    if (outputs(spec) == 0) continue;
    const ir::PoolNest nest = make_nest(spec);
    for (const ir::IsaInfo& isa : ir::isa_table) {
      const std::vector<ir::Schedule> schedules = enumerate_schedules(nest, isa.isa);
      const ir::Schedule& schedule = schedules[i % schedules.size()];
      const auto affine = ir::lower(nest, schedule, isa.isa);
      ASSERT_TRUE(affine) << print(spec) << "\n" << ir::to_string(affine.error());
      const auto legal = ir::legalize(*affine);
      ASSERT_TRUE(legal) << print(spec) << "\n" << ir::to_string(legal.error());
      for (const ir::Program* program : {&*affine, &*legal}) {
        const auto proof = ir::prove(*program, nest, std::min(spec.batch.value_or(1), most_batches));
        if (!proof && proof.error().kind == ir::ErrorKind::unsupported) {
          ++unsupported;
          continue;
        }
        ASSERT_TRUE(proof) << print(spec) << "\n"
                           << print(schedule) << " " << isa.text << "\n"
                           << ir::to_string(proof.error());
        proved += proof->outputs;
      }
    }
  }
  RecordProperty("outputs", std::to_string(proved));
  EXPECT_GT(proved, 10 * unsupported);
}

// --- what is wrong is refused, with a sentence that says so

struct Wrong {
  const char* name;
  const char* spec;
  std::function<bool(ir::Inst&)> change;  // true: changed, so that one instruction is
  const char* sentence;
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

const Wrong wrongs[] = {
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
};

TEST(ProgramProofOf, WhatIsWrongFails) {
  for (const Wrong& wrong : wrongs) {
    const ir::PoolNest nest = make_nest(*frontend::parse_spec(wrong.spec));
    const ir::Schedule schedule = enumerate_schedules(nest, ir::Isa::avx2).front();
    ir::Program program = *ir::lower(nest, schedule, ir::Isa::avx2);
    ASSERT_TRUE(ir::prove(program, nest)) << wrong.name;
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
