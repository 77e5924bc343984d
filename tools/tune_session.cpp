#include "tools/tune_session.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "lab/tuner.h"
#include "runtime/tuning/store.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/sample_file.h"
#include "tools/sample_row.h"

namespace pooljit::tools {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr double seconds_per_spec = 3;  // where no budget is given
constexpr double near = 1.05;  // a default that takes at most so many times the winner's time is near it

struct TuneTally {
  size_t tuned = 0, fresh = 0, unfinished = 0, failed = 0, near_default = 0, replaced = 0;
  ir::ErrorKind worst = ir::ErrorKind::unsupported;

  size_t done() const { return tuned + fresh + unfinished + failed; }
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
        start_(Clock::now()) {}

  ir::Result<Exit> run() {
    if (!only_sweeps())
      if (auto opened = open_database(); !opened) return tl::unexpected(opened.error());
    if (!arguments_.samples.empty())
      if (auto opened = open_samples(); !opened) return tl::unexpected(opened.error());
    for (const Problem& problem : problems_) {
      if (interrupted() || is_late()) break;
      if (auto done = tune_one(problem); !done) return tl::unexpected(done.error());
    }
    progress_.clear();
    summarize();
    return tally_.exit();
  }

 private:
  // What is not proved is not put into the database.
  bool only_sweeps() const { return arguments_.verdict == Verdict::none; }

  ir::Result<void> open_database() {
    if (auto storable = runtime::check_storable(arguments_.database); !storable) return storable;
    auto known = runtime::load_entries(arguments_.database);
    if (!known) return tl::unexpected(known.error());
    known_ = std::move(*known);
    for (const auto& ignored : known_.ignored)
      fmt::print(stderr, "pooljit: {} line {} is ignored: {}\n", arguments_.database, ignored.line,
                 ignored.reason);
    return {};
  }

  ir::Result<void> open_samples() {
    auto file = SampleFile::open(arguments_.samples);
    if (!file) return tl::unexpected(file.error());
    samples_.emplace(std::move(*file));
    if (samples_->cut_bytes() > 0)
      fmt::print(stderr,
                 "pooljit: the last line of {} was cut off: its {} bytes are gone, and measured again\n",
                 arguments_.samples, samples_->cut_bytes());
    return {};
  }

  bool is_bounded() const { return arguments_.budget > 0 || !arguments_.exhaustive; }
  // Of the time for all specs together.
  double left() const {
    if (!is_bounded()) return std::numeric_limits<double>::infinity();
    // Without a budget, proofs take what they take.
    const double all = arguments_.budget > 0 ? arguments_.budget
                                             : seconds_per_spec * double(problems_.size()) + proving_seconds_;
    return all - std::chrono::duration<double>(Clock::now() - start_).count();
  }
  bool is_late() const { return left() <= 0; }

  // Only what the files cannot take ends the session.
  ir::Result<void> tune_one(const Problem& problem) {
    progress_.show(tally_.done() + 1, problem.name);
    const auto key = runtime::tune_key(problem.spec, arguments_.options);
    if (!key) {
      fail(problem, key.error());
      return {};
    }
    rows_.emplace(*frontend::parse_spec(problem.spec), *key);
    examiner_.reset(), proofs_.clear(), later_.clear();
    if (is_fresh(*key)) return {};
    const auto result = search(problem);
    if (!result && result.error().id.starts_with("file.")) return tl::unexpected(result.error());
    if (!result) {
      if (!interrupted()) fail(problem, result.error());
      return {};
    }
    // What is begun is done the next time.
    if (arguments_.exhaustive && !result->is_complete) {
      ++tally_.unfinished;
      report_sweep(problem, *result, "unfinished");
      return {};
    }
    if (only_sweeps()) {
      ++tally_.tuned;
      report_sweep(problem, *result, "swept");
      return {};
    }
    if (auto stored = runtime::store_entries(arguments_.database, {result->entry}); !stored) return stored;
    known_.entries.push_back(result->entry);
    report(problem, *result);
    return {};
  }

  // Done in an earlier session.
  bool is_fresh(const runtime::TuneEntry& key) {
    if (arguments_.again) return false;
    if (only_sweeps()) {
      const bool is_complete = samples_->is_complete(rows_->about());
      tally_.fresh += is_complete ? 1 : 0;
      return is_complete;
    }
    const runtime::TuneLookup old = runtime::look_up(known_, key);
    if (!old.entry || old.entry->proof == runtime::measured_proof) return false;
    ++tally_.fresh;
    tally_.take(*old.entry);
    return true;
  }

  // Rows of a search are proved when it is over: their proofs may take longer than the search.
  bool proves_later() const { return samples_ && !only_sweeps() && !arguments_.exhaustive; }

  double share() const { return left() / static_cast<double>(problems_.size() - tally_.done()); }

  // With a time for each schedule a sweep does one spec after the other; else each gets its share.
  double search_seconds() const {
    if (!is_bounded()) return seconds_per_spec;
    if (only_sweeps() && arguments_.seconds_each > 0) return left();
    return proves_later() && arguments_.budget > 0 ? share() / 2 : share();
  }

