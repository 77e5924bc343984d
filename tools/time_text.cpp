#include "tools/time_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

namespace pooljit::tools {

std::string time_text(double seconds) {
  const struct {
    double limit, scale;
    std::string_view unit;
  } units[] = {{1e-6, 1e9, "ns"}, {1e-3, 1e6, "us"}, {1, 1e3, "ms"}, {1e300, 1, "s"}};
  for (const auto& unit : units)
    if (seconds < unit.limit) return fmt::format("{:.4g} {}", seconds * unit.scale, unit.unit);
  return "";
}

std::string time_text(const Timing& timing) {
  return fmt::format("{:>9} +- {:.1f} %", time_text(timing.median), 100 * timing.spread());
}

nlohmann::ordered_json time_json(const Timing& timing) {
  return {{"median_seconds", timing.median},
          {"first_quartile_seconds", timing.first_quartile},
          {"third_quartile_seconds", timing.third_quartile},
          {"samples", timing.samples},
          {"calls_per_sample", timing.calls_per_sample}};
}

}  // namespace pooljit::tools
