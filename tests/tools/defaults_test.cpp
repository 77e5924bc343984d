// Which schedule each problem gets by default: a changed opinion is a readable difference of
// tests/golden/defaults/. And whatever the layer, its default compiles.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontend/check.h"
#include "golden.h"
#include "ir/choose/enumerate.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "jit/backend.h"
#include "runtime/engines.h"
#include "tools/fuzz/random_spec.h"
#include "tools/problem_file.h"

namespace pooljit::tools {
namespace {

constexpr const char* files[] = {"networks", "large", "pairs", "benchdnn"};
constexpr ir::DType dtypes[] = {ir::DType::f32, ir::DType::bf16, ir::DType::u8};
constexpr frontend::Layout layouts[] = {frontend::Layout::nchw, frontend::Layout::nhwc};

// The problem's layer in another dtype and layout; none if that is not done.
std::optional<frontend::PoolSpec> variant(const std::string& text, ir::DType dtype, frontend::Layout layout) {
  auto spec = frontend::parse_spec(text);
  if (!spec) return std::nullopt;
  spec->dtype = dtype;
  spec->layout = layout;
  spec->output_layout.reset();
  const auto checked = frontend::check_spec(*spec);
  return checked ? std::optional(*checked) : std::nullopt;
}

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all = [] {
    std::vector<Problem> found;
    for (const char* file : files) {
      const auto read = read_problems(fmt::format("{}/bench/problems/{}.txt", POOLJIT_SOURCE_DIR, file));
      EXPECT_TRUE(read) << file;
      for (Problem problem : *read) {
        problem.name = fmt::format("{}: {}", file, problem.name);
        found.push_back(problem);
      }
    }
    return found;
  }();
  return all;
}

std::string default_of(const frontend::PoolSpec& spec, ir::Isa isa, const ir::Machine& machine) {
  return ir::print(ir::enumerate_schedules(make_nest(spec), isa, 1, machine).front());
}

// A line for each problem; of another machine than the generic one only those that differ.
std::string defaults(const test::GoldenKeys& keys) {
  const ir::Machine machine = *ir::find_machine(keys.at("machine"));
  const bool is_generic = machine == ir::generic_machine;
  std::string text;
  for (const ir::IsaInfo& isa : ir::isa_table)
    for (const ir::DType dtype : dtypes)
      for (const frontend::Layout layout : layouts) {
        const std::string name = layout == frontend::Layout::nchw ? "nchw" : "nhwc";
        const std::string title = fmt::format("{} {} {}", isa.text, ir::info(dtype).spec_name, name);
        if (is_generic && title != keys.at("layers")) continue;
        for (const Problem& problem : problems()) {
          const auto spec = variant(problem.spec, dtype, layout);
          if (!spec) continue;
          const std::string found = default_of(*spec, isa.isa, machine);
          if (is_generic)
            text += fmt::format("{:<34} {}\n", problem.name, found);
          else if (const std::string usual = default_of(*spec, isa.isa, ir::generic_machine); usual != found)
            text += fmt::format("{} {:<34} {}\n", title, problem.name, found);
        }
      }
  return text;
}

TEST(Defaults, AreAsTheGoldenFilesSay) { test::check_golden("defaults", defaults); }

// Every row of ir/machine.def has a file, and every combination of the generic one.
TEST(Defaults, EveryMachineHasItsFile) {
  const auto exists = [](const std::string& name) {
    return std::filesystem::exists(fmt::format("{}/defaults/{}.txt", POOLJIT_GOLDEN_DIR, name));
  };
  std::string names(ir::machine_names());
  for (std::string name; !names.empty();) {
    const size_t comma = std::min(names.find(", "), names.size());
    name = names.substr(0, comma);
    names.erase(0, comma + 2);
    EXPECT_TRUE(exists(name == "generic" ? "generic-avx2-float32-nchw" : name)) << name;
  }
}

ir::Result<jit::CodeBlob> emit(const ir::PoolNest& nest, const ir::Schedule& schedule, ir::Isa isa) {
  const auto program = ir::lower(nest, schedule, isa).and_then(ir::legalize);
  if (!program) return tl::unexpected(program.error());
  return jit::emit(jit::BackendId::xbyak, *program);
}

// Of what the chooser offers for a spec, what cannot be made: the registers do not suffice.
std::vector<std::string> impossible(const frontend::PoolSpec& spec, ir::Isa isa) {
  const ir::PoolNest nest = make_nest(spec);
  std::vector<std::string> found;
  for (const ir::Schedule& schedule : ir::enumerate_schedules(nest, isa))
    if (const auto code = emit(nest, schedule, isa); !code && code.error().id == "schedule.registers")
      found.push_back(fmt::format("{} {}: {}", info(isa).text, print(spec), ir::print(schedule)));
  return found;
}

// Of a spec that fails: what the default schedule is refused for, as compile() takes it.
std::string refusal(const frontend::PoolSpec& spec, ir::Isa isa) {
  const ir::PoolNest nest = make_nest(spec);
  runtime::Choices choices;
  choices.isa = isa;
  const auto made = runtime::make_with_registers(
      nest, choices, [&](const ir::Schedule& schedule) { return emit(nest, schedule, isa); });
  return made ? "" : std::string(made.error().id);
}

TEST(Defaults, Compile) {
  constexpr const char* specs[] = {
      ("sum_pool3d(int64[1,9,37,64,7], [5,3,3], [4,2,2], dilation=[2,1,2], ceil_mode=True, "
       "output_layout=nchw16c)"),
      "avg_pool2d(int64[1,64,28,28]:nhwc, kernel_size=3)",
      "avg_pool2d(int64[1,640,28,28]:nhwc, kernel_size=7, stride=7)",
      "sum_pool2d(int64[1,40,28,28]:nchw16c, kernel_size=3, output_dtype=float32)",
      // Found by a sweep of 40,000: the first that is offered needs too many registers, the next one is
      // taken.
      "avg_pool3d(bfloat16[1,256,27,27,27]:nhwc, kernel_size=2, stride=1, count_include_pad=False)",
      "avg_pool2d(float16[1,56,300,300]:nhwc, kernel_size=300)",
      // The same of what is offered behind the first.
      "lp_pool3d(float32[1,7,2,2,33], kernel_size=[2,2,33], padding=[2,2,2,0,0,0], ceil_mode=plain)",
      "adaptive_avg_pool3d(float32[1,7,2,2,70], output_size=[3,17,1], strides=[1960,280,0,70,1])",
  };
  for (const char* text : specs)
    for (const ir::IsaInfo& isa : ir::isa_table) {
      const auto spec = frontend::parse_spec(text);
      ASSERT_TRUE(spec) << text;
      EXPECT_EQ(refusal(*spec, isa.isa), "") << isa.text << ' ' << text;
    }
}

// Eight vectors side by side fill the file of AVX2 where an element goes through no register of its own; sums
// hold one for each dimension that they grow along, and masks that are vectors take registers too.
TEST(Defaults, HaveTheRegistersThatTheyNeed) {
  constexpr const char* specs[] = {
      "max_pool2d(float32[1,300,8,8]:nhwc, kernel_size=8)",
      "max_pool2d(float32[1,300,30,7]:nhwc, kernel_size=[30,7])",
      "avg_pool2d(float64[1,80,8,9]:nhwc, kernel_size=[7,9], epilogue=[scale_channel, add(float64), relu])",
      "lp_pool2d(float32[1,300,7,7]:nhwc, norm_type=2, kernel_size=7)",
      "lp_pool2d(float32[2,17,4,8]:nhwc, norm_type=2.7, kernel_size=[3,4])",
      "lp_pool3d(float32[2,17,4,4,8]:nhwc, norm_type=3, kernel_size=[2,2,4])",
      "adaptive_max_pool2d(float32[9,5,40], output_size=3, output_layout=nhwc)",
      "avg_pool2d(float32[64,1,8], kernel_size=7, padding=[0,0,3,3], ceil_mode=True, strides=[8,0,1])",
      "avg_pool2d(float64[2,9,9,17], kernel_size=7, stride=4, output_dtype=int64, strides=[2754,306,34,2])",
      "adaptive_avg_pool3d(float64[1,31,4,4,3]:nhwc, output_size=1)",
      "adaptive_avg_pool2d(float64[1,31,7,7]:nhwc, output_size=1)",
      "avg_pool2d(float64[1,32,7,7]:nhwc, kernel_size=7)",
      "adaptive_avg_pool3d(float32[1,512,4,4,3]:nhwc, output_size=1)",
      "avg_pool3d(float32[1,512,8,8,8]:nhwc, kernel_size=2)",
      // Pixels whose channels do not lie next to each other.
      "avg_pool2d(float32[16,64,32,32], kernel_size=3, stride=2, padding=[0,0,1,1])",
      // Two vectors side by side, of six taps each before they roll.
      "max_pool3d(float32[1,15,5,5,20]:nchw16c, [3,2,3], 1, padding=[4,3,4], dilation=[1,2,1])",
  };
  for (const char* text : specs)
    for (const ir::IsaInfo& isa : ir::isa_table)
      EXPECT_EQ(impossible(*frontend::parse_spec(text), isa.isa), std::vector<std::string>());
  fuzz::Draw draw(20261128);
  for (int i = 0; i < 1500; ++i) {
    const frontend::PoolSpec spec = fuzz::random_spec(draw);
    if (spec.direction == ir::Direction::unpool) continue;
    for (const ir::IsaInfo& isa : ir::isa_table)
      EXPECT_EQ(impossible(spec, isa.isa), std::vector<std::string>());
  }
}

// Layers with adjacent elements that had one lane: the registers lacked room for what was offered first, the
// code was too long, or one lane was predicted to be as fast.
TEST(Defaults, FillVectorsWhereElementsAreAdjacent) {
  constexpr const char* specs[] = {
      // Rows of windows as parts of a sum: fewer states.
      "lp_pool3d(bfloat16[3,16,2,2,17], kernel_size=[2,2,17], norm_type=2.7)",
      "global_lp_pool3d(float16[9,9,5,199], norm_type=2.7, strides=[199,0,1791,1])",
      "adaptive_avg_pool3d(float16[2,9,3,5,77]:nhwc, output_size=1, strides=[10395,77,693,2079,1])",
      "prod_pool3d(bfloat16[1,33,7,14,143], kernel_size=[7,14,143], padding=[0,1,0])",
      // Fewer lanes.
      "prod_pool1d(int16[2,327], kernel_size=9, stride=17, padding=4, ceil_mode=plain, output_dtype=uint8)",
      "max_pool3d(int8[7,1,37,2128], kernel_size=[1,37,2128], stride=2, padding=[0,1,0], "
      "return_indices=True)",
      // Many unlike windows, each in a loop; neighbours that have one window.
      "adaptive_avg_pool2d(float64[2,12,2,11315], output_size=[7,41])",
      "adaptive_max_pool1d_backward(float64[8,20302], output_size=3)",
      "adaptive_avg_pool3d_backward(float16[4,7,9,12,1154], output_size=[2,2,12], strides=[336,48,0,12,1])",
      "avg_pool2d_backward(bfloat16[2,2,16,767], kernel_size=[6,25], stride=1, padding=[8,9,3,12], "
      "count_include_pad=False)",
      // Many windows in few runs of alike ones.
      "adaptive_avg_pool3d(bfloat16[270,1,12,1144], output_size=[4,3,71])",
      "adaptive_max_pool2d(int16[16,12,3242], output_size=[1,128])",
      // Rows of one output: vectors of channels, lane by lane.
      "prod_pool3d(float16[8,31,5,9,2], kernel_size=[5,9,2], stride=3, padding=[0,1,0], ceil_mode=True)",
      "sum_pool3d(float16[4,129,5,2,3], kernel_size=1, stride=3, padding=[0,0,0,-1,-1,-1])",
  };
  for (const char* text : specs)
    for (const ir::IsaInfo& isa : ir::isa_table) {
      const ir::PoolNest nest = make_nest(*frontend::parse_spec(text));
      runtime::Choices choices;
      choices.isa = isa.isa;
      const auto made = runtime::make_with_registers(
          nest, choices, [&](const ir::Schedule& schedule) -> ir::Result<ir::Schedule> {
            return emit(nest, schedule, isa.isa).map([&](const jit::CodeBlob&) { return schedule; });
          });
      ASSERT_TRUE(made) << text;
      EXPECT_GT(made->lanes, 1) << isa.text << ' ' << text;
    }
}

// Should the chooser be wrong about registers, compiling takes what it offers next; no other error is its
// business, nor a schedule that was asked for.
TEST(Defaults, GiveWayWhereRegistersDoNotSuffice) {
  const ir::PoolNest nest = make_nest(*frontend::parse_spec("max_pool2d(float32[1,64,9,9], kernel_size=3)"));
  runtime::Choices choices;
  const std::vector<ir::Schedule> offered = runtime::offered_schedules(nest, choices);
  ASSERT_GT(offered.size(), 1U);
  const auto make = [&](const char* id) {
    return runtime::make_with_registers(nest, choices,
                                        [&](const ir::Schedule& schedule) -> ir::Result<ir::Schedule> {
                                          if (schedule == offered[0])
                                            return tl::unexpected(ir::unsupported(id, "no"));
                                          return schedule;
                                        });
  };
  ASSERT_TRUE(make("schedule.registers"));
  EXPECT_EQ(*make("schedule.registers"), offered[1]);
  EXPECT_EQ(make("schedule.strides").error().id, "schedule.strides");
  choices.schedule = offered[0];
  EXPECT_EQ(make("schedule.registers").error().id, "schedule.registers");
}

}  // namespace
}  // namespace pooljit::tools
