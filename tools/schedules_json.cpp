#include "tools/schedules_why.h"

#include <fmt/format.h>

#include "ir/cost.h"
#include "ir/passes/pipeline.h"
#include "ir/schedules/choose/chooser.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

Json price(const ir::PoolNest& nest, const ir::Schedule& schedule, ir::Isa isa, int64_t batch,
           const ir::Machine& machine) {
  auto lowered = ir::lower(nest, schedule, isa);
  if (!lowered) return nullptr;
  const auto program = ir::legalize(std::move(*lowered));
  if (!program) return nullptr;
  return price_json(ir::predict(*program, nest, batch, machine));
}

// Why the family can do none of its schedules: the sentence that refuses the first of them.
std::string refusal(const ir::Layer& layer, ir::Family family) {
  for (const ir::Schedule& schedule : ir::schedule_space(layer.nest(), layer.isa()))
    if (schedule.family == family)
      if (const auto checked = check(layer, schedule); !checked) return ir::to_string(checked.error());
  return "what it offers is done by another schedule";
}

Json verdict(const ir::Layer& layer, const ir::Considered& considered, int64_t batch) {
  Json row = {{"family", info(considered.family).text}};
  const auto& offered = considered.offer.schedules;
  if (!considered.is_asked) {
    row["verdict"] = "not asked";
    row["reason"] = "what is found already fills as many lanes as its vectors have";
  } else if (!offered.empty()) {
    row["verdict"] = "offered";
    row["schedule"] = ir::print(offered.front());
    row["schedules"] = offered.size();
    row["filled_lanes"] = considered.filled;
    row["price"] = price(layer.nest(), offered.front(), layer.isa(), batch, layer.machine());
  } else if (!considered.offer.left.empty()) {
    row["verdict"] = "left to others";
    row["reason"] = considered.offer.left;
  } else {
    row["verdict"] = "refused";
    row["reason"] = refusal(layer, considered.family);
  }
  return row;
}

// What put the winner before the family that comes next.
std::string decided_by(const ir::Decision& decision) {
  const ir::Considered *winner = nullptr, *second = nullptr;
  for (const ir::Considered& considered : decision.families) {
    if (considered.offer.schedules.empty()) continue;
    if (!winner || considered.filled > winner->filled)
      second = winner, winner = &considered;
    else if (!second || considered.filled > second->filled)
      second = &considered;
  }
  if (!second) return "no other family offers a schedule";
  if (winner->filled > second->filled)
    return fmt::format("it fills {} lanes, {} fills {}", winner->filled, info(second->family).text,
                       second->filled);
  return fmt::format("{} fills as many lanes and comes later in ir/schedules.def", info(second->family).text);
}

}  // namespace

Json price_json(const ir::Cost& cost) {
  Json parts;
  for (size_t i = 0; i < ir::unit_count; ++i)
    parts[std::string(name(static_cast<ir::Unit>(i)))] = cost.counts.busy[i] / cost.outputs;
  parts["stalls"] = cost.counts.stalls / cost.outputs;
  parts["memory"] = cost.memory_cycles;
  return {{"seconds", cost.seconds}, {"cycles_per_output", parts}};
}

Json why_json(const ir::PoolNest& nest, ir::Isa isa, int64_t batch, const ir::Machine& machine) {
  const auto layer = ir::Layer::of(nest, isa, machine);
  if (!layer) return {{"refused", ir::to_string(layer.error())}};
  const ir::Decision decision = decide(*layer, SIZE_MAX);
  Json families = Json::array();
  for (const ir::Considered& considered : decision.families)
    families.push_back(verdict(*layer, considered, batch));
  return {{"isa", ir::info(isa).text},
          {"machine", machine.name},
          {"near_bytes", machine.near_bytes},
          {"default", ir::print(decision.schedules.front())},
          {"decided_by", decided_by(decision)},
          {"output_leaves_the_caches", decision.streams},
          {"families", families}};
}

std::string print_why(const Json& why) {
  if (why.contains("refused")) return why["refused"].get<std::string>() + "\n";
  std::string text =
      fmt::format("{}\n  because {}\n  {}, machine {} (near: {} KiB)\n\n", why["default"].get<std::string>(),
                  why["decided_by"].get<std::string>(), why["isa"].get<std::string>(),
                  why["machine"].get<std::string>(), why["near_bytes"].get<int64_t>() >> 10);
  for (const Json& row : why["families"]) {
    text += fmt::format("{:<15} {}", row["family"].get<std::string>(), row["verdict"].get<std::string>());
    if (row.contains("reason")) text += ": " + row["reason"].get<std::string>();
    text += '\n';
    if (!row.contains("schedule")) continue;
    text += fmt::format("{:15} {}, the first of {}, fills {} lanes\n", "", row["schedule"].get<std::string>(),
                        row["schedules"].get<size_t>(), row["filled_lanes"].get<int>());
    if (row["price"].is_null()) continue;
    text += fmt::format("{:15} {:.2f} us predicted; cycles per output:", "",
                        row["price"]["seconds"].get<double>() * 1e6);
    for (const auto& [part, cycles] : row["price"]["cycles_per_output"].items())
      text += fmt::format(" {} {:.3f}", part, cycles.get<double>());
    text += '\n';
  }
  return text;
}

}  // namespace pooljit::tools
