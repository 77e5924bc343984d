// `pooljit tune`: measures which schedule is the fastest on this machine, and remembers it (docs/tuning.md).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "ir/schedule_text.h"
#include "runtime/options.h"
#include "runtime/tuning/store.h"
#include "runtime/tuning/tuner.h"
#include "runtime/written_aside.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/evaluation.h"
#include "tools/interrupt.h"
#include "tools/problem_file.h"
#include "tools/progress.h"
#include "tools/schedule_space.h"
#include "tools/tune_export.h"

namespace pooljit::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double seconds_per_spec = 3;  // where no budget is given
constexpr double near = 1.05;  // a default that takes at most so many times the winner's time is near it

struct TuneArguments {
  std::vector<std::string> specs;
  std::string file, database = "pooljit-tune.db";
  double budget = 0;  // seconds; 0: seconds_per_spec each
  bool again = false, exhaustive = false, json = false;
  std::string samples;             // a file for all that is measured
  std::vector<std::string> merge;  // databases to be put into the other one
  std::string exported;            // the format that is written to stdout
  runtime::Options options;
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

// Appends a row for each schedule that a search measured, with the proof's verdict: the search proves the
// winner only.
class SampleFile {
 public:
  // Errors: "file.create".
  ir::Result<void> open(const std::string& path) {
    file_.open(path, std::ios::app);
    if (!file_) return ir::system_error("file.create", runtime::cannot("write", path));
    return {};
  }
  bool is_open() const { return file_.is_open(); }
  void begin(const std::string& spec) { spec_ = spec, rows_.clear(); }
  // The last and longest round of a schedule is what counts.
  void take(const runtime::TuneSample& sample) { rows_[ir::print(sample.schedule)] = sample; }
  // Errors: "file.write".
  ir::Result<void> end(const runtime::TuneEntry& entry, const runtime::Options& options,
                       const std::function<void(const std::string&)>& progress) {
    const runtime::Choices choices = *runtime::resolve(options);
    const std::string spec = print(*frontend::parse_spec(spec_));
    size_t done = 0;
    for (const auto& [text, sample] : rows_) {
      if (interrupted()) break;
      progress(fmt::format("proving what was measured, {} of {}", ++done, rows_.size()));
      nlohmann::ordered_json row = {{"spec", spec},
                                    {"cpu", entry.cpu},
                                    {"caches", entry.caches},
                                    {"threads", entry.threads},
                                    {"isa", entry.isa},
                                    {"backend", entry.backend},
                                    {"version", entry.version},
                                    {"schedule", text}};
      row["parameters"] = parameters_of(sample.schedule);
      row["default"] = sample.is_default;
      row["proof"] = prove(spec, choices, sample.schedule);
      row["compile_seconds"] = sample.compile_seconds;
      put_times(row, sample.samples);
      row["timestamp"] = timestamp();
      file_ << row.dump() << "\n";
    }
    file_.flush();
    if (!file_)
      return ir::system_error("file.write", "the samples could not be written", "is the disk full?");
    return {};
  }

 private:
  std::ofstream file_;
  std::string spec_;
  std::map<std::string, runtime::TuneSample> rows_;
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
    if (auto storable = runtime::check_storable(arguments_.database); !storable)
      return tl::unexpected(storable.error());
    if (!arguments_.samples.empty())
      if (auto opened = samples_.open(arguments_.samples); !opened) return tl::unexpected(opened.error());
    auto known = runtime::load_entries(arguments_.database);
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
    if (old.entry && old.entry->proof != runtime::measured_proof && !arguments_.again) {
      ++tally_.fresh;
      tally_.take(*old.entry);
      return {};
    }
    const auto result = search(problem);
    if (!result) {
      if (!interrupted()) fail(problem, result.error());
      return {};
    }
    if (auto stored = runtime::store_entries(arguments_.database, {result->entry}); !stored) return stored;
    known_.entries.push_back(result->entry);
    report(problem, *result);
    if (!samples_.is_open()) return {};
    return samples_.end(result->entry, arguments_.options, [&](const std::string& what) {
      progress_.show(tally_.done(), problem.name + ": " + what);
    });
  }

  ir::Result<runtime::TuneResult> search(const Problem& problem) {
    const double share = left() / static_cast<double>(problems_.size() - tally_.done());
    samples_.begin(problem.spec);
    return runtime::tune(problem.spec, arguments_.options,
                         {.seconds = share,
                          .spend = arguments_.budget > 0,
                          .exhaustive = arguments_.exhaustive,
                          .measured = [&](const runtime::TuneSample& sample) { samples_.take(sample); },
                          .stopped = [] { return interrupted(); },
                          .progress =
                              [&](const std::string& what) {
                                progress_.show(tally_.done() + 1, problem.name + ": " + what);
                              }});
  }

  void fail(const Problem& problem, const ir::Error& error) {
    tally_.fail(error);
    progress_.clear();
    if (arguments_.json)
      print_line({{"name", problem.name},
                  {"spec", problem.spec},
                  {"status", "failed"},
                  {"id", error.id},
                  {"why", error.message},
                  {"hint", error.hint}});
    else
      fmt::print("{}: {}\n", problem.name, to_string(error));
    std::fflush(stdout);
  }

