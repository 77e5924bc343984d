// Defaults without each row of ir/schedules/choose/rules.def in turn, for `bench/choose/judge --rules`.
//   left_out_rules ISA MACHINE < SPECS
// Prints a line for each spec, "-<tab>SPEC<tab>SCHEDULE", behind it one for each row that applied,
// "ROW<tab>SPEC<tab>SCHEDULE": the default without that row.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <set>
#include <string>

#include "frontend/pool_spec.h"
#include "ir/schedule_text.h"
#include "ir/schedules/choose/chooser.h"
#include "ir/schedules/choose/rules.h"

namespace {

using namespace pooljit;

std::string first_of(const ir::Decision& decision) {
  return decision.schedules.empty() ? "" : ir::print(decision.schedules.front());
}

void print_without_each(const std::string& spec, ir::Isa isa, const ir::Machine& machine) {
  const auto parsed = frontend::parse_spec(spec);
  if (!parsed) return;
  const ir::PoolNest nest = make_nest(*parsed);
  auto layer = ir::Layer::of(nest, isa, machine);
  if (!layer) return;
  ir::Layer::RuleNotes notes;
  layer->note_rules(&notes);
  const ir::Decision decision = decide(*layer, 1);
  layer->note_rules(nullptr);
  std::set<const ir::ChooserRule*> applied;
  const auto add = [&](const ir::Layer::RuleNotes& all) {
    for (const auto& [rule, answer] : all) applied.insert(rule);
  };
  add(notes);
  for (const ir::Considered& one : decision.families) add(one.rules);
  fmt::print("-\t{}\t{}\n", spec, first_of(decision));
  for (const ir::ChooserRule* const rule : applied) {
    leave_out(rule);
    fmt::print("{}\t{}\t{}\n", rule->name, spec, first_of(decide(*layer, 1)));
  }
  ir::leave_out(nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  const auto isa = count == 3 ? ir::find_isa(arguments[1]) : std::nullopt;
  const auto machine = count == 3 ? ir::find_machine(arguments[2]) : std::nullopt;
  if (!isa || !machine) {
    fmt::print(stderr, "usage: left_out_rules ISA MACHINE < SPECS\n");
    return 2;
  }
  std::string spec;
  while (std::getline(std::cin, spec)) print_without_each(spec, *isa, *machine);
}
