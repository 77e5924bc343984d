// `pooljit tune`: measures which schedule is the fastest on this machine, and remembers it (docs/tuning.md).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "runtime/tuning/tuner.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/interrupt.h"
#include "tools/problem_file.h"
#include "tools/progress.h"
#include "tools/tune_store.h"

namespace pooljit::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double seconds_per_spec = 3;  // where no budget is given
constexpr double near = 1.05;  // a default that takes at most so many times the winner's time is near it

struct TuneArguments {
  std::vector<std::string> specs;
  std::string file, database = "pooljit-tune.db";
  double budget = 0;  // seconds; 0: seconds_per_spec each
  bool again = false;
  Options options;
};

struct TuneTally {
  size_t tuned = 0, fresh = 0, failed = 0, near_default = 0, replaced = 0;
  ir::ErrorKind worst = ir::ErrorKind::unsupported;

  size_t done() const { return tuned + fresh + failed; }
  void fail(const ir::Error& error) {
    ++failed;
    if (error.kind != ir::ErrorKind::unsupported) worst = error.kind;
  }
  void take(const runtime::TuneEntry& entry) {
    near_default += entry.default_seconds <= near * entry.seconds ? 1 : 0;
    replaced += entry.proof == "default" ? 0 : 1;
  }
  Exit exit() const {
    if (interrupted()) return Exit::interrupted;
    if (failed == 0) return Exit::ok;
    return worst == ir::ErrorKind::unsupported ? Exit::unsupported
           : worst == ir::ErrorKind::invalid   ? Exit::invalid
                                               : Exit::system;
  }
};

class Session {
 public:
  Session(const TuneArguments& arguments, std::vector<Problem> problems)
      : arguments_(arguments),
        problems_(std::move(problems)),
        progress_(problems_.size()),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                 arguments.budget > 0 ? arguments.budget : seconds_per_spec * double(problems_.size())))) {}

  ir::Result<Exit> run() {
    if (auto storable = check_storable(arguments_.database); !storable)
      return tl::unexpected(storable.error());
    auto known = load_entries(arguments_.database);
    if (!known) return tl::unexpected(known.error());
    known_ = std::move(*known);
    for (const auto& ignored : known_.ignored)
      fmt::print(stderr, "pooljit: {} line {} is ignored: {}\n", arguments_.database, ignored.line,
                 ignored.reason);
    for (const Problem& problem : problems_) {
      if (interrupted() || is_late()) break;
      if (auto done = tune_one(problem); !done) return tl::unexpected(done.error());
    }
    progress_.clear();
    summarize();
    return tally_.exit();
  }

 private:
  double left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }
  bool is_late() const { return left() <= 0; }

  // Only what the database cannot take ends the session.
  ir::Result<void> tune_one(const Problem& problem) {
    progress_.show(tally_.done() + 1, problem.name);
    const auto key = runtime::tune_key(problem.spec, arguments_.options);
    if (!key) {
      fail(problem, key.error());
      return {};
    }
    const runtime::TuneLookup old = runtime::look_up(known_, *key);
    if (old.entry && !arguments_.again) {
      ++tally_.fresh;
      tally_.take(*old.entry);
      return {};
    }
    const auto result = search(problem);
    if (!result) {
      if (!interrupted()) fail(problem, result.error());
      return {};
    }
    if (auto stored = store_entries(arguments_.database, {result->entry}); !stored) return stored;
    known_.entries.push_back(result->entry);
    report(problem, *result);
    return {};
  }

  ir::Result<runtime::TuneResult> search(const Problem& problem) {
    const double share = left() / static_cast<double>(problems_.size() - tally_.done());
    return runtime::tune(problem.spec, arguments_.options,
                         {.seconds = share,
                          .stopped = [] { return interrupted(); },
                          .progress =
                              [&](const std::string& what) {
                                progress_.show(tally_.done() + 1, problem.name + ": " + what);
                              }});
  }

  void fail(const Problem& problem, const ir::Error& error) {
    tally_.fail(error);
    progress_.clear();
    fmt::print("{}: {}\n", problem.name, to_string(error));
    std::fflush(stdout);
  }

  void report(const Problem& problem, const runtime::TuneResult& result) {
    ++tally_.tuned;
    tally_.take(result.entry);
    progress_.clear();
    fmt::print(
        "{}: {:.2f} us +- {:.1f} %, default {:.2f} us +- {:.1f} %, {:.3f} times as fast; {} of {} measured; "
        "{}: {}\n",
        problem.name, result.best.median * 1e6, 100 * result.best.spread(), result.standard.median * 1e6,
        100 * result.standard.spread(), result.standard.median / result.best.median, result.measured,
        result.legal, result.entry.proof, result.entry.schedule);
    for (const std::string& note : result.notes) fmt::print("  {}\n", note);
    std::fflush(stdout);
  }

  void summarize() const {
    const size_t in_file = tally_.tuned + tally_.fresh;
    fmt::print(
        "{} of {} specs: {} tuned, {} had a fresh entry, {} failed; the default is within {:.0f} % of the "
        "winner for {} of {}, {} replaced it; {}\n",
        tally_.done(), problems_.size(), tally_.tuned, tally_.fresh, tally_.failed, 100 * (near - 1),
        tally_.near_default, in_file, tally_.replaced, arguments_.database);
    if (!interrupted() && tally_.done() < problems_.size())
      fmt::print("the time is over: the same command goes on\n");
  }

  const TuneArguments& arguments_;
  const std::vector<Problem> problems_;
  const Progress progress_;
  const Clock::time_point end_;
  runtime::TuneDatabase known_;
  TuneTally tally_;
};

ir::Result<Exit> tune(const TuneArguments& arguments) {
  std::vector<Problem> problems;
  for (const std::string& spec : arguments.specs) problems.push_back({spec, spec});
  if (!arguments.file.empty()) {
    auto read = read_problems(arguments.file);
    if (!read) return tl::unexpected(read.error());
    problems = std::move(*read);
  }
  catch_interrupt();
  return Session(arguments, std::move(problems)).run();
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("tune", "Measure the fastest schedules and remember them");
  auto arguments = std::make_shared<TuneArguments>();
  if (const char* path = std::getenv("POOLJIT_TUNE_DB"); path && *path) arguments->database = path;
  CLI::Option_group* what = command->add_option_group("what to tune");
  what->add_option("SPEC", arguments->specs, "What to pool; several are several specs");
  what->add_option("--file", arguments->file,
                   "Tune each spec of a file: SPEC or NAME<TAB>SPEC a line, # comments");
  what->require_option(1);
  command->add_option("--db", arguments->database, "The database; default: $POOLJIT_TUNE_DB, or this")
      ->capture_default_str();
  command->add_option("--time-budget", arguments->budget, "Seconds for all specs together (default: 3 each)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--again", arguments->again, "Also specs that have a fresh entry");
  add_backend(*command, arguments->options);
  add_isa(*command, arguments->options);
  add_threads(*command, arguments->options);
  command->footer(
      "A schedule replaces the default only if it is faster by more than the noise of both and proved "
      "right.\n"
      "Every spec is written when it is done: stopped, the same command goes on where it was.\n\n"
      "  pooljit tune --file bench/problems/networks.txt --threads 1 --db tuned.db\n"
      "  POOLJIT_TUNE_DB=tuned.db pooljit bench 'max_pool2d(float32[1,64,112,112], kernel_size=3)' --threads "
      "1");
  command->callback([&action, arguments] { action = [arguments] { return tune(*arguments); }; });
}

}  // namespace pooljit::tools