  void report(const Problem& problem, const runtime::TuneResult& result) {
    ++tally_.tuned;
    tally_.take(result.entry);
    progress_.clear();
    if (arguments_.json)
      return print_line({{"name", problem.name},
                         {"spec", problem.spec},
                         {"status", "tuned"},
                         {"schedule", result.entry.schedule},
                         {"median", result.best.median},
                         {"spread", result.best.spread()},
                         {"default_median", result.standard.median},
                         {"default_spread", result.standard.spread()},
                         {"measured", result.measured},
                         {"legal", result.legal},
                         {"proof", result.entry.proof},
                         {"notes", result.notes}});
    fmt::print(
        "{}: {:.2f} us +- {:.1f} %, default {:.2f} us +- {:.1f} %, {:.3f} times as fast; {} of {} measured; "
        "{}: {}\n",
        problem.name, result.best.median * 1e6, 100 * result.best.spread(), result.standard.median * 1e6,
        100 * result.standard.spread(), result.standard.median / result.best.median, result.measured,
        result.legal, result.entry.proof, result.entry.schedule);
    for (const std::string& note : result.notes) fmt::print("  {}\n", note);
    std::fflush(stdout);
  }

  static void print_line(const nlohmann::ordered_json& line) {
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }

  void summarize() const {
    if (arguments_.json)
      return print_line({{"summary",
                          {{"specs", problems_.size()},
                           {"tuned", tally_.tuned},
                           {"fresh", tally_.fresh},
                           {"failed", tally_.failed},
                           {"replaced", tally_.replaced},
                           {"database", arguments_.database}}}});
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
  SampleFile samples_;
  TuneTally tally_;
};

// Of entries with the same key the faster one stays.
ir::Result<Exit> merge(const TuneArguments& arguments) {
  const auto own = runtime::load_entries(arguments.database);
  if (!own) return tl::unexpected(own.error());
  std::vector<runtime::TuneEntry> best = own->entries;
  size_t read = 0;
  for (const std::string& path : arguments.merge) {
    const auto other = runtime::read_tune_database(path);
    if (!other) return tl::unexpected(other.error());
    for (const auto& ignored : other->ignored)
      fmt::print(stderr, "pooljit: {} line {} is ignored: {}\n", path, ignored.line, ignored.reason);
    read += other->entries.size();
    for (const runtime::TuneEntry& entry : other->entries) {
      const auto same = std::ranges::find_if(best, [&](const auto& old) { return old.has_key_of(entry); });
      if (same == best.end())
        best.push_back(entry);
      else if (entry.seconds < same->seconds || same->version != entry.version)
        *same = entry;
    }
  }
  if (auto stored = runtime::store_entries(arguments.database, best); !stored)
    return tl::unexpected(stored.error());
  fmt::print("{} entries of {} files, {} in {}\n", read, arguments.merge.size(), best.size(),
             arguments.database);
  return Exit::ok;
}

ir::Result<Exit> write_export(const TuneArguments& arguments) {
  if (arguments.exported == "json") {
    const auto database = runtime::read_tune_database(arguments.database);
    if (!database) return tl::unexpected(database.error());
    fmt::print("{}\n", database_json(*database).dump(2));
    return Exit::ok;
  }
  const auto rows = read_samples(arguments.samples, arguments.specs.empty() ? "" : arguments.specs.front());
  if (!rows) return tl::unexpected(rows.error());
  fmt::print("{}\n", (arguments.exported == "t4" ? as_t4(*rows) : as_kernel_tuner(*rows)).dump(2));
  return Exit::ok;
}

ir::Result<Exit> tune(const TuneArguments& arguments) {
  if (!arguments.exported.empty()) return write_export(arguments);
  if (!arguments.merge.empty()) return merge(arguments);
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
  what->add_option("--merge", arguments->merge,
                   "Put these databases into --db; of two entries for the same the faster one stays");
  CLI::Option* exported =
      what->add_option("--export", arguments->exported,
                       "Print what is known: json (the database), t4 or kernel-tuner (the file of --samples)")
          ->check(CLI::IsMember({"json", "t4", "kernel-tuner"}));
  what->require_option(1, 2);
  command->add_option("--db", arguments->database, "The database; default: $POOLJIT_TUNE_DB, or this")
      ->capture_default_str();
  command
      ->add_option("--time-budget", arguments->budget,
                   "Seconds for all specs together (default: 3 each, and less where nothing better "
                   "comes)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--exhaustive", arguments->exhaustive, "Measure every schedule, whatever time it takes");
  command->add_option("--samples", arguments->samples,
                      "Append everything that is measured and proved to this file, a JSON object a line");
  command->add_flag("--json", arguments->json, "A JSON object a line for each spec, and one for the summary");
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
  command->callback([&action, arguments, exported] {
    const bool needs_samples = *exported && arguments->exported != "json";
    if (needs_samples && arguments->samples.empty())
      throw CLI::ValidationError("--export " + arguments->exported, "needs --samples FILE");
    action = [arguments] { return tune(*arguments); };
  });
}

}  // namespace pooljit::tools
