// `pooljit fuzz`: random layers through all engines, or against another library (docs/fuzzing.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "runtime/options.h"
#include "tools/against_options.h"
#include "tools/command.h"
#include "tools/fuzz/campaign.h"
#include "tools/fuzz/survey.h"
#include "tools/fuzz_report.h"
#include "tools/interrupt.h"
#include "tools/progress.h"

namespace pooljit::tools {
namespace {

using fuzz::CampaignReport;
using fuzz::Finding;

struct FuzzArguments {
  std::string engine = "all", isa = "all";
  AgainstOptions against;
  fuzz::CampaignOptions options;
  bool forever = false, json = false;
};

void print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

// "all" leaves the choice to chance.
ir::Result<fuzz::FuzzChoices> choices_of(const FuzzArguments& arguments) {
  fuzz::FuzzChoices choices = {.only = arguments.options.choices.only,
                               .is_own = arguments.against.library.empty()};
  Options options;
  if (arguments.engine != "all") options.backend = arguments.engine;
  if (arguments.isa != "all") options.isa = arguments.isa;
  const auto resolved = runtime::resolve(options);
  if (!resolved) return tl::unexpected(resolved.error());
  if (arguments.engine != "all") choices.backend = resolved->engine;
  if (arguments.isa != "all") choices.isa = resolved->isa;
  return choices;
}

// The other library, and what it does.
ir::Result<void> meet(FuzzArguments& arguments, std::optional<fuzz::OtherEngine>& other) {
  fuzz::CampaignOptions& options = arguments.options;
  options.case_seconds = arguments.against.case_seconds;
  if (arguments.against.library.empty()) return {};
  auto accepted = fuzz::Accepted::make(arguments.against.acceptance);
  if (!accepted) return tl::unexpected(accepted.error());
  options.accepted = std::move(*accepted);
  auto opened = fuzz::OtherEngine::open(arguments.against.library);
  if (!opened) return tl::unexpected(opened.error());
  other = std::move(*opened);
  options.against = &*other;
  auto found = survey(*other, options.seed, options.choices.only, options.case_seconds);
  if (!found) return tl::unexpected(found.error());
  options.choices.weights = std::move(found->weights);
  return {};
}

ir::Result<Exit> fuzz_layers(FuzzArguments arguments) {
  const auto choices = choices_of(arguments);
  if (!choices) return tl::unexpected(choices.error());
  arguments.options.choices = *choices;
  catch_interrupt();
  std::optional<fuzz::OtherEngine> other;
  if (auto met = meet(arguments, other); !met) return tl::unexpected(met.error());
  const std::string& library = arguments.against.library;
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
             print(arguments.json ? finding_json(finding, library).dump() + "\n"
                                  : finding_text(finding, library));
           },
       .is_interrupted = interrupted});
  progress.clear();
  if (!report) return tl::unexpected(report.error());
  print(arguments.json ? summary_json(*report, arguments.options, library).dump() + "\n"
                       : summary_text(*report, arguments.options, library));
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
  add_against(*command, arguments->against);
  command->add_option("--only", options.choices.only,
                      "Layers whose canonical text holds this, such as 'max_pool2d(float32['");
  CLI::Option* failures = command
                              ->add_option("--failures", options.most_failures,
                                           "End after so many different ones (0, and with --forever: never)")
                              ->check(CLI::NonNegativeNumber);
  failures->capture_default_str();
  command->add_option("--jobs", options.jobs, "Cases that are tried side by side")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  CLI::Option* forever =
      command->add_flag("--forever", arguments->forever, "Until Ctrl-C")->excludes(seconds)->excludes(count);
  command->add_flag("--axes", options.count_axes,
                    "Also print which settings and pairs of settings were drawn and compared");
  command->add_flag("--json", arguments->json, "Findings and the summary as JSON, one a line");
  command->footer(
      "Cases are tried in processes of their own; a failure is made small and printed as a command and as a\n"
      "golden test. Exit code 1: engines differ in a way that no known divergence explains "
      "(docs/fuzzing.md).\n\n"
      "  pooljit fuzz --seconds 60 --seed 7\n"
      "  pooljit fuzz --count 1000 --against ./libengine_onednn.so");
  command->callback([&action, arguments, seconds, count, failures, forever] {
    // --count alone has no time limit.
    if (*forever || (*count && !*seconds)) arguments->options.seconds = 0;
    if (*forever && !*failures) arguments->options.most_failures = 0;
    action = [arguments]() -> ir::Result<Exit> {
      if (arguments->options.seconds == 0 && arguments->options.count == 0 && !arguments->forever)
        return ir::invalid("fuzz.end", "neither --seconds nor --count nor --forever says when to end",
                           "--seconds 60");
      return fuzz_layers(*arguments);
    };
  });
}

}  // namespace pooljit::tools
