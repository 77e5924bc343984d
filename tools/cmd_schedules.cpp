// `pooljit schedules`: what a spec can be computed by, and what the cost model expects of each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/pool_spec.h"
#include "ir/schedule_text.h"
#include "runtime/candidates.h"
#include "runtime/explain.h"
#include "runtime/machine.h"
#include "runtime/options.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/schedule_space.h"
#include "tools/schedules_json.h"

namespace pooljit::tools {
namespace {

struct SchedulesArguments {
  std::string spec;
  runtime::Options options = {.backend = "interpreter"};  // which takes any ISA: nothing is run
  bool all = false, json = false, why = false;
};

constexpr std::string_view level_names[] = {"L1", "L2", "L3", "memory"};

std::string_view level_name(const ir::Cost& cost) { return level_names[cost.level - 1]; }
std::string_view limit_name(const ir::Cost& cost) {
  return cost.memory_bound() ? "memory" : name(cost.limit);
}

nlohmann::ordered_json as_json(const runtime::Candidate& candidate) {
  const ir::Cost& cost = candidate.cost;
  nlohmann::ordered_json executed;
  for (size_t i = 0; i < ir::op_class_count; ++i)
    executed[std::string(name(static_cast<ir::OpClass>(i)))] = cost.counts.executed[i] / cost.outputs;
  return {{"schedule", ir::print(candidate.schedule)},
          {"parameters", parameters_of(candidate.schedule)},
          {"legal", true},
          {"default", candidate.is_default},
          {"offered", candidate.is_offered},
          {"instructions_per_output", cost.counts.instructions / cost.outputs},
          {"loads_per_output", cost.counts.loads / cost.outputs},
          {"stores_per_output", cost.counts.stores / cost.outputs},
          {"executed_per_output", executed},
          {"cycles_per_output", cost.cycles},
          {"cache_level", level_name(cost)},
          {"limit", limit_name(cost)},
          {"predicted_seconds", cost.seconds},
          {"price", price_json(cost)}};
}

void print_json(const frontend::PoolSpec& spec, ir::Isa isa, const runtime::Candidates& found, bool all) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const runtime::Candidate& candidate : found.legal) rows.push_back(as_json(candidate));
  for (const runtime::Refusal& refusal : found.illegal)
    if (all) rows.push_back(refusal_json(ir::print(refusal.schedule), refusal.error));
  std::vector<ir::Schedule> legal;
  for (const runtime::Candidate& candidate : found.legal) legal.push_back(candidate.schedule);
  // Of one call; of an open batch, of one image.
  const double outputs =
      found.legal.front().cost.outputs * double(std::max<int64_t>(spec.batch.value_or(1), 1));
  const nlohmann::ordered_json json = {{"spec", frontend::print(spec)},
                                       {"isa", info(isa).text},
                                       {"machine", runtime::machine().row.name},
                                       {"caches", runtime::print(runtime::machine().caches)},
                                       {"outputs", outputs},
                                       {"parameters", parameter_space(legal)},
                                       {"constraints", space_constraints(legal)},
                                       {"schedules", rows}};
  fmt::print("{}\n", json.dump(2));
}

void print_table(const runtime::Candidates& found) {
  fmt::print("  instr   loads  stores  cycles  limit       cache   predicted  schedule\n");
  for (const runtime::Candidate& candidate : found.legal) {
    const ir::Cost& cost = candidate.cost;
    fmt::print("{:7.3f} {:7.3f} {:7.3f} {:7.3f}  {:10}  {:6} {:8.2f} us  {}{}\n",
               cost.counts.instructions / cost.outputs, cost.counts.loads / cost.outputs,
               cost.counts.stores / cost.outputs, cost.cycles, limit_name(cost), level_name(cost),
               cost.seconds * 1e6, ir::print(candidate.schedule), candidate.is_default ? "  (default)" : "");
  }
}

