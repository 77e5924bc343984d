// An engine with a planted fault, the oracle but for some outputs, and a campaign against it that knows the
// engine's rules.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "ir/element_type.h"
#include "ir/offsets.h"
#include "ir/reference.h"
#include "tools/fuzz/axes.h"
#include "tools/fuzz/campaign.h"
#include "tools/fuzz/engine_rules.h"

namespace pooljit::fuzz {

using frontend::PoolSpec;

// One output, right as yet; a fault changes its value or its index.
struct At {
  const PoolSpec& spec;
  const ir::PoolNest& nest;
  const WindowFacts& facts;
  Number value;
  int64_t index;

  int64_t taps() const { return facts.taps; }
  int64_t column() const { return facts.position[nest.dims.size() - 1]; }
  int64_t columns() const { return nest.dims.back().output; }
  // Of a vector of four columns, what is beyond the last whole one; rows that are shorter have no such place.
  bool is_in_tail() const { return columns() > 4 && column() >= columns() / 4 * 4; }
  bool is_last_column() const { return columns() > 1 && column() == columns() - 1; }
  bool has_number() const { return facts.least <= facts.greatest; }
  bool is_dilated() const {
    return std::ranges::any_of(nest.dims, [](const ir::NestDim& dim) { return dim.dilation > 1; });
  }
  double highest() const {
    return ir::with_element_type(
        nest.output.dtype, []<typename T>(T) { return static_cast<double>(std::numeric_limits<T>::max()); });
  }
  double lowest() const {
    return ir::with_element_type(nest.output.dtype, []<typename T>(T) {
      return static_cast<double>(std::numeric_limits<T>::lowest());
    });
  }
};
using Fault = void (*)(At&);

inline const auto ignores_nan = [](At& at) {
  if (at.facts.has_nan) at.value = at.has_number() ? at.facts.greatest : -INFINITY;
};
// Beside -inf the first tap's, NaN or not.
inline const auto ignores_nan_and_its_index = [](At& at) {
  ignores_nan(at);
  if (at.facts.has_nan) at.index = at.value > -INFINITY ? at.facts.best_number : at.facts.first_index;
};

struct Planted {
  const char *name, *only;
  Fault fault;
};
inline const Planted* planted = nullptr;

// "max" and "float32" of "max_pool2d(float32[".
inline std::string reduction_of(const std::string& only) { return only.substr(0, only.find('_')); }
inline std::string dtype_of(const std::string& only) {
  const size_t open = only.find('(') + 1;
  return only.substr(open, only.find('[') - open);
}

// Draws of just the layers that the planted engines do.
inline AxisWeights weights_of(const std::string& only) {
  const std::map<std::string, std::set<std::string>> kept = {
      {"reduction", {reduction_of(only)}}, {"dtype", {dtype_of(only)}},  {"quantized", {"no"}},
      {"output_dtype", {"same"}},          {"batch", {"-1", "1", "2"}},  {"layout", {"nchw", "nhwc"}},
      {"output_layout", {"same"}},         {"nan", {"propagate"}},       {"zeros", {"any"}},
      {"direction", {"forward"}},          {"indices", {"plane int64"}}, {"epilogue", {"none"}},
      {"rounding", {"half_even"}}};
  AxisWeights weights = usual_weights();
  for (size_t axis = 0; axis < weights.size(); ++axis)
    if (const auto row = kept.find(spec_axes()[axis].name); row != kept.end())
      for (size_t setting = 0; setting < weights[axis].size(); ++setting)
        if (!row->second.contains(spec_axes()[axis].settings[setting].label)) weights[axis][setting] = 0;
  return weights;
}

// An engine without state: the oracle, and the fault that is planted.
inline int run_planted(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  const std::string text = layer->spec;
  const std::string operation = reduction_of(planted->only) + "_pool",
                    dtype = "(" + dtype_of(planted->only) + "[";
  if (text.find(operation) == std::string::npos || text.find(dtype) == std::string::npos ||
      layer->input.channel_block > 1 || layer->output.channel_block > 1 || layer->backward ||
      layer->quantized || layer->epilogue_steps > 0 || *layer->other)
    return POOLJIT_ENGINE_UNSUPPORTED;
  const PoolSpec spec = *frontend::parse_spec(text);
  const ir::PoolNest nest = make_nest(spec);
  if (nest.output.dtype != nest.input.dtype) return POOLJIT_ENGINE_UNSUPPORTED;
  const int64_t batch = spec.batch.value_or(1);
  ir::evaluate(nest, batch, input, output, indices);
  const auto copied = [&](const ir::View& view, const void* from) {
    const auto* bytes = static_cast<const std::byte*>(from);
    return runtime::Bytes(bytes, bytes + ir::reach(nest, view, batch) * ir::bytes(view.dtype));
  };
  const runtime::Results right = {copied(nest.output, output),
                                  nest.indices ? copied(*nest.indices, indices) : runtime::Bytes()};
  for (const WindowFacts& facts : window_facts(nest, batch, static_cast<const std::byte*>(input), right)) {
    const Number value = read_element(nest.output.dtype, right.output.data(), facts.output);
    At at = {spec, nest, facts, value,
             nest.indices
                 ? static_cast<int64_t>(read_element(nest.indices->dtype, right.indices.data(), facts.index))
                 : -1};
    const int64_t index = at.index;
    planted->fault(at);
    if (!ir::is_float(nest.output.dtype)) at.value = std::clamp<Number>(at.value, at.lowest(), at.highest());
    const bool is_same = at.value == value || (std::isnan(at.value) && std::isnan(value));
    if (!is_same)
      ir::with_element_type(nest.output.dtype, [&]<typename T>(T) {
        static_cast<T*>(output)[facts.output] = static_cast<T>(static_cast<double>(at.value));
      });
    if (nest.indices && at.index != index)
      ir::with_element_type(nest.indices->dtype, [&]<typename T>(T) {
        static_cast<T*>(indices)[facts.index] = static_cast<T>(at.index);
      });
  }
  return POOLJIT_ENGINE_DONE;
}

inline CampaignReport campaign(const OtherEngine& engine, const std::string& only, int64_t count,
                               const std::vector<AcceptedDifference>& known = {}) {
  const auto rules = learn_rules(engine, 10);
  EXPECT_TRUE(rules);
  CampaignOptions options;
  options.seed = 3, options.seconds = 0, options.count = count, options.most_failures = 1;
  options.choices.is_own = false;
  options.choices.weights = weights_of(only);
  options.against = &engine;
  std::vector<AcceptedDifference> accepted = rules->accepted();
  accepted.insert(accepted.end(), known.begin(), known.end());
  options.accepted = *Accepted::make({}, accepted);
  options.shrinking.tries = 0;
  const auto report = run_campaign(options, {.on_progress = [](const CampaignReport&) {},
                                             .on_failure = [](const Finding&) {},
                                             .is_interrupted = [] { return false; }});
  EXPECT_TRUE(report);
  return *report;
}

// The first failure, and how often what was accepted.
inline std::string told(const CampaignReport& report) {
  std::string text;
  for (const auto& [label, times] : report.by_label) text += fmt::format("{}: {}\n", label, times);
  if (report.failures.empty()) return text;
  const Finding& first = report.failures[0];
  return text + first.outcome.failure + "\n" + first.cause + "\n" + first.smallest.spec + " of " +
         first.smallest.data;
}

}  // namespace pooljit::fuzz
