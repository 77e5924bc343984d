// Engines with one planted fault each: the oracle, but for some outputs. None of these faults may be
// explained: a campaign that knows the engine's rules reports each. And engines with rules of their own that
// they keep everywhere: nothing is reported of them.
#include <fmt/ranges.h>

#include <csignal>

#include "ir/split.h"
#include "tests/fuzz/planted_engine.h"
#include "tools/fuzz/probes.h"

namespace pooljit::fuzz {
namespace {

const Planted wrong[] = {
    // Maxima: values.
    {"42 where there is a NaN", "max_pool2d(float32[",
     [](At& at) {
       if (at.facts.has_nan) at.value = 42;
     }},
    {"0 where there is a NaN", "max_pool2d(float32[",
     [](At& at) {
       if (at.facts.has_nan) at.value = 0;
     }},
    {"a NaN is lost in the tail", "max_pool2d(float32[",
     [](At& at) {
       if (at.is_in_tail()) ignores_nan(at);
     }},
    {"a NaN wins in the tail only", "max_pool2d(float32[",
     [](At& at) {
       if (!at.is_in_tail()) ignores_nan(at);
     }},
    {"-inf only: lowest in the last column", "max_pool2d(float32[",
     [](At& at) {
       if (at.is_last_column() && at.value == -INFINITY) at.value = at.lowest();
     }},
    {"-inf only: lowest but in the last column", "max_pool2d(float32[",
     [](At& at) {
       if (!at.is_last_column() && at.value == -INFINITY) at.value = at.lowest();
     }},
    {"-inf only: 0 beyond four columns", "max_pool2d(float32[",
     [](At& at) {
       if (at.columns() > 4 && at.value == -INFINITY) at.value = 0;
     }},
    {"lowest in the tail, whatever the taps", "max_pool2d(float32[",
     [](At& at) {
       if (at.value == -INFINITY || at.is_in_tail()) at.value = at.lowest();
     }},
    {"the smallest normal number is flushed", "max_pool2d(float32[",
     [](At& at) {
       if (std::abs(at.value) <= 0x1p-126L) at.value = 0;
     }},
    {"one unit too low in windows of six taps", "max_pool2d(float32[",
     [](At& at) {
       if (at.taps() == 6) at.value = std::nextafterf(float(at.value), -INFINITY);
     }},
    {"inf becomes the highest number in the tail", "max_pool2d(float32[",
     [](At& at) {
       if (at.is_in_tail() && at.value == INFINITY) at.value = -at.lowest();
     }},
    {"no tap: 42 beyond one output", "max_pool2d(float32[",
     [](At& at) {
       if (at.columns() > 1 && at.taps() == 0) at.value = 42;
     }},
    {"int32 beyond 2^24 is 128 too large", "max_pool2d(int32[",
     [](At& at) {
       if (std::abs(at.value) > 0x1p24L && at.value < 0x1p30L) at.value += 128;
     }},
    {"a minimum loses its NaN in the tail", "min_pool2d(float32[",
     [](At& at) {
       if (at.is_in_tail() && at.facts.has_nan && at.has_number()) at.value = at.facts.least;
     }},
    // Maxima: indices.
    {"index -12345 of int8", "max_pool2d(int8[", [](At& at) { at.index = -12345; }},
    {"index of another tap of int8", "max_pool2d(int8[",
     [](At& at) {
       if (at.taps() > 2) ++at.index;
     }},
    {"ties: the last one beyond four taps", "max_pool2d(int8[",
     [](At& at) {
       if (at.taps() > 4 && at.facts.equals > 1) at.index = at.facts.last_equal;
     }},
    {"ties: the last one but in the tail", "max_pool2d(float32[",
     [](At& at) {
       if (!at.is_in_tail() && at.facts.equals > 1) at.index = at.facts.last_equal;
     }},
    {"ties: the last one in the tail", "max_pool2d(uint8[",
     [](At& at) {
       if (at.is_in_tail() && at.facts.equals > 1) at.index = at.facts.last_equal;
     }},
    {"a NaN is ignored, its index stays", "max_pool2d(float32[", ignores_nan},
    {"no tap: an index beyond the input", "max_pool2d(float32[",
     [](At& at) {
       if (at.taps() == 0) at.index = 1 << 20;
     }},
    // Averages of integers.
    {"an average of zeros is 1", "avg_pool2d(uint8[",
     [](At& at) {
       if (at.taps() > 1 && at.facts.sum == 0) at.value = 1;
     }},
    {"truncated in the tail", "avg_pool2d(int8[",
     [](At& at) {
       if (at.is_in_tail()) at.value = std::trunc(at.facts.mean);
     }},
    {"truncated but in the tail", "avg_pool2d(int32[",
     [](At& at) {
       if (!at.is_in_tail()) at.value = std::trunc(at.facts.mean);
     }},
    {"rounded up where nothing is to be rounded", "avg_pool2d(uint8[",
     [](At& at) { at.value = std::min<Number>(std::floor(at.facts.mean) + 1, 255); }},
    {"sums of bytes wrap at 10 bits", "avg_pool2d(uint8[",
     [](At& at) {
       if (at.facts.sum > 1024) at.value = std::floor((at.facts.sum - 1024) / at.facts.divisor);
     }},
    {"wrapped sums are 5000 off", "avg_pool2d(int32[",
     [](At& at) {
       if (std::abs(at.facts.sum) > 0x1p31L)
         at.value = std::round(std::remainder(at.facts.sum, 0x1p32L) / at.facts.divisor) + 5000;
     }},
    // Averages of floats.
    {"half as large again in windows of 9 taps", "avg_pool2d(bfloat16[",
     [](At& at) {
       if (at.taps() == 9) at.value *= 1.5L;
     }},
    {"the whole kernel divides in the last column", "avg_pool2d(float32[",
     [](At& at) {
       if (at.is_last_column() && at.taps() > 1) at.value *= at.facts.divisor / (at.facts.divisor + 1);
     }},
    {"an average ignores NaN", "avg_pool2d(float32[",
     [](At& at) {
       if (at.facts.has_nan) at.value = at.facts.greatest;
     }},
    {"an average beyond 64 is inf", "avg_pool2d(float32[",
     [](At& at) {
       if (at.value > 64) at.value = INFINITY;
     }},
    {"a sum is one tap short in the tail", "sum_pool2d(float32[",
     [](At& at) {
       if (at.is_in_tail()) at.value -= at.facts.greatest;
     }},
    {"NaN becomes inf in the tail", "avg_pool2d(float32[",
     [](At& at) {
       if (at.is_in_tail() && std::isnan(at.value)) at.value = INFINITY;
     }},
    {"no tap: an average of 7", "avg_pool2d(float32[",
     [](At& at) {
       if (at.taps() == 0) at.value = 7;
     }},
};
const Planted consistent[] = {
    {"right", "max_pool2d(float32[", [](At&) {}},
    {"NaN never wins", "max_pool2d(float32[", ignores_nan_and_its_index},
    {"ties: the last one", "max_pool2d(int8[",
     [](At& at) {
       if (at.facts.equals > 1) at.index = at.facts.last_equal;
     }},
    {"the lowest number", "max_pool2d(float32[",
     [](At& at) {
       if (at.value == -INFINITY) at.value = at.lowest();
     }},
    {"truncates", "avg_pool2d(int8[", [](At& at) { at.value = std::trunc(at.facts.mean); }},
    {"half away from zero", "avg_pool2d(int16[", [](At& at) { at.value = std::round(at.facts.mean); }},
    {"half up", "avg_pool2d(int32[", [](At& at) { at.value = std::floor(at.facts.mean + 0.5L); }},
    {"NaN is inf", "avg_pool2d(float32[",
     [](At& at) {
       if (std::isnan(at.value)) at.value = INFINITY;
     }},
};

TEST(PlantedRules, NoFaultIsExplained) {
  for (const Planted& one : wrong) {
    SCOPED_TRACE(one.name);
    planted = &one;
    const CampaignReport report = campaign(OtherEngine::of(run_planted), one.only, 250);
    ASSERT_EQ(report.failures.size(), 1U)
        << report.tried << " tried, " << report.agree << " agree, " << report.accepted << " accepted";
    EXPECT_NE(report.failures[0].outcome.kind, Kind::crash) << report.failures[0].outcome.failure;
  }
}

TEST(PlantedRules, ARuleThatIsKeptIsNoFinding) {
  for (const Planted& one : consistent) {
    SCOPED_TRACE(one.name);
    planted = &one;
    const CampaignReport report = campaign(OtherEngine::of(run_planted), one.only, 12);
    EXPECT_EQ(report.failures.size(), 0U) << told(report);
    EXPECT_EQ(report.accepted > 0, &one != &consistent[0]);
  }
}

// A plan is kept by all that a layer says but its dilation.
int run_stale(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  static std::map<std::string, std::string> plans;
  if (*layer->other || layer->backward || layer->adaptive || layer->quantized || layer->epilogue_steps > 0)
    return POOLJIT_ENGINE_UNSUPPORTED;
  const PoolSpec spec = *frontend::parse_spec(layer->spec);
  PoolSpec key = spec;
  for (frontend::SpecDim& dim : key.dims) dim.dilation = 1, dim.pad_end = 0;
  const std::string& plan =
      plans.try_emplace(print(key) + fmt::format("{}", fmt::join(output_shape(spec), ",")), layer->spec)
          .first->second;
  ir::evaluate(make_nest(*frontend::parse_spec(plan)), spec.batch.value_or(1), input, output, indices);
  return POOLJIT_ENGINE_DONE;
}

TEST(PlantedRules, APlanOfAnotherLayerIsFound) {
  const CampaignReport report = campaign(OtherEngine::of(run_stale), "max_pool2d(float32[", 600);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_NE(report.failures[0].smallest.before, "");
}

int run_right(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  const PoolSpec spec = *frontend::parse_spec(layer->spec);
  ir::evaluate(make_nest(spec), spec.batch.value_or(1), input, output, indices);
  return POOLJIT_ENGINE_DONE;
}

int run_dies_of_dilation(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  for (int d = 0; d < layer->spatial_rank; ++d)
    if (layer->dilation[d] > 1) std::raise(SIGSEGV);
  return run_right(layer, input, output, indices);
}

// Layers without dilation are not to blame for what the engine was called with before them.
TEST(PlantedRules, ANeighbourThatIsDiedOfIsTheFinding) {
  const CampaignReport report = campaign(OtherEngine::of(run_dies_of_dilation), "max_pool2d(float32[", 60,
                                         {{"crash", "*dilation=*", "a bug that is known"}});
  EXPECT_EQ(report.failures.size(), 0U) << (report.failures.empty() ? "" : report.failures[0].cause);
  EXPECT_GT(report.by_label.at("crash"), 5);
  // What came before a crash in its process is not lost.
  EXPECT_EQ(report.tried, report.agree + report.accepted + report.unsupported);
  EXPECT_GT(report.agree, 5);
}

// The oracle gives each probe its first answer.
TEST(Probes, TheFirstAnswerIsOurs) {
  const auto rules = learn_rules(OtherEngine::of(run_right), 10);
  ASSERT_TRUE(rules);
  std::map<std::string, int> found;
  for (const RuleFound& one : rules->found) {
    SCOPED_TRACE(one.aspect + " of " + one.dtype + ": " + one.rule);
    ++found[one.aspect];
    EXPECT_TRUE(one.is_ours);
    const auto probe = std::ranges::find(probes(), one.aspect, &EngineProbe::aspect);
    EXPECT_EQ(one.rule, probe->answers[0].rule);
  }
  for (const EngineProbe& probe : probes())
    EXPECT_EQ(found[std::string(probe.aspect)], std::ssize(ir::split(probe.dtypes, ' '))) << probe.aspect;
}

}  // namespace
}  // namespace pooljit::fuzz
