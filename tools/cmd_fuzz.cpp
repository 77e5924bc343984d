// `pooljit fuzz`: random layers through all engines, or against another library (docs/fuzzing.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "runtime/options.h"
#include "tools/against_options.h"
#include "tools/command.h"
#include "tools/fuzz/campaign.h"
#include "tools/fuzz/corpus.h"
#include "tools/fuzz/saved.h"
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
  bool forever = false, json = false, is_seeded = false;
  std::string save, corpus, replay;  // folders
};

void print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

// "all" leaves the choice to chance.
ir::Result<fuzz::FuzzChoices> choices_of(const FuzzArguments& arguments) {
  fuzz::FuzzChoices choices = {.only = arguments.options.choices.only,
                               .is_own = arguments.against.library.empty()};
  runtime::Options options;
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
  auto opened = fuzz::OtherEngine::open(arguments.against.library);
  if (!opened) return tl::unexpected(opened.error());
  other = std::move(*opened);
  options.against = &*other;
  auto accepted = accepted_of(*other, arguments.against);
  if (!accepted) return tl::unexpected(accepted.error());
  options.accepted = std::move(*accepted);
  if (!arguments.replay.empty()) return {};
  auto found = survey(*other, options.seed, options.choices.only, options.case_seconds);
  if (!found) return tl::unexpected(found.error());
  options.choices.weights = std::move(found->weights);
  return {};
}

// What a campaign leaves behind: findings in folders, and its corpus. The first error ends the campaign.
class Keeper {
 public:
  Keeper(const FuzzArguments& arguments, std::optional<fuzz::Corpus> corpus)
      : arguments_(arguments),
        corpus_(std::move(corpus)),
        folder_(arguments.save.empty() && corpus_ ? corpus_->findings() : arguments.save) {}

  const std::optional<ir::Error>& error() const { return error_; }
  // Where it is; empty if findings are not saved.
  std::string save(const Finding& finding) {
    if (folder_.empty()) return "";
    const auto saved =
        save_finding(folder_, finding, finding_json(finding, arguments_.against.library).dump(2));
    if (!saved) error_ = saved.error();
    return saved.value_or("");
  }
  // At first, so that a folder that cannot be written to ends the campaign early, and then now and then;
  // last: now.
  void keep(const CampaignReport& report, bool last) {
    constexpr double every_seconds = 10;
    if (!corpus_ || error_ || (!last && report.seconds < next_)) return;
    next_ = report.seconds + every_seconds;
    if (const auto kept = corpus_->keep(arguments_.options, report); !kept) error_ = kept.error();
  }

 private:
  const FuzzArguments& arguments_;
  std::optional<fuzz::Corpus> corpus_;
  std::string folder_;
  double next_ = 0;  // when to keep again, in seconds from the start
  std::optional<ir::Error> error_;
};

ir::Result<std::optional<fuzz::Corpus>> open_corpus(FuzzArguments& arguments) {
  if (arguments.corpus.empty()) return std::optional<fuzz::Corpus>();
  auto corpus = fuzz::Corpus::open(arguments.corpus);
  if (!corpus) return tl::unexpected(corpus.error());
  if (!arguments.is_seeded) arguments.options.seed = corpus->seed().value_or(arguments.options.seed);
  corpus->continue_in(arguments.options);
  return std::optional(std::move(*corpus));
}

// Every saved case again, each in a process of its own.
ir::Result<Exit> replay(const FuzzArguments& arguments) {
  const auto cases = fuzz::read_saved(arguments.replay);
  if (!cases) return tl::unexpected(cases.error());
  const auto cell = fuzz::Cell::make();
  if (!cell) return tl::unexpected(cell.error());
  catch_interrupt();
  const fuzz::CampaignOptions& options = arguments.options;
  size_t tried = 0, failed = 0, passed = 0;
  for (const fuzz::SavedCase& saved : *cases) {
    if (interrupted()) break;
    ++tried;
    const fuzz::Outcome outcome =
        try_case_in(*cell, saved.one, options.against, options.accepted, options.case_seconds);
    using Verdict = fuzz::Outcome::Verdict;
    failed += outcome.verdict == Verdict::failed ? 1 : 0;
    passed += outcome.verdict == Verdict::agrees ? 1 : 0;
    const char* const what = outcome.verdict == Verdict::failed     ? "fails"
                             : outcome.verdict == Verdict::agrees   ? "passes"
                             : outcome.verdict == Verdict::accepted ? "differs as accepted"
                                                                    : "is not done";
    if (arguments.json)
      print(nlohmann::ordered_json({{"path", saved.path},
                                    {"spec", saved.one.spec},
                                    {"was", saved.label},
                                    {"now", what},
                                    {"failure", outcome.failure}})
                .dump() +
            "\n");
    else
      print(fmt::format("{} {}: {}\n{}{}", saved.path, what, saved.one.spec, outcome.failure,
                        outcome.failure.empty() ? "" : "\n"));
  }
  if (!arguments.json)
    print(fmt::format("{} of {} saved cases: {} pass, {} fail\n", tried, cases->size(), passed, failed));
  if (failed > 0) return Exit::difference;
  return interrupted() ? Exit::interrupted : Exit::ok;
}

