// `pooljit fuzz`: random layers through all engines, or against another library (docs/fuzzing.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "runtime/check.h"
#include "runtime/options.h"
#include "tools/command.h"
#include "tools/fuzz/campaign.h"
#include "tools/fuzz/explain.h"
#include "tools/interrupt.h"
#include "tools/progress.h"

namespace pooljit::tools {
namespace {

using fuzz::CampaignReport;
using fuzz::Finding;

struct FuzzArguments {
  std::string engine = "all", isa = "all", against;
  fuzz::CampaignOptions options;
};

std::string indented(const std::string& text) {
  std::string result = "  ";
  for (const char c : text) result += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return result;
}

void print_finding(const Finding& finding, const std::string& against) {
  const auto reference = runtime::reference_of(finding.smallest.spec, finding.smallest.data);
  fmt::print(
      "case {}: {}\nshrunk to {}\n{}\nas a command:\n  {}\nas a golden test "
      "(tests/golden/check/NAME.txt):\n{}\n",
      finding.number, finding.drawn, finding.smallest.spec, indented(finding.outcome.failure),
      command_line(finding.smallest, against),
      indented(golden_text(finding.smallest, reference.value_or(""))));
  std::fflush(stdout);
}

std::string meaning_of(const std::string& rules) {
  std::string text;
  for (const fuzz::DivergenceInfo& row : fuzz::divergences())
    if ((" " + rules + " ").find(fmt::format(" {} ", row.name)) != std::string::npos)
      text += fmt::format("    {}: {}\n", row.name, row.text);
  return text;
}

void print_summary(const CampaignReport& report, const FuzzArguments& arguments) {
  for (const Finding& example : report.examples) {
    const std::string& rules = example.outcome.explanation;
    fmt::print("explained {} times by\n{}  {}\n{}\n", report.explanations.at(rules), meaning_of(rules),
               command_line(example.smallest, arguments.against), indented(example.outcome.failure));
  }
  fmt::print("{} cases of seed {}: {} agree, {} differ", report.tried, arguments.options.seed, report.agree,
             report.failed);
  if (!arguments.against.empty()) fmt::print(", {} differ as known", report.explained);
  fmt::print(", {} not comparable; {} results, {:.1f} s\n", report.unsupported, report.runs, report.seconds);
}

// "all" leaves the choice to chance.
ir::Result<fuzz::FuzzChoices> choices_of(const FuzzArguments& arguments) {
  fuzz::FuzzChoices choices = {.only = arguments.options.choices.only, .is_own = arguments.against.empty()};
  Options options;
  if (arguments.engine != "all") options.backend = arguments.engine;
  if (arguments.isa != "all") options.isa = arguments.isa;
  const auto resolved = runtime::resolve(options);
  if (!resolved) return tl::unexpected(resolved.error());
  if (arguments.engine != "all") choices.backend = resolved->engine;
  if (arguments.isa != "all") choices.isa = resolved->isa;
  return choices;
}

ir::Result<Exit> fuzz_layers(FuzzArguments arguments) {
  const auto choices = choices_of(arguments);
  if (!choices) return tl::unexpected(choices.error());
  arguments.options.choices = *choices;
  std::optional<fuzz::OtherEngine> other;
  if (!arguments.against.empty()) {
    auto opened = fuzz::OtherEngine::open(arguments.against);
    if (!opened) return tl::unexpected(opened.error());
    other = std::move(*opened);
    arguments.options.against = &*other;
  }
  catch_interrupt();
  const Progress progress(static_cast<size_t>(arguments.options.count));
  const auto report = run_campaign(
      arguments.options,
      {.on_progress =
           [&](const CampaignReport& now) {
             progress.show(static_cast<size_t>(now.tried),
                           fmt::format("{:.0f} s, {} results, {} differ", now.seconds, now.runs, now.failed));
           },
       .on_failure =
           [&](const Finding& finding) {
             progress.clear();
             print_finding(finding, arguments.against);
           },
       .is_interrupted = interrupted});
  progress.clear();
  if (!report) return tl::unexpected(report.error());
  print_summary(*report, arguments);
  if (report->failed > 0) return Exit::difference;
  return interrupted() ? Exit::interrupted : Exit::ok;
}

}  // namespace

void add_fuzz(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("fuzz", "Compare engines on random layers, or another library with pooljit");
  auto arguments = std::make_shared<FuzzArguments>();
  fuzz::CampaignOptions& options = arguments->options;
  command->add_option("--seed", options.seed, "The same seed draws the same cases")->capture_default_str();
  CLI::Option* seconds = command->add_option("--seconds", options.seconds, "How long (0: until --count)")
                             ->check(CLI::NonNegativeNumber);
  seconds->capture_default_str();
  CLI::Option* count =
      command->add_option("--count", options.count, "How many cases (0: until --seconds are over)")
          ->check(CLI::NonNegativeNumber);
  command->add_option("--engine", arguments->engine, "all, or the one back end that is compared: xbyak, llvm")
      ->capture_default_str();
  command->add_option("--isa", arguments->isa, "all, auto (the best that this machine has), avx2 or avx512")
      ->capture_default_str();
  command->add_option(
      "--against", arguments->against,
      "A shared library with the function of include/pooljit_engine.h, compared with the oracle");
  command->add_option("--only", options.choices.only,
                      "Layers whose canonical text holds this, such as 'max_pool2d(float32['");
  command->add_option("--failures", options.most_failures, "End after so many different ones")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->footer(
      "Cases are tried in processes of their own; a failure is made small and printed as a command and as a\n"
      "golden test. Exit code 1: engines differ in a way that no known divergence explains "
      "(docs/fuzzing.md).\n\n"
      "  pooljit fuzz --seconds 60 --seed 7\n"
      "  pooljit fuzz --count 1000 --against ./libengine_onednn.so");
  command->callback([&action, arguments, seconds, count] {
    // --count alone has no time limit.
    if (*count && !*seconds) arguments->options.seconds = 0;
    action = [arguments]() -> ir::Result<Exit> {
      if (arguments->options.seconds == 0 && arguments->options.count == 0)
        return ir::invalid("fuzz.end", "neither --seconds nor --count says when to end", "--seconds 60");
      return fuzz_layers(*arguments);
    };
  });
}

}  // namespace pooljit::tools
