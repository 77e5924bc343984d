// The data of `pooljit bench --file`: means, JSON, Google Benchmark's JSON, the page around it. Nothing is
// measured here.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/bench/families.h"
#include "tools/bench/google_benchmark.h"
#include "tools/bench/page.h"
#include "tools/bench/results.h"

namespace pooljit::tools {
namespace {

using nlohmann::json;

EngineResult engine(const std::string& name, double seconds, std::optional<double> ratio) {
  EngineResult result;
  result.engine = name;
  result.samples = {{seconds, seconds * 1.5, seconds * 0.5}, 7};
  result.call = summarize(result.samples.seconds, 7);
  if (ratio) result.ratio = Timing{*ratio, *ratio * 0.9, *ratio * 1.1, 3};
  return result;
}

// Two layers beside two engines, one of which does only one of them.
BenchResults example() {
  BenchResults results;
  results.command = "pooljit bench --file '</script>'";
  results.is_complete = true;
  results.machine = {{"processor", "toy"}};
  results.caches = {32768, 0, 0};
  results.engines = {{"pooljit", "1"}, {"plain", "2"}, {"other", "3"}, {"idle", "4"}};
  for (const auto& [name, plain, other] : {std::tuple{"a", 2.0, 8.0}, std::tuple{"b", 0.5, 0.0}}) {
    LayerResult layer;
    layer.name = name, layer.spec = "max_pool1d(float32[1,3,40], kernel_size=2)", layer.dtype = "float32";
    layer.bytes_read = 480, layer.bytes_written = 240, layer.outputs = 60;
    layer.compile = {1e-4, 9e-5, 2e-4, 5}, layer.copy = {1e-6, 1e-6, 1e-6, 5};
    layer.engines = {engine("pooljit", 2e-6, std::nullopt), engine("plain", plain * 2e-6, plain)};
    if (other > 0) layer.engines.push_back(engine("other", other * 2e-6, other));
    if (other == 0) layer.left_out = {{"other", "does not"}};
    results.layers.push_back(layer);
  }
  results.families = {{"batch", "batch", "base", {{4, results.layers[0]}}}};
  return results;
}

TEST(BenchResults, MeansAreGeometricAndOfTheLayersThatAnEngineDid) {
  const std::vector<Summary> summaries = summarize(example());
  ASSERT_EQ(summaries.size(), 2U);  // pooljit has no ratio to itself, and "idle" did nothing
  EXPECT_EQ(summaries[0].engine, "plain");
  EXPECT_EQ(summaries[0].layers, 2);
  EXPECT_DOUBLE_EQ(summaries[0].geometric_mean, 1);
  EXPECT_DOUBLE_EQ(summaries[0].least, 0.5);
  EXPECT_EQ(summaries[0].least_layer, "b");
  EXPECT_EQ(summaries[1].layers, 1);
  EXPECT_DOUBLE_EQ(summaries[1].geometric_mean, 8);
}

TEST(BenchResults, TellsWhyTimesMayBeWrong) {
  BenchResults results = example();
  for (LayerResult& layer : results.layers) layer.engines[0].call = {1e-6, 0.95e-6, 1.05e-6, 3};
  results.load_before = {.average = 2.0, .processors = 2};
  results.load_after = {.average = {}, .processors = 2};
  EXPECT_TRUE(disturbances(results).empty());
  results.load_after = {.average = 1.25, .processors = 1};
  results.layers[1].engines[0].call = {1e-6, 0.8e-6, 1.2e-6, 3};
  const auto told = disturbances(results);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0], "the load of the minute at the end of measuring was 1.25 on 1 processor");
  EXPECT_EQ(told[1], "pooljit's times of 1 of 2 layers spread by more than 10 %, of b by 20 %");
  EXPECT_EQ(json::parse(as_json(results))["disturbances"].size(), 2U);
}

TEST(BenchResults, JsonHoldsWhatThePageDraws) {
  const json found = json::parse(as_json(example()));
  EXPECT_EQ(found["format"], "pooljit bench 1");
  EXPECT_EQ(found["complete"], true);
  EXPECT_EQ(found["caches"], json({32768, 0, 0}));
  EXPECT_EQ(found["machine"]["processor"], "toy");
  ASSERT_EQ(found["layers"].size(), 2U);
  const json& layer = found["layers"][0];
  EXPECT_EQ(layer["dtype"], "float32");
  EXPECT_DOUBLE_EQ(layer["copy_bytes_per_second"], 720e6);
  EXPECT_DOUBLE_EQ(layer["compile"]["median_seconds"], 1e-4);
  EXPECT_FALSE(layer["engines"][0].contains("ratio"));
  EXPECT_DOUBLE_EQ(layer["engines"][0]["bytes_per_second"], 360e6);
  EXPECT_DOUBLE_EQ(layer["engines"][0]["share_of_copy_bandwidth"], 0.5);
  EXPECT_DOUBLE_EQ(layer["engines"][2]["ratio"]["median"], 8);
  EXPECT_EQ(found["layers"][1]["left_out"][0]["why"], "does not");
  EXPECT_EQ(found["families"][0]["members"][0]["value"], 4);
  EXPECT_EQ(found["summaries"].size(), 2U);
}

