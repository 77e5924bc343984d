// `pooljit rules`: which rules another library follows where engines differ (docs/fuzzing.md, docs/peers.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "tools/fuzz/engine_rules.h"

namespace pooljit::tools {
namespace {

struct RulesArguments {
  std::string library;
  bool json = false;
  double case_seconds = 10;
};

ir::Result<Exit> print_rules(const RulesArguments& arguments) {
  const auto engine = fuzz::OtherEngine::open(arguments.library);
  if (!engine) return tl::unexpected(engine.error());
  const auto rules = learn_rules(*engine, arguments.case_seconds);
  if (!rules) return tl::unexpected(rules.error());
  if (rules->found.empty())
    return ir::unsupported("fuzz.unsupported", "the library does none of the layers that tell its rules");
  if (arguments.json) {
    const nlohmann::ordered_json json = {
        {"engine", arguments.library}, {"version", rules->version}, {"rules", nlohmann::json(rules->found)}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}{}", rules->version.empty() ? "" : rules->version + "\n\n", rules->table());
  }
  return Exit::ok;
}

}  // namespace

void add_rules(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("rules", "Tell which rules another library follows, where engines differ");
  auto arguments = std::make_shared<RulesArguments>();
  command
      ->add_option("--against", arguments->library,
                   "A shared library with the function of include/pooljit_engine.h")
      ->required();
  command->add_flag("--json", arguments->json, "With each probe, what it was given and what it gave");
  command->add_option("--case-seconds", arguments->case_seconds, "How long a probe may take")
      ->check(CLI::Range(0.01, 1e5))
      ->capture_default_str();
  command->footer(
      "About 40 layers of one or two windows, for each dtype: NaN, ties, signed zeros, padding, divisors, "
      "rounding,\n"
      "accumulators, indices. A rule in ** is not that of docs/semantics.md.\n\n"
      "  pooljit rules --against ./libengine_onednn.so");
  command->callback([&action, arguments] { action = [arguments] { return print_rules(*arguments); }; });
}

}  // namespace pooljit::tools