ir::Result<Exit> fuzz_layers(FuzzArguments arguments) {
  const auto choices = choices_of(arguments);
  if (!choices) return tl::unexpected(choices.error());
  arguments.options.choices = *choices;
  auto corpus = open_corpus(arguments);
  if (!corpus) return tl::unexpected(corpus.error());
  std::optional<fuzz::OtherEngine> other;
  if (auto met = meet(arguments, other); !met) return tl::unexpected(met.error());
  if (!arguments.replay.empty()) return replay(arguments);
  if (auto drawn = check_only(arguments.options.choices, arguments.options.seed); !drawn)
    return tl::unexpected(drawn.error());
  catch_interrupt();  // before, there is nothing to sum up or to keep: it ends the process
  const std::string& library = arguments.against.library;
  Keeper keeper(arguments, std::move(*corpus));
  const Progress progress(static_cast<size_t>(arguments.options.count));
  const auto report = run_campaign(
      arguments.options,
      {.on_progress =
           [&](const CampaignReport& now) {
             progress.show(static_cast<size_t>(now.tried),
                           fmt::format("{:.0f} s, {} results, {} differ", now.seconds, now.runs, now.failed));
             keeper.keep(now, false);
           },
       .on_failure =
           [&](const Finding& finding) {
             progress.clear();
             const std::string saved = keeper.save(finding);
             print(arguments.json ? finding_json(finding, library, saved).dump() + "\n"
                                  : finding_text(finding, library, saved));
           },
       .is_interrupted = [&] { return interrupted() || keeper.error(); }});
  progress.clear();
  if (!report) return tl::unexpected(report.error());
  keeper.keep(*report, true);
  if (keeper.error()) return tl::unexpected(*keeper.error());
  print(arguments.json ? summary_json(*report, arguments.options, library).dump() + "\n"
                       : summary_text(*report, arguments.options, library));
  if (report->failed > 0) return Exit::difference;
  return interrupted() ? Exit::interrupted : Exit::ok;
}

void add_folders(CLI::App& command, FuzzArguments& arguments) {
  command.add_option(
      "--save", arguments.save,
      "Keep each finding in this folder: model.onnx, inputs.npz, expected.npz, a PyTorch script");
  CLI::Option* corpus = command.add_option(
      "--corpus", arguments.corpus,
      "Continue the campaign of this folder, which keeps its cases, coverage and findings");
  command.add_option("--replay", arguments.replay, "Only try the findings again that a folder keeps")
      ->excludes(corpus);
}

}  // namespace

void add_fuzz(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("fuzz", "Compare engines on random layers, or another library with pooljit");
  auto arguments = std::make_shared<FuzzArguments>();
  fuzz::CampaignOptions& options = arguments->options;
  CLI::Option* seed = command->add_option("--seed", options.seed, "The same seed draws the same cases");
  seed->capture_default_str();
  CLI::Option* seconds = command->add_option("--seconds", options.seconds, "How long (0: until --count)")
                             ->check(CLI::NonNegativeNumber);
  seconds->capture_default_str();
  CLI::Option* count =
      command->add_option("--count", options.count, "How many cases (0: until --seconds are over)")
          ->check(CLI::NonNegativeNumber);
  command->add_option("--engine", arguments->engine, "all, or the one back end that is compared: xbyak, llvm")
      ->capture_default_str();
  command
      ->add_option("--isa", arguments->isa,
                   "all, auto (the best that this machine has), " + ir::isa_texts(", ", " or "))
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
  add_folders(*command, *arguments);
  command->footer(
      "Cases are tried in processes of their own; a failure is made small and printed as a command and as a\n"
      "golden test. Exit code 1: engines differ in a way that no known divergence explains "
      "(docs/fuzzing.md).\n\n"
      "  pooljit fuzz --seconds 60 --seed 7\n"
      "  pooljit fuzz --count 1000 --against ./libengine_onednn.so\n"
      "  pooljit fuzz --forever --corpus nightly --jobs 4 --against ./libengine_onednn.so");
  command->callback([&action, arguments, seed, seconds, count, failures, forever] {
    arguments->is_seeded = seed->count() > 0;
    // --count alone has no time limit.
    if (*forever || (*count && !*seconds)) arguments->options.seconds = 0;
    if (*forever && !*failures) arguments->options.most_failures = 0;
    action = [arguments]() -> ir::Result<Exit> {
      if (arguments->options.seconds == 0 && arguments->options.count == 0 && !arguments->forever &&
          arguments->replay.empty())
        return ir::invalid("fuzz.end", "neither --seconds nor --count nor --forever says when to end",
                           "--seconds 60");
      return fuzz_layers(*arguments);
    };
  });
}

}  // namespace pooljit::tools
