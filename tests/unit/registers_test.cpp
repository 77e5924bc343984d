// FamilyInfo::registers, which says without lowering how many vector registers a schedule takes, beside what
// the register map finds for its Program: never less, and at most a bound per family more. Of families that
// have no such function, the instruction set has as many as the map finds. Over the matrix, on all
// instruction sets, for every schedule that check() lets through.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "frontend/pool_spec.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_text.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"
#include "jit/xbyak/register_map.h"
#include "tests/matrix/specs.h"

namespace pooljit {
namespace {

// How many more registers a family may claim than its Program takes. Most is what a reduction needs to finish
// a result (ReductionFacts::extra_registers) on the instruction set that expands most of it.
int most_above(ir::Family family) {
  switch (family) {
    case ir::Family::separable:
      return 22;
    case ir::Family::row_passes:
      return 17;
    default:
      return 28;
  }
}

using Found = std::function<void(const ir::Layer&, const ir::Schedule&, int needed)>;

// Calls found for each schedule of the space that check() lets through, with the registers that it needs.
void for_each_schedule(const std::string& text, const Found& found) {
  const auto spec = frontend::parse_spec(text);
  ASSERT_TRUE(spec) << text;
  if (spec->direction == ir::Direction::unpool) return;
  const ir::PoolNest nest = make_nest(*spec);
  for (const ir::IsaInfo& isa : ir::isa_table) {
    const auto layer = ir::Layer::of(nest, isa.isa);
    if (!layer) continue;
    for (const ir::Schedule& schedule : ir::schedule_space(nest, isa.isa)) {
      if (!check(*layer, schedule)) continue;
      const auto program = ir::lower(nest, schedule, isa.isa).and_then(ir::legalize);
      ASSERT_TRUE(program) << text << ' ' << print(schedule) << ": " << to_string(program.error());
      found(*layer, schedule, jit::RegisterMap::needed(*program, jit::RegClass::vec));
    }
  }
}

void expect_close(const std::string& text) {
  for_each_schedule(text, [&](const ir::Layer& layer, const ir::Schedule& schedule, int needed) {
    const auto registers = ir::info(schedule.family()).registers;
    if (registers == nullptr) {  // the family chooses code that fits
      EXPECT_LE(needed, layer.registers()) << info(layer.isa()).text << ' ' << text << ' ' << print(schedule);
      return;
    }
    const int claimed = registers(layer, schedule);
    EXPECT_GE(claimed, needed) << info(layer.isa()).text << ' ' << text << ' ' << print(schedule);
    EXPECT_LE(claimed, needed + most_above(schedule.family()))
        << info(layer.isa()).text << ' ' << text << ' ' << print(schedule);
  });
}

TEST(Registers, AreClaimedAsTheMapFindsThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr size_t step = 40;
#else
  constexpr size_t step = 8;
#endif
  const std::vector<tests::MatrixSpec> matrix = tests::pairs_of_matrix(2);
  for (size_t i = 0; i < matrix.size(); i += step) expect_close(print(matrix[i].spec));
  const std::vector<std::string> rows = tests::long_row_specs(160);
  for (size_t i = 0; i < rows.size(); i += step) expect_close(rows[i]);
}

// Layers whose states are many: parts of long sums and of three dimensions, halves, digits, masks, indices in
// loops.
TEST(Registers, OfManyStatesAreCounted) {
  for (const char* spec : {
           "avg_pool3d(bfloat16[1,384,8,8,8]:nhwc, kernel_size=2, stride=1)",
           "avg_pool2d(float16[1,56,300,300]:nhwc, kernel_size=300)",
           "avg_pool2d(int8[1,768,32,32]:nhwc, kernel_size=[3,15], stride=[2,15], padding=[1,0])",
           "avg_pool3d(int64[1,64,5,5,13]:nhwc, kernel_size=3, padding=1, rounding=half_away)",
           "max_pool2d(float32[1,40,640,4]:nhwc, kernel_size=[640,4])",
           "max_pool2d(uint8[1,128,16,16]:nhwc, kernel_size=3, padding=1, return_indices=True)",
           "max_pool2d(float16[1,64,16,16]:nhwc, kernel_size=3, padding=1, return_indices=True)",
           "global_sum_pool3d(float64[3,15,1,1,8]:nchw8c, epilogue=[add_channel], output_layout=nchw)",
           "prod_pool2d(uint8[3,16,1,8]:nchw16c, kernel_size=[2,3], padding=[1,0], dilation=2)",
           "min_pool3d(float16[1,16,4,4,3]:nchw8c, kernel_size=5, stride=3, padding=1, ceil_mode=plain)",
           "adaptive_max_pool2d(uint8[1,80,5,5], output_size=1)",
           "lp_pool2d(float32[1,300,7,7]:nhwc, norm_type=2.7, kernel_size=7)",
           "lp_pool3d(bfloat16[1,33,9,9,9]:nhwc, norm_type=3, kernel_size=3, stride=2, padding=1)",
           "lp_pool3d(float32[1,33,9,9,9]:nhwc, norm_type=0.5, kernel_size=2)",
           "lp_pool3d(float64[1,16,9,9,9]:nchw16c, norm_type=2.5, kernel_size=4, stride=2, padding=2, "
           "dilation=3)",
           "lp_pool2d_backward(float16[1,5,9,9]:nhwc, norm_type=2.5, kernel_size=3, stride=2)",
           "lp_pool3d_backward(float64[1,16,9,9,9]:nchw16c, norm_type=3, kernel_size=3)",
           "lp_pool3d_backward(float32[1,33,9,9,9]:nhwc, norm_type=1, kernel_size=3, stride=2)",
       })
    expect_close(spec);
}

// What takes the most registers has a schedule on every instruction set.
TEST(Registers, RefuseNoLayer) {
  for (const char* layout : {"nhwc", "nchw8c", "nchw16c"})
    for (const char* dtype : {"float16", "bfloat16", "float32", "float64"})
      for (const char* norm : {"1", "2", "2.5", "3"})
        for (const char* windows : {"kernel_size=3", "kernel_size=4, stride=2, padding=2, dilation=3"}) {
          const std::string spec = fmt::format("lp_pool3d_backward({}[1,33,11,11,11]:{}, norm_type={}, {})",
                                               dtype, layout, norm, windows);
          const ir::PoolNest nest = make_nest(frontend::parse_spec(spec).value());
          for (const ir::IsaInfo& isa : ir::isa_table) {
            const auto space = ir::schedule_space(nest, isa.isa);
            const auto layer = ir::Layer::of(nest, isa.isa);
            ASSERT_TRUE(layer) << spec;
            EXPECT_TRUE(std::ranges::any_of(
                space, [&](const ir::Schedule& one) { return check(*layer, one).has_value(); }))
                << isa.text << ' ' << spec;
          }
        }
}

// So the register map refuses no schedule of a family that claims its registers.
TEST(Registers, SufficeForWhatIsLegal) {
  for (const char* spec : {
           "avg_pool3d(bfloat16[1,128,9,9,9]:nhwc, kernel_size=2, stride=1)",
           "avg_pool3d(bfloat16[1,256,27,27,27]:nhwc, kernel_size=2, stride=1, count_include_pad=False)",
           "avg_pool2d(float32[1,512,28,28]:nhwc, kernel_size=2)",
           "avg_pool2d(int64[1,640,28,28]:nhwc, kernel_size=7, stride=7)",
           "max_pool2d(float32[1,300,8,8]:nhwc, kernel_size=8)",
       })
    for_each_schedule(spec, [&](const ir::Layer& layer, const ir::Schedule& schedule, int needed) {
      EXPECT_LE(needed, layer.registers()) << info(layer.isa()).text << ' ' << spec << ' ' << print(schedule);
    });
}

}  // namespace
}  // namespace pooljit
