#include "tools/schedules_json.h"

#include "lab/schedules/explain.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

Json price_json(double seconds, const std::vector<std::pair<std::string, double>>& price) {
  Json parts;
  for (const auto& [part, cycles] : price) parts[part] = cycles;
  return {{"seconds", seconds}, {"cycles_per_output", parts}};
}

Json verdict_json(const runtime::Explanation::FamilyVerdict& verdict) {
  Json row = {{"family", verdict.family}, {"verdict", verdict.verdict}};
  if (!verdict.reason.empty()) row["reason"] = verdict.reason;
  for (const auto& rule : verdict.rules)
    row["rules"].push_back({{"rule", rule.name}, {"about", rule.about}, {"evidence", rule.evidence}});
  if (verdict.schedules == 0) return row;
  row["schedule"] = verdict.schedule;
  row["schedules"] = verdict.schedules;
  row["filled_lanes"] = verdict.filled_lanes;
  row["price"] = verdict.price.empty() ? Json() : price_json(verdict.predicted_seconds, verdict.price);
  return row;
}

}  // namespace

Json price_json(const ir::Cost& cost) { return price_json(cost.seconds, runtime::price_by_part(cost)); }

Json why_json(const runtime::Explanation& why) {
  Json families = Json::array(), members = Json::array();
  for (const runtime::Explanation& member : why.members)
    members.push_back({{"spec", member.spec}, {"why", why_json(member)}});
  for (const runtime::Explanation::FamilyVerdict& verdict : why.families)
    families.push_back(verdict_json(verdict));
  Json evidence = Json::array();
  for (const ir::Evidence& one : why.evidence)
    evidence.push_back({{"machine", one.machine},
                        {"layers", one.layers},
                        {"within_5_percent", one.within_percent / 100.0},
                        {"mean_loss", one.loss},
                        {"worst_loss", one.worst}});
  return {{"isa", why.isa},
          {"machine", why.machine},
          {"default", why.schedule},
          {"decided_by", why.decided_by},
          {"second_over_first", why.second_over_first},
          {"output_leaves_the_caches", why.output_leaves_the_caches},
          {"samples", evidence},
          {"families", families},
          {"members", members}};
}

}  // namespace pooljit::tools