// A sentence once, with the schedules that it refuses.
void print_refusals(const runtime::Candidates& found) {
  std::map<std::string, std::vector<std::string>> by_sentence;
  for (const runtime::Refusal& refusal : found.illegal)
    by_sentence[ir::to_string(refusal.error)].push_back(ir::print(refusal.schedule));
  for (const auto& [sentence, schedules] : by_sentence) {
    fmt::print("\nnot legal: {}\n", sentence);
    for (const std::string& schedule : schedules) fmt::print("  {}\n", schedule);
  }
}

// One schedule of the user's: its row, or why it is refused, with one exit code for every refusal.
ir::Result<Exit> ask_schedule(const SchedulesArguments& arguments, const frontend::PoolSpec& spec,
                              ir::Isa isa) {
  const std::string& text = arguments.options.schedule;
  const auto schedule = schedule_of(text);
  const auto candidate = schedule.and_then([&](const ir::Schedule& asked) {
    return runtime::predict_one(make_nest(spec), asked, isa, spec.batch.value_or(1), runtime::machine().row);
  });
  if (candidate && arguments.json)
    fmt::print("{}\n", as_json(*candidate).dump());
  else if (candidate)
    print_table({{*candidate}, {}});
  else if (arguments.json)
    fmt::print("{}\n", refusal_json(text, candidate.error()).dump());
  else
    report(candidate.error());
  return candidate ? Exit::ok : Exit::unsupported;
}

ir::Result<Exit> list_schedules(const SchedulesArguments& arguments) {
  const auto spec = frontend::parse_spec(arguments.spec);
  if (!spec) return tl::unexpected(spec.error());
  runtime::Options options = arguments.options;
  options.schedule.clear();  // what is wrong with it is the answer, and no error
  const auto choices = runtime::resolve(options);
  if (!choices) return tl::unexpected(choices.error());
  if (const auto has = runtime::has_schedules(*spec); !has) return tl::unexpected(has.error());
  if (arguments.why) {
    const auto why = runtime::explain(*spec, choices->isa, runtime::machine().row);
    if (!why) return tl::unexpected(why.error());
    fmt::print("{}", arguments.json ? why_json(*why).dump(2) + "\n" : why->text());
    return Exit::ok;
  }
  if (!arguments.options.schedule.empty()) return ask_schedule(arguments, *spec, choices->isa);
  const auto found = runtime::find_candidates(make_nest(*spec), choices->isa, spec->batch.value_or(1),
                                              runtime::machine().row);
  if (!found) return tl::unexpected(found.error());
  if (arguments.json) {
    print_json(*spec, choices->isa, *found, arguments.all);
    return Exit::ok;
  }
  fmt::print("{}\n{}, caches {}; instructions, loads, stores and cycles are per output element\n",
             frontend::print(*spec), info(choices->isa).text, runtime::print(runtime::machine().caches));
  print_table(*found);
  if (arguments.all) print_refusals(*found);
  return Exit::ok;
}

}  // namespace

void add_schedules(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("schedules", "List the schedules of a spec with predicted costs");
  auto arguments = std::make_shared<SchedulesArguments>();
  add_spec(*command, arguments->spec)->required();
  add_isa(*command, arguments->options);
  command->add_option(
      "--schedule", arguments->options.schedule,
      "Only this one, as text or as a JSON object of parameters; exit code 4 if it is refused");
  command->add_flag("--all", arguments->all, "Also those that are not legal, with the reason");
  command->add_flag("--why", arguments->why,
                    "Why the default is what it is: what each family offers, leaves to others or refuses");
  command->add_flag("--json", arguments->json, "Print JSON; times in seconds");
  command->footer(
      "The cheapest prediction comes first; nothing is measured. The model is in docs/tuning.md.\n\n"
      "  pooljit schedules 'max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)'");
  command->callback([&action, arguments] { action = [arguments] { return list_schedules(*arguments); }; });
}

}  // namespace pooljit::tools
