#include "tools/bench/table.h"

#include <fmt/format.h>

#include <cstdio>

namespace pooljit::tools {

void print_head() {
  fmt::print("{:30} {:10} {:>11} {:>11} {:>8} {:>10} {:>6}  schedule\n", "layer", "peer", "pooljit us",
             "peer us", "ratio", "", "copy");
}

void print_layer(const LayerResult& layer) {
  const EngineResult& ours = layer.engines.front();
  for (const EngineResult& engine : layer.engines)
    if (engine.ratio)
      fmt::print("{:30} {:10} {:>11.2f} {:>11.2f} {:>8.2f} +- {:4.1f} % {:>4.0f} %  {}{}\n", layer.name,
                 engine.engine, ours.call.median * 1e6, engine.call.median * 1e6, engine.ratio->median,
                 engine.ratio->spread() * 100, 100 * layer.share(ours), layer.schedule,
                 engine.differences == 0 ? "" : fmt::format("  ({} results differ)", engine.differences));
  if (layer.engines.size() == 1)
    fmt::print("{:30} {:10} {:>11.2f} {:>11} {:>8} {:>10} {:>4.0f} %  {}\n", layer.name, "-",
               ours.call.median * 1e6, "-", "-", "", 100 * layer.share(ours), layer.schedule);
  std::fflush(stdout);
}

void print_left_out(const LayerResult& layer) {
  for (const LeftOut& one : layer.left_out)
    fmt::print(stderr, "left out: {} beside {}: {}\n", layer.name, one.engine, one.why);
}

void print_summaries(const std::vector<Summary>& summaries) {
  for (const Summary& one : summaries)
    fmt::print("{}: {} layers, geometric mean {:.2f}, least {:.2f} ({})\n", one.engine, one.layers,
               one.geometric_mean, one.least, one.least_layer);
}

}  // namespace pooljit::tools
