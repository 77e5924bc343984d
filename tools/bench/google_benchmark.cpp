#include "tools/bench/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/machine.h"
#include "runtime/options.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t most_repetitions = 10;

Json context(const BenchResults& results) {
  Json caches = Json::array();
  int level = 0;
  for (const int64_t bytes : runtime::machine().caches.bytes)
    if (++level; bytes > 0)
      caches.push_back(
          {{"type", level == 1 ? "Data" : "Unified"}, {"level", level}, {"size", bytes}, {"num_sharing", 0}});
  double load[3] = {};
  const int loads = std::max(0, ::getloadavg(load, 3));
  return {{"date", results.date},
          {"executable", results.command},
          {"num_cpus", runtime::thread_count({.threads = 0})},
          {"caches", caches},
          {"load_avg", std::vector<double>(load, load + loads)},
          {"library_build_type", "release"}};
}

class Writer {
 public:
  void add(const std::string& name, const LayerResult& layer) {
    for (const EngineResult& engine : layer.engines) add(name + "/" + engine.engine, layer, engine);
    ++family_;
  }
  Json take() { return std::move(benchmarks_); }

 private:
  void add(const std::string& name, const LayerResult& layer, const EngineResult& engine) {
    const std::vector<double>& samples = engine.samples.seconds;
    const size_t repetitions = std::min(most_repetitions, samples.size());
    const auto row = [&](const char* type, double seconds, size_t calls) -> Json {
      return {{"name", name},
              {"family_index", family_},
              {"per_family_instance_index", 0},
              {"run_name", name},
              {"run_type", type},
              {"repetitions", repetitions},
              {"threads", layer.threads},
              {"iterations", calls},
              {"real_time", seconds * 1e9},
              {"cpu_time", seconds * 1e9},
              {"time_unit", "ns"},
              {"bytes_per_second", double(layer.bytes()) / seconds},
              {"label", layer.spec}};
    };
    for (size_t i = 0; i < repetitions; ++i) {
      const auto at = [&](size_t share) {
        return samples.begin() + std::ptrdiff_t(samples.size() * share / repetitions);
      };
      const std::vector<double> part(at(i), at(i + 1));
      benchmarks_.push_back(
          row("iteration", summarize(part).median, part.size() * size_t(engine.samples.calls_per_sample)));
      benchmarks_.back()["repetition_index"] = i;
    }
    benchmarks_.push_back(row("aggregate", engine.call.median, repetitions));
    benchmarks_.back()["name"] = name + "_median";
    benchmarks_.back()["aggregate_name"] = "median";
    benchmarks_.back()["aggregate_unit"] = "time";
  }

  Json benchmarks_ = Json::array();
  int family_ = 0;
};

}  // namespace

std::string as_google_benchmark(const BenchResults& results) {
  Writer writer;
  for (const LayerResult& layer : results.layers) writer.add(layer.name, layer);
  for (const LayerFamily& family : results.families)
    for (const FamilyMember& member : family.members)
      writer.add(fmt::format("{}:{}", family.name, member.value), member.layer);
  return Json({{"context", context(results)}, {"benchmarks", writer.take()}}).dump(1) + "\n";
}

}  // namespace pooljit::tools
