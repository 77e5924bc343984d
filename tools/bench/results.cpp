#include "tools/bench/results.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

Json seconds_json(const Timing& timing) {
  return {{"median_seconds", timing.median},
          {"first_quartile_seconds", timing.first_quartile},
          {"third_quartile_seconds", timing.third_quartile},
          {"p10_seconds", timing.p10},
          {"p90_seconds", timing.p90},
          {"p99_seconds", timing.p99},
          {"samples", timing.samples},
          {"calls_per_sample", timing.calls_per_sample}};
}

Json ratio_json(const Timing& ratio) {
  return {{"median", ratio.median},
          {"first_quartile", ratio.first_quartile},
          {"third_quartile", ratio.third_quartile}};
}

template <typename Items, typename Make>
Json list(const Items& items, Make make) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(make(item));
  return array;
}

Json engine_json(const LayerResult& layer, const EngineResult& engine) {
  Json json = {{"engine", engine.engine},
               {"call", seconds_json(engine.call)},
               {"bytes_per_second", layer.bandwidth(engine)},
               {"share_of_copy_bandwidth", layer.share(engine)},
               {"differences", engine.differences}};
  if (engine.setup_seconds > 0) json["setup_seconds"] = engine.setup_seconds;
  if (engine.ratio) json["ratio"] = ratio_json(*engine.ratio);
  return json;
}

Json left_out_json(const LeftOut& one) { return {{"engine", one.engine}, {"why", one.why}}; }

Json layer_json(const LayerResult& layer) {
  return {{"name", layer.name},
          {"spec", layer.spec},
          {"dtype", layer.dtype},
          {"schedule", layer.schedule},
          {"schedule_origin", layer.schedule_origin},
          {"threads", layer.threads},
          {"bytes_read", layer.bytes_read},
          {"bytes_written", layer.bytes_written},
          {"outputs", layer.outputs},
          {"compile", seconds_json(layer.compile)},
          {"copy", seconds_json(layer.copy)},
          {"copy_streams", layer.copy_streams},
          {"copy_bytes_per_second", double(layer.bytes()) / layer.copy.median},
          {"engines", list(layer.engines, [&](const auto& one) { return engine_json(layer, one); })},
          {"left_out", list(layer.left_out, left_out_json)}};
}

Json family_json(const LayerFamily& family) {
  return {{"name", family.name},
          {"axis", family.axis},
          {"base", family.base},
          {"members", list(family.members, [](const FamilyMember& member) {
             Json json = layer_json(member.layer);
             json["value"] = member.value;
             return json;
           })}};
}

Json summary_json(const Summary& summary) {
  return {{"engine", summary.engine},
          {"layers", summary.layers},
          {"geometric_mean", summary.geometric_mean},
          {"least", summary.least},
          {"least_layer", summary.least_layer}};
}

}  // namespace

bool is_ours(const EngineResult& result) {
  return result.engine == pooljit_name || result.engine == exact_name;
}

std::vector<Summary> summarize(const BenchResults& results) {
  std::vector<Summary> summaries;
  for (const MeasuredEngine& info : results.engines) {
    Summary summary{.engine = info.name, .least = std::numeric_limits<double>::infinity(), .least_layer = {}};
    double logarithms = 0;
    for (const LayerResult& layer : results.layers)
      for (const EngineResult& engine : layer.engines) {
        if (engine.engine != info.name || !engine.ratio) continue;
        ++summary.layers;
        logarithms += std::log(engine.ratio->median);
        if (engine.ratio->median >= summary.least) continue;
        summary.least = engine.ratio->median;
        summary.least_layer = layer.name;
      }
    if (summary.layers == 0) continue;
    summary.geometric_mean = std::exp(logarithms / summary.layers);
    summaries.push_back(summary);
  }
  return summaries;
}

std::vector<std::string> disturbances(const BenchResults& results) {
  std::vector<std::string> all;
  for (const auto& [load, when] :
       {std::pair(results.load_before, "before"), std::pair(results.load_after, "at the end of")})
    if (is_busy(load))
      all.push_back(fmt::format("the load of the minute {} measuring was {} on {} processor{}", when,
                                print(load), load.processors, load.processors == 1 ? "" : "s"));
  size_t spread = 0;
  const LayerResult* most = nullptr;
  const auto spread_of = [](const LayerResult& layer) { return layer.engines.front().call.spread(); };
  for (const LayerResult& layer : results.layers) {
    if (layer.engines.empty() || spread_of(layer) <= runtime::most_spread) continue;
    ++spread;
    if (!most || spread_of(layer) > spread_of(*most)) most = &layer;
  }
  if (most)
    all.push_back(fmt::format(
        "pooljit's times of {} of {} layers spread by more than {:.0f} %, of {} by {:.0f} %", spread,
        results.layers.size(), 100 * runtime::most_spread, most->name, 100 * spread_of(*most)));
  return all;
}

std::string as_json(const BenchResults& results) {
  Json machine;
  for (const Fact& fact : results.machine) machine[fact.name] = fact.value;
  const Json json = {{"format", "pooljit bench 1"},
                     {"command", results.command},
                     {"date", results.date},
                     {"complete", results.is_complete},
                     {"machine", machine},
                     {"disturbances", disturbances(results)},
                     {"caches", results.caches},
                     {"engines", list(results.engines,
                                      [](const MeasuredEngine& one) {
                                        return Json{{"name", one.name}, {"version", one.version}};
                                      })},
                     {"absent", list(results.absent, left_out_json)},
                     {"summaries", list(summarize(results), summary_json)},
                     {"layers", list(results.layers, layer_json)},
                     {"refused", list(results.refused,
                                      [](const RefusedLayer& one) {
                                        return Json{{"name", one.name},
                                                    {"spec", one.spec},
                                                    {"id", one.error.id},
                                                    {"why", one.error.message}};
                                      })},
                     {"roofline", list(results.roofline,
                                       [](const RooflinePoint& one) {
                                         return Json{{"bytes", one.bytes},
                                                     {"bytes_per_second", one.bytes_per_second},
                                                     {"streams", one.streams}};
                                       })},
                     {"families", list(results.families, family_json)}};
  return json.dump(1) + "\n";
}

}  // namespace pooljit::tools
