// Whatever a spec says, compiling it takes no more than docs/safety.md promises.
#include "tests/compile_cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/pool_spec.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lower.h"
#include "runtime/cpu_features.h"

namespace pooljit::tests {
namespace {

// Of a row of so many taps in straight-line code, one vector of channels; none if the dtype has no such
// layer.
struct StraightCode {
  int64_t instructions, tap_length;
};
std::optional<StraightCode> straight_code(const std::string& spec, ir::Isa isa) {
  const auto parsed = frontend::parse_spec(spec);
  if (!parsed) return std::nullopt;
  const ir::PoolNest nest = frontend::make_nest(*parsed);
  const auto facts = ir::reduction_facts(nest, isa, ir::LaneUse::fixed);
  if (!facts) return std::nullopt;
  ir::Schedule schedule{.tail = ir::Tail::split};
  schedule.lanes = info(isa).vector_bytes / facts->working_bytes;
  const auto program = ir::lower(nest, schedule, isa).and_then(ir::legalize);
  if (!program) return std::nullopt;
  return StraightCode{std::ssize(program->insts), facts->tap_length};
}

// Rules bound code by the taps in it: 16384 of less than ten instructions are 64 MiB while they are compiled.
TEST(CompileCost, NoTapIsLongerThanItIsCounted) {
  constexpr int64_t most_instructions = 9, few = 10, many = 20;
  constexpr std::string_view layers[] = {
      "max_pool2d({}, [1,{}], 1)",
      "max_pool2d({}, [1,{}], 1, return_indices=True)",
      "min_pool2d({}, [1,{}], 1)",
      "sum_pool2d({}, [1,{}], 1)",
      "avg_pool2d({}, [1,{}], 1)",
      "avg_pool2d({}, [1,{}], 1, padding=[0,3], count_include_pad=False)",
      "max_pool2d_backward({}, [1,{}], 1)",
      "avg_pool2d_backward({}, [1,{}], 1)",
      "avg_pool2d_backward({}, [1,{}], 1, padding=[0,3], count_include_pad=False)",
      "lp_pool2d({}, 1, [1,{}], 1)",
      "lp_pool2d({}, 2, [1,{}], 1)",
      "lp_pool2d({}, 4, [1,{}], 1)",
      "lp_pool2d({}, 15, [1,{}], 1)",
      "lp_pool2d({}, 2.7, [1,{}], 1)",
      "lp_pool2d({}, inf, [1,{}], 1)",
  };
  int measured = 0;
  for (const ir::IsaInfo& isa : ir::isa_table)
    for (const ir::DTypeInfo& dtype : ir::dtype_table)
      for (const std::string_view layer : layers) {
        const std::string input = fmt::format("{}[1,64,8,200]:nhwc", dtype.spec_name);
        const auto spec = [&](int64_t taps) { return fmt::format(fmt::runtime(layer), input, taps); };
        const auto less = straight_code(spec(few), isa.isa), more = straight_code(spec(many), isa.isa);
        if (!less || !more) continue;
        ++measured;
        EXPECT_LE(more->instructions - less->instructions,
                  most_instructions * more->tap_length * (many - few))
            << isa.text << ' ' << spec(many);
      }
  EXPECT_GT(measured, 150);
}

TEST(CompileCost, DoesNotGrowWithWhatASpecSays) {
  ASSERT_EQ(unverified, 0);
  std::ifstream file(POOLJIT_GOLDEN_DIR "/costly_specs.txt");
  int specs = 0;
  for (std::string spec; std::getline(file, spec);) {
    if (spec.starts_with('#')) continue;
    ++specs;
    for (const ir::IsaInfo& isa : ir::isa_table) {
      if (!runtime::can_run(isa.isa)) continue;
      const std::string who = fmt::format("{} {}", isa.text, spec);
      std::string why;
      const CompileCost cost = compile_cost(spec, {.isa = std::string(isa.text), .threads = 1}, &why);
      EXPECT_LE(cost.held, most_of_compile.held) << who;
      EXPECT_LE(cost.allocated, most_of_compile.allocated) << who;
      EXPECT_LE(cost.code, most_of_compile.code) << who;
      EXPECT_TRUE(why.empty() || why == "spec.overflow" || why.starts_with("spec.unsupported_"))
          << why << ": " << who;
    }
  }
  EXPECT_GT(specs, 50);
}

}  // namespace
}  // namespace pooljit::tests
