// `pooljit schedules`: what a spec can be computed by, and what the cost model expects of each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "frontend/pool_spec.h"
#include "ir/schedule_text.h"
#include "lab/schedules/candidates.h"
#include "lab/schedules/explain.h"
#include "runtime/machine.h"
#include "runtime/memory_view.h"
#include "runtime/options.h"
#include "runtime/tuning/choose.h"
#include "runtime/tuning/first_use.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/problem_file.h"
#include "tools/schedule_space.h"
#include "tools/schedules_json.h"
#include "tools/sizes.h"

namespace pooljit::tools {
namespace {

struct SchedulesArguments {
  std::string spec, file, size;
  size_t shortlist = 0;
  runtime::Options options = {.backend = "interpreter"};  // which takes any ISA: nothing is run
  bool all = false, costs = false, json = false, why = false;
};

constexpr std::string_view level_names[] = {"L1", "L2", "L3", "memory"};

std::string_view level_name(const ir::Cost& cost) { return level_names[cost.level - 1]; }
std::string_view limit_name(const ir::Cost& cost) {
  return cost.memory_bound() ? "memory" : name(cost.limit);
}

nlohmann::ordered_json legal_json(const ir::Schedule& schedule, bool is_default, bool is_offered) {
  return {{"schedule", ir::print(schedule)},
          {"parameters", parameters_of(schedule)},
          {"legal", true},
          {"default", is_default},
          {"offered", is_offered}};
}

nlohmann::ordered_json as_json(const runtime::Candidate& candidate) {
  const ir::Cost& cost = candidate.cost;
  nlohmann::ordered_json executed;
  for (size_t i = 0; i < ir::op_class_count; ++i)
    executed[std::string(name(static_cast<ir::OpClass>(i)))] = cost.counts.executed[i] / cost.outputs;
  nlohmann::ordered_json row = legal_json(candidate.schedule, candidate.is_default, candidate.is_offered);
  row.update({{"instructions_per_output", cost.counts.instructions / cost.outputs},
              {"loads_per_output", cost.counts.loads / cost.outputs},
              {"stores_per_output", cost.counts.stores / cost.outputs},
              {"executed_per_output", executed},
              {"cycles_per_output", cost.cycles},
              {"cache_level", level_name(cost)},
              {"limit", limit_name(cost)},
              {"predicted_seconds", cost.seconds},
              {"price", price_json(cost)}});
  return row;
}

// A line for each field, or for each of the objects that it lists: a space of several pools has hundreds.
std::string lines_of(const nlohmann::ordered_json& json) {
  std::vector<std::string> fields;
  for (const auto& [name, value] : json.items()) {
    std::vector<std::string> listed;
    if (value.is_array())
      for (const auto& one : value) listed.push_back(one.dump());
    fields.push_back(fmt::format(
        "  \"{}\": {}", name,
        value.is_array() ? fmt::format("[\n    {}]", fmt::join(listed, ",\n    ")) : value.dump()));
  }
  return fmt::format("{{\n{}}}\n", fmt::join(fields, ",\n"));
}

// rows: of the legal schedules and of those that are refused.
void print_json(const frontend::PoolSpec& spec, ir::Isa isa, const std::vector<ir::Schedule>& legal,
                const nlohmann::ordered_json& rows) {
  // Of one call; of an open batch, of one image.
  double outputs = 0;
  for (const runtime::MemoryView& view : runtime::all_outputs(make_nest(spec), spec.batch.value_or(1)))
    outputs += static_cast<double>(view.element_count());
  const nlohmann::ordered_json json = {{"spec", frontend::print(spec)},
                                       {"isa", info(isa).text},
                                       {"machine", runtime::machine().row.name},
                                       {"caches", runtime::print(runtime::machine().caches)},
                                       {"outputs", outputs},
                                       {"parameters", parameter_space(legal)},
                                       {"constraints", space_constraints(legal)},
                                       {"schedules", rows}};
  fmt::print("{}", lines_of(json));
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
void print_refusals(const std::vector<runtime::Refusal>& illegal) {
  std::map<std::string, std::vector<std::string>> by_sentence;
  for (const runtime::Refusal& refusal : illegal)
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

// The default that machine code is made of, and behind it what `measure=` looks at.
ir::Result<std::vector<ir::Schedule>> shortlisted(const frontend::PoolSpec& spec, runtime::Choices choices,
                                                  size_t most) {
  if (const auto has = runtime::has_schedules(spec); !has) return tl::unexpected(has.error());
  const ir::PoolNest nest = make_nest(spec);
  choices.engine = runtime::Engine::xbyak;  // of any instruction set: nothing is run
  const auto code = info(choices.engine).make(nest, choices);
  if (!code) return tl::unexpected(code.error());
  std::vector<ir::Schedule> all = {*ir::parse_schedule((*code)->info.schedule)};
  choices.measuring.candidates = static_cast<int>(most);
  runtime::for_each_candidate(nest, choices, **code, [&](const std::shared_ptr<runtime::Code>& candidate) {
    all.push_back(*ir::parse_schedule(candidate->info.schedule));
    return true;
  });
  return all;
}

// Bytes that no call can do without: of all that the windows of a pool see, and of the outputs.
int64_t least_bytes(const frontend::PoolSpec& spec) {
  const ir::PoolNest nest = make_nest(spec);
  int64_t most_seen = 0, written = 0;
  for (const ir::PoolNest& pool : pools_of(nest)) {
    int64_t seen = pool.channels, outputs = pool.channels;
    for (const ir::NestDim& dim : pool.dims) {
      seen *= std::min(dim.input, dim.output * dim.most_taps());
      outputs *= dim.output;
    }
    most_seen = std::max(most_seen, seen);
    written += outputs * bytes(pool.output.dtype);
  }
  return spec.batch.value_or(1) * (most_seen * bytes(nest.input.dtype) + written);
}

ir::Result<Exit> list_shortlists(const SchedulesArguments& arguments, const runtime::Choices& choices) {
  std::vector<Problem> problems = {{arguments.spec, arguments.spec}};
  if (!arguments.file.empty()) {
    auto read = read_problems(arguments.file);
    if (!read) return tl::unexpected(read.error());
    problems = std::move(*read);
  }
  for (const Problem& problem : problems) {
    const auto spec = frontend::parse_spec(problem.spec);
    const auto found = spec ? shortlisted(*spec, choices, arguments.shortlist) : tl::unexpected(spec.error());
    if (!found && problems.size() == 1) return tl::unexpected(found.error());
    if (!found) {
      report(found.error());
      continue;
    }
    std::vector<std::string> texts;
    for (const ir::Schedule& schedule : *found) texts.push_back(ir::print(schedule));
    if (arguments.json)
      fmt::print("{}\n", nlohmann::ordered_json({{"spec", print(*spec)},
                                                 {"isa", info(choices.isa).text},
                                                 {"machine", runtime::machine().row.name},
                                                 {"bytes", least_bytes(*spec)},
                                                 {"schedules", texts}})
                             .dump());
    else
      fmt::print("{}\n  {}\n", print(*spec), fmt::join(texts, "\n  "));
  }
  return Exit::ok;
}

// Without making any: what the families' rules allow, what compiling chooses from first.
ir::Result<Exit> list_legal(const SchedulesArguments& arguments, const frontend::PoolSpec& spec,
                            ir::Isa isa) {
  const auto found = runtime::find_legal(make_nest(spec), isa, runtime::machine().row);
  if (!found) return tl::unexpected(found.error());
  if (!arguments.json) {
    fmt::print("{}\n{}\n", frontend::print(spec), info(isa).text);
    for (size_t i = 0; i < found->schedules.size(); ++i)
      fmt::print("  {}{}\n", ir::print(found->schedules[i]), i == found->standard ? "  (default)" : "");
    if (arguments.all) print_refusals(runtime::find_illegal(make_nest(spec), isa));
    return Exit::ok;
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < found->schedules.size(); ++i)
    rows.push_back(legal_json(found->schedules[i], i == found->standard, i < found->offered));
  if (arguments.all)
    for (const runtime::Refusal& refusal : runtime::find_illegal(make_nest(spec), isa))
      rows.push_back(refusal_json(ir::print(refusal.schedule), refusal.error));
  print_json(spec, isa, found->schedules, rows);
  return Exit::ok;
}

// Those that make another Program each, lowered and counted.
ir::Result<Exit> list_by_cost(const SchedulesArguments& arguments, const frontend::PoolSpec& spec,
                              ir::Isa isa) {
  const auto found =
      runtime::find_candidates(make_nest(spec), isa, spec.batch.value_or(1), runtime::machine().row);
  if (!found) return tl::unexpected(found.error());
  if (!arguments.json) {
    fmt::print("{}\n{}, caches {}; instructions, loads, stores and cycles are per output element\n",
               frontend::print(spec), info(isa).text, runtime::print(runtime::machine().caches));
    print_table(*found);
    if (arguments.all) print_refusals(found->illegal);
    return Exit::ok;
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::vector<ir::Schedule> legal;
  for (const runtime::Candidate& candidate : found->legal) {
    rows.push_back(as_json(candidate));
    legal.push_back(candidate.schedule);
  }
  if (arguments.all)
    for (const runtime::Refusal& refusal : found->illegal)
      rows.push_back(refusal_json(ir::print(refusal.schedule), refusal.error));
  print_json(spec, isa, legal, rows);
  return Exit::ok;
}

ir::Result<Exit> list_schedules(SchedulesArguments arguments) {
  auto sized = arguments.file.empty() ? at_size(arguments.spec, arguments.size) : arguments.spec;
  if (!sized) return tl::unexpected(sized.error());
  arguments.spec = std::move(*sized);
  if (arguments.shortlist > 0) {
    const auto choices = runtime::resolve(arguments.options);
    return choices ? list_shortlists(arguments, *choices) : tl::unexpected(choices.error());
  }
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
  return arguments.costs ? list_by_cost(arguments, *spec, choices->isa)
                         : list_legal(arguments, *spec, choices->isa);
}

}  // namespace

void add_schedules(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("schedules", "List the schedules of a spec");
  auto arguments = std::make_shared<SchedulesArguments>();
  CLI::Option_group* what = command->add_option_group("what to list");
  add_spec(*what, arguments->spec);
  CLI::Option* file = what->add_option("--file", arguments->file, "With --shortlist: each spec of a file");
  what->require_option(1);
  add_size(*command, arguments->size)->excludes(file);
  add_isa(*command, arguments->options);
  CLI::Option* shortlist =
      command->add_option("--shortlist", arguments->shortlist,
                          "Only the default, and those that measure=NUMBER would look at beside it");
  shortlist->check(CLI::Range(1, 64));
  file->needs(shortlist);
  command->add_option(
      "--schedule", arguments->options.schedule,
      "Only this one, as text or as a JSON object of parameters; exit code 4 if it is refused");
  command->add_flag("--costs", arguments->costs,
                    "Lower and count each: those that make another Program, the cheapest prediction first");
  command->add_flag("--all", arguments->all, "Also those that are not legal, with the reason");
  command->add_flag("--why", arguments->why,
                    "Why the default is what it is: what each family offers, leaves to others or refuses");
  command->add_flag("--json", arguments->json, "Print JSON; times in seconds");
  command->footer(
      "What compiling chooses from comes first; nothing is measured, and without --costs nothing is made: "
      "the\n"
      "registers may not suffice for some. The cost model is in docs/tuning.md.\n\n"
      "  pooljit schedules 'max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)' --costs");
  command->callback([&action, arguments] { action = [arguments] { return list_schedules(*arguments); }; });
}

}  // namespace pooljit::tools
