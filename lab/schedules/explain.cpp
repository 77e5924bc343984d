#include "lab/schedules/explain.h"

#include <fmt/format.h>

#include "ir/choose/enumerate.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"
#include "ir/schedules/choose/chooser.h"
#include "ir/schedules/choose/rules.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"
#include "jit/fork_gate.h"
#include "runtime/float_control.h"
#include "runtime/machine.h"
#include "runtime/options.h"
#include "runtime/tuning/choose.h"

namespace pooljit::runtime {
namespace {

using FamilyVerdict = Explanation::FamilyVerdict;

// Its price stays empty if no code can be made of it: the next one is taken then.
void add_price(FamilyVerdict& verdict, const ir::Layer& layer, const ir::Schedule& schedule, int64_t batch) {
  const auto program = ir::lower_to(ir::Stage::legal, layer.nest(), schedule, layer.isa());
  if (!program) return;
  const ir::Cost cost = ir::predict(*program, layer.nest(), batch, layer.machine());
  verdict.predicted_seconds = cost.seconds;
  verdict.price = price_by_part(cost);
}

// Why the family can do none of its schedules: the sentence that refuses the first of them.
std::string refusal(const ir::Layer& layer, ir::Family family) {
  for (const ir::Schedule& schedule : ir::schedule_space(layer.nest(), layer.isa()))
    if (schedule.family() == family)
      if (const auto checked = check(layer, schedule); !checked) return ir::to_string(checked.error());
  return "what it offers is done by another schedule";
}

// "says 2: windows that may be taken together"; lists of numbers, which are one here, are left out.
std::string about(const ir::ChooserRule& rule, int64_t answer) {
  constexpr int64_t most_single = 255;
  const bool is_number = rule.sentence.empty() && answer >= 0 && answer <= most_single;
  return fmt::format("{}{}", is_number ? fmt::format("says {}: ", answer) : "", meaning(rule));
}

FamilyVerdict verdict_on(const ir::Layer& layer, const ir::Considered& considered, int64_t batch) {
  FamilyVerdict verdict;
  verdict.family = text_of(considered.family);
  for (const auto& [rule, answer] : considered.rules)
    verdict.rules.push_back({std::string(rule->name), about(*rule, answer), std::string(evidence(*rule))});
  const auto& offered = considered.offer.schedules;
  if (!considered.is_asked) {
    verdict.verdict = "not asked";
    verdict.reason = "what is found already fills as many lanes as its vectors have";
  } else if (!offered.empty()) {
    verdict.verdict = "offered";
    verdict.schedule = ir::print(offered.front());
    verdict.schedules = offered.size();
    verdict.filled_lanes = considered.filled;
    add_price(verdict, layer, offered.front(), batch);
  } else if (!considered.offer.left.empty()) {
    verdict.verdict = "left to others";
    verdict.reason = considered.offer.left;
  } else {
    verdict.verdict = "refused";
    verdict.reason = refusal(layer, considered.family);
  }
  return verdict;
}

// The reason why the winner comes before the next family.
void add_decision(Explanation& why) {
  const FamilyVerdict *winner = nullptr, *second = nullptr;
  for (const FamilyVerdict& verdict : why.families) {
    if (verdict.schedules == 0) continue;
    if (!winner || verdict.filled_lanes > winner->filled_lanes)
      second = winner, winner = &verdict;
    else if (!second || verdict.filled_lanes > second->filled_lanes)
      second = &verdict;
  }
  if (!second) {
    why.decided_by = "no other family offers a schedule";
    return;
  }
  if (winner->predicted_seconds > 0)
    why.second_over_first = second->predicted_seconds / winner->predicted_seconds;
  why.decided_by =
      winner->filled_lanes > second->filled_lanes
          ? fmt::format("it fills {} lanes, {} fills {}", winner->filled_lanes, second->family,
                        second->filled_lanes)
          : fmt::format("{} fills as many lanes and comes later in ir/schedules.def", second->family);
}

// How the default of several pools combines their schedules.
std::string reason(const ir::Schedule& all, const ir::PoolNest& nest) {
  if (all.fused) return "the windows are the same: in one loop each element is loaded once";
  if (is_chained(all))
    return fmt::format(
        "larger windows are made of the results of smaller ones (from=), {} channels at a time, which stay "
        "near",
        nest.channels / all.tasks.channels);
  const std::string each = "each member has the schedule that it has alone, one after the other for ";
  if (all.tasks == ir::MemberTasks{}) return each + "the whole tensor, which is near in any case";
  return each +
         (all.tasks.rows > 1 ? fmt::format("up to {} stretches of rows", all.tasks.rows)
                             : fmt::format("up to {} groups of channels", all.tasks.channels)) +
         ", so that the input is near from the second on";
}

ir::Result<Explanation> explain_pools(const frontend::PoolSpec& spec, ir::Isa isa,
                                      const ir::Machine& machine) {
  const ir::PoolNest nest = make_nest(spec);
  const ir::Schedule all = ir::enumerate_schedules(nest, isa, 1, machine)[0];
  Explanation why;
  why.schedule = ir::print(all);
  why.decided_by = reason(all, nest);
  why.isa = info(isa).text;
  why.machine = machine.name;
  for (const frontend::PoolSpec& member : spec.members) {
    auto own = explain(member, isa, machine);
    if (!own) return own;
    own->spec = frontend::print(member);
    why.members.push_back(std::move(*own));
  }
  return why;
}

}  // namespace

std::vector<std::pair<std::string, double>> price_by_part(const ir::Cost& cost) {
  std::vector<std::pair<std::string, double>> parts;
  for (size_t i = 0; i < ir::unit_count; ++i)
    parts.emplace_back(name(static_cast<ir::Unit>(i)), cost.counts.busy[i] / cost.outputs);
  parts.emplace_back("stalls", cost.counts.stalls / cost.outputs);
  parts.emplace_back("memory", cost.memory_cycles);
  return parts;
}

ir::Result<Explanation> explain(const frontend::PoolSpec& spec, ir::Isa isa, const ir::Machine& machine) {
  if (const auto has = has_schedules(spec); !has) return tl::unexpected(has.error());
  if (is_pools(spec)) return explain_pools(spec, isa, machine);
  const ir::PoolNest nest = make_nest(spec);
  auto layer = ir::Layer::of(nest, isa, machine);
  if (!layer) return tl::unexpected(layer.error());
  ir::Layer::RuleNotes notes;
  layer->note_rules(&notes);
  const ir::Decision decision = decide(*layer, SIZE_MAX);
  Explanation why;
  why.schedule = ir::print(decision.schedules.front());
  why.isa = info(isa).text;
  why.machine = machine.name;
  why.output_leaves_the_caches = decision.streams;
  why.evidence = evidence_of(nest, isa, decision.schedules.front().family());
  for (const ir::Considered& considered : decision.families)
    why.families.push_back(verdict_on(*layer, considered, spec.batch.value_or(1)));
  if (decision.predicted > 0)
    why.decided_by = fmt::format(
        "what the families offer first has one lane: of {} of the shortlist this one is predicted to take the "
        "least time",
        decision.predicted);
  else if (decision.counted)
    why.decided_by =
        "windows of many taps: of the first of the shortlist this one has the fewest instructions, much "
        "fewer than what the families offer";
  else
    add_decision(why);
  return why;
}

ir::Result<Explanation> explain(const frontend::PoolSpec& spec, const Options& options) {
  const jit::HoldForks hold;
  const FloatControl control;
  const auto choices = resolve(options);
  if (!choices) return tl::unexpected(choices.error());
  return explain(spec, choices->isa, machine().row);
}

std::string Explanation::text() const {
  std::string text = fmt::format("{}\n  because {}\n", schedule, decided_by);
  if (second_over_first > 0)
    text += fmt::format("  the next family's first is predicted to take {:.2f} times as long\n",
                        second_over_first);
  text += fmt::format("  {}, machine {}\n", isa, machine);
  for (const ir::Evidence& one : evidence)
    text += fmt::format(
        "  samples of {}: {} layers of this dtype and layout had a default of this family, {} % of them "
        "within "
        "5 % of the fastest; {:.2f} times its time in the mean, {:.1f} at worst\n",
        one.machine, one.layers, one.within_percent, one.loss, one.worst);
  if (!families.empty() && evidence.empty())
    text += "  samples: none of this dtype and layout with a default of this family\n";
  for (const Explanation& member : members)
    text += fmt::format("\nalone: {}\n{}", member.spec, member.text());
  if (!families.empty()) text += '\n';
  for (const FamilyVerdict& one : families) {
    text += fmt::format("{:<15} {}", one.family, one.verdict);
    if (!one.reason.empty()) text += ": " + one.reason;
    text += '\n';
    for (const FamilyVerdict::Rule& rule : one.rules)
      text += fmt::format("{:15} rule {}: {}{}{}\n", "", rule.name, rule.about,
                          rule.evidence.empty() ? "" : " - ", rule.evidence);
    if (one.schedules == 0) continue;
    text += fmt::format("{:15} {}, the first of {}, fills {} lanes\n", "", one.schedule, one.schedules,
                        one.filled_lanes);
    if (one.price.empty()) continue;
    text += fmt::format("{:15} {:.2f} us predicted; cycles per output:", "", one.predicted_seconds * 1e6);
    for (const auto& [part, cycles] : one.price) text += fmt::format(" {} {:.3f}", part, cycles);
    text += '\n';
  }
  return text;
}

}  // namespace pooljit::runtime