  ir::Result<runtime::TuneResult> search(const Problem& problem) {
    end_of_spec_ = arguments_.budget > 0 ? left() - share() : -std::numeric_limits<double>::infinity();
    const runtime::TuneLimits limits = {
        .seconds = search_seconds(),
        .spend = arguments_.budget > 0,
        .exhaustive = arguments_.exhaustive,
        .seconds_each = arguments_.seconds_each,
        .skip_scalar = arguments_.skip_scalar,
        .known =
            [&](const ir::Schedule& schedule) {
              return samples_ && !arguments_.again ? samples_->ratio(rows_->about(), schedule) : std::nullopt;
            },
        .measured = [&](const runtime::TuneSample& sample) { return take(sample); },
        .stopped = [] { return interrupted(); },
        .progress =
            [&](const std::string& what) { progress_.show(tally_.done() + 1, problem.name + ": " + what); }};
    auto result = only_sweeps() ? runtime::sweep(problem.spec, arguments_.options, limits)
                                : runtime::tune(problem.spec, arguments_.options, limits);
    for (const auto& [text, sample] : later_)
      if (auto kept = keep(sample); !kept) return tl::unexpected(kept.error());
    return result;
  }

  ir::Result<void> take(const runtime::TuneSample& sample) {
    if (!samples_) return {};
    if (!proves_later()) return keep(sample);
    later_.insert_or_assign(sample.kernel->code().info.schedule, sample);  // the last is the longest
    return {};
  }

  // Writes its row, with the verdict: the search proves the winner only.
  ir::Result<void> keep(const runtime::TuneSample& sample) {
    const auto proof = prove(sample);
    if (!proof) return tl::unexpected(proof.error());
    return samples_->append(rows_->measured(sample, *proof, nullptr));
  }

  ir::Result<Json> prove(const runtime::TuneSample& sample) {
    if (only_sweeps()) return Json{{"verdict", "none"}};
    const std::string& text = sample.kernel->code().info.schedule;
    if (const auto old = proofs_.find(text); old != proofs_.end()) return old->second;
    if (left() <= end_of_spec_ || interrupted())
      return Json{{"verdict", "none"}, {"why", "the time was over"}};
    if (!examiner_) {
      auto made = Examiner::make(*sample.reference, arguments_.options, arguments_.verdict);
      if (!made) return tl::unexpected(made.error());
      examiner_.emplace(std::move(*made));
    }
    progress_.show(tally_.done() + 1, "proving " + text);
    const Clock::time_point start = Clock::now();
    auto proof = examiner_->examine(*sample.kernel);
    proving_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    if (proof) proofs_[text] = *proof;
    return proof;
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

  void report_sweep(const Problem& problem, const runtime::TuneResult& result, const char* status) const {
    progress_.clear();
    const size_t measured = std::min(result.measured + 1, result.space);  // and the default
    if (arguments_.json)
      return print_line({{"name", problem.name},
                         {"spec", problem.spec},
                         {"status", status},
                         {"measured", measured},
                         {"space", result.space},
                         {"legal", result.legal}});
    fmt::print("{}: {}, {} of {} measured\n", problem.name, status, measured, result.space);
    std::fflush(stdout);
  }

  static void print_line(const Json& line) {
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }

  void summarize() const {
    if (arguments_.json)
      return print_line({{"summary",
                          {{"specs", problems_.size()},
                           {"tuned", tally_.tuned},
                           {"fresh", tally_.fresh},
                           {"unfinished", tally_.unfinished},
                           {"failed", tally_.failed},
                           {"replaced", tally_.replaced},
                           {"database", only_sweeps() ? Json() : Json(arguments_.database)}}}});
    if (only_sweeps())
      fmt::print("{} of {} specs: {} swept, {} had been, {} unfinished, {} failed; {}\n", tally_.done(),
                 problems_.size(), tally_.tuned, tally_.fresh, tally_.unfinished, tally_.failed,
                 arguments_.samples);
    else
      summarize_entries();
    if (!interrupted() && (tally_.done() < problems_.size() || tally_.unfinished > 0))
      fmt::print("the time is over: the same command goes on\n");
  }

  void summarize_entries() const {
    const size_t in_file = tally_.tuned + tally_.fresh;
    fmt::print(
        "{} of {} specs: {} tuned, {} had a fresh entry, {} failed; the default is within {:.0f} % of the "
        "winner for {} of {}, {} replaced it; {}\n",
        tally_.done(), problems_.size(), tally_.tuned, tally_.fresh, tally_.failed, 100 * (near - 1),
        tally_.near_default, in_file, tally_.replaced, arguments_.database);
    if (tally_.unfinished > 0) fmt::print("{} unfinished\n", tally_.unfinished);
  }

  const TuneArguments& arguments_;
  const std::vector<Problem> problems_;
  const Progress progress_;
  const Clock::time_point start_;
  runtime::TuneDatabase known_;
  std::optional<SampleFile> samples_;
  TuneTally tally_;
  double proving_seconds_ = 0;
  // Of the spec at work:
  std::optional<RowMaker> rows_;
  std::optional<Examiner> examiner_;
  std::map<std::string, Json> proofs_;                // by schedule
  std::map<std::string, runtime::TuneSample> later_;  // to be proved
  double end_of_spec_ = 0;                            // in terms of left()
};

}  // namespace

ir::Result<Exit> run_tune_session(const TuneArguments& arguments, std::vector<Problem> problems) {
  catch_interrupt();
  return Session(arguments, std::move(problems)).run();
}

}  // namespace pooljit::tools
