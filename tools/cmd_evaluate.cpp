// `pooljit evaluate`: measures the schedules that it reads, one a line; the measuring half of somebody else's
// tuner (docs/tuning.md).
#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "tools/command.h"
#include "tools/engine.h"
#include "tools/evaluation.h"

namespace pooljit::tools {
namespace {

struct EvaluateArguments {
  std::string spec;
  runtime::Options options;
  double seconds = 0.05;
  Verdict verdict = Verdict::compare;
};

ir::Result<Exit> evaluate(const EvaluateArguments& arguments) {
  auto evaluator = Evaluator::make(arguments.spec, arguments.options, arguments.seconds, arguments.verdict);
  if (!evaluator) return tl::unexpected(evaluator.error());
  std::string line;
  bool is_wrong = false;
  while (std::getline(std::cin, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto row = evaluator->evaluate(line);
    if (!row) return tl::unexpected(row.error());
    is_wrong = is_wrong || (*row)["status"] == "wrong";
    fmt::print("{}\n", row->dump());
    std::fflush(stdout);  // a tuner waits for it
  }
  return is_wrong ? Exit::difference : Exit::ok;
}

}  // namespace

void add_evaluate(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("evaluate", "Measure the schedules of a spec that stdin names, one a line");
  auto arguments = std::make_shared<EvaluateArguments>();
  add_spec(*command, arguments->spec)->required();
  command->add_option("--seconds", arguments->seconds, "How long each is measured, and the default beside it")
      ->check(CLI::Range(1e-4, 1e4))
      ->capture_default_str();
  add_proof(*command, arguments->verdict,
            "none; compare: the results with the oracle's; verify: proved, which may take a second each "
            "(default: compare)");
  add_backend(*command, arguments->options);
  add_isa(*command, arguments->options);
  add_threads(*command, arguments->options);
  command->footer(
      "A line is a schedule, as `pooljit schedules` prints it, or a JSON object of its parameters; the "
      "answer is "
      "one line\nof JSON, with \"status\" ok, refused or wrong. Exit code 1: one was wrong.\n\n"
      "  echo '{\"family\": \"channels_first\", \"lanes\": 8}' |\n"
      "    pooljit evaluate 'max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)' "
      "--threads 1");
  command->callback([&action, arguments] { action = [arguments] { return evaluate(*arguments); }; });
}

}  // namespace pooljit::tools