TEST(BenchResults, GoogleBenchmarkSeesRepetitionsAndTheirMedian) {
  const json found = json::parse(as_google_benchmark(example()));
  EXPECT_TRUE(found["context"].contains("num_cpus"));
  std::map<std::string, int> runs;
  for (const json& one : found["benchmarks"]) ++runs[one["name"]];
  EXPECT_EQ(runs["a/pooljit"], 3);  // as many as there are samples, and at most ten
  EXPECT_EQ(runs["a/pooljit_median"], 1);
  EXPECT_EQ(runs["b/other"], 0);
  EXPECT_EQ(runs["batch:4/other"], 3);
  const json& first = found["benchmarks"][0];
  EXPECT_EQ(first["run_type"], "iteration");
  EXPECT_EQ(first["repetitions"], 3);
  EXPECT_EQ(first["repetition_index"], 0);
  EXPECT_EQ(first["iterations"], 7);
  EXPECT_DOUBLE_EQ(first["real_time"], 2000);
  EXPECT_EQ(first["time_unit"], "ns");
}

TEST(BenchResults, ManySamplesAreMergedIntoTenRepetitions) {
  BenchResults results = example();
  EngineResult& ours = results.layers[0].engines[0];
  ours.samples.seconds.clear();
  for (int i = 0; i < 25; ++i) ours.samples.seconds.push_back(1e-9 * (i + 1));
  const json found = json::parse(as_google_benchmark(results));
  std::vector<double> times;
  int iterations = 0;
  for (const json& one : found["benchmarks"])
    if (one["name"] == "a/pooljit") {
      times.push_back(one["real_time"]);
      iterations += one["iterations"].get<int>();
    }
  ASSERT_EQ(times.size(), 10U);
  EXPECT_EQ(iterations, 25 * 7);  // none is lost
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_NEAR(times[0], 1.5, 1e-9);
}

TEST(BenchPage, NothingInTheDataCanEndItsElement) {
  const std::string page = as_page(as_json(example()));
  const size_t begin = page.find("id=\"data\">") + 10, end = page.find("</script>", begin);
  ASSERT_NE(end, std::string::npos);
  const json found = json::parse(page.substr(begin, end - begin));
  EXPECT_EQ(found["command"], "pooljit bench --file '</script>'");
  for (const char* mark : {"/* STYLE */", "/* SCRIPT */", "/* DATA */"})
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
}

TEST(BenchPage, NeedsNoNetwork) {
  std::string page = as_page("{}");
  const std::string space = "\"http://www.w3.org/2000/svg\"";  // a name, not a place
  page.erase(page.find(space), space.size());
  for (const char* link : {"http:", "https:", "url(", " src=", "@import", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(page.find(link), std::string::npos) << link;
}

std::vector<int64_t> values(const FamilyPlan& plan) {
  std::vector<int64_t> found;
  for (const FamilySpec& member : plan.members) found.push_back(member.value);
  return found;
}

TEST(BenchFamilies, DifferInOneNumber) {
  const auto base = frontend::parse_spec("max_pool2d(float32[2,3,12,14]:nhwc, kernel_size=3, stride=2)");
  const auto plans = plan_families(*base, 1, 6);
  ASSERT_TRUE(plans);
  ASSERT_EQ(plans->size(), 3U);
  EXPECT_EQ(values((*plans)[0]), (std::vector<int64_t>{3, 5, 7, 9, 13}));
  EXPECT_EQ(print((*plans)[0].members[1].spec),
            "max_pool2d(float32[2,3,12,14]:nhwc, kernel_size=5, stride=1, padding=2)");
  EXPECT_EQ(values((*plans)[1]), (std::vector<int64_t>{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(print((*plans)[1].members[2].spec),
            "max_pool2d(float32[4,3,12,14]:nhwc, kernel_size=3, stride=2)");
  EXPECT_EQ(values((*plans)[2]), (std::vector<int64_t>{1, 2, 4, 6}));
  EXPECT_EQ((*plans)[2].members[3].threads, 6);
}

TEST(BenchFamilies, OfSeveralPoolsChangeThemAll) {
  const auto base = frontend::parse_spec("pools(float32[2,3,12,14], max_pool2d(3), avg_pool2d(5))");
  const auto plans = plan_families(*base, 1, 2);
  ASSERT_TRUE(plans);
  EXPECT_EQ(print((*plans)[0].members[1].spec),
            "pools(float32[2,3,12,14], max_pool2d(kernel_size=5, stride=1, padding=2), "
            "avg_pool2d(kernel_size=5, stride=1, padding=2))");
  EXPECT_EQ(print((*plans)[1].members[2].spec),
            "pools(float32[4,3,12,14], max_pool2d(kernel_size=3), avg_pool2d(kernel_size=5))");
}

TEST(BenchFamilies, AreOfFixedWindows) {
  for (const char* text : {"adaptive_max_pool2d(float32[1,3,12,12], output_size=3)",
                           "max_pool2d(float32[3,12,12], kernel_size=3)",
                           "max_pool2d(float32[1,3,12,12], kernel_size=3, strides=[1000,300,14,1])"}) {
    const auto plans = plan_families(*frontend::parse_spec(text), 1, 2);
    ASSERT_FALSE(plans) << text;
    EXPECT_EQ(plans.error().id, "bench.family");
  }
}

}  // namespace
}  // namespace pooljit::tools
