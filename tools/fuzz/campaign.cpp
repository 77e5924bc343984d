#include "tools/fuzz/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "ir/schedule_text.h"
#include "lab/check.h"
#include "tools/fuzz/cause.h"
#include "tools/fuzz/cell.h"
#include "tools/fuzz/neighbour.h"
#include "tools/fuzz/stretch.h"

namespace pooljit::fuzz {
namespace {

using Clock = std::chrono::steady_clock;
using Verdict = Outcome::Verdict;

// Seeds that differ in one bit are to have nothing in common.
uint32_t mixed(uint64_t seed, uint64_t number) {
  uint64_t bits = seed * 0x9e3779b97f4a7c15 + number;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return static_cast<uint32_t>(bits >> 32);
}

double cpu_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A drawn spec that its own text does not give back is a finding; a schedule that does not suit, or a lack of
// memory, is none.
Outcome judged(const ir::Result<Outcome>& tried) {
  if (tried) return *tried;
  if (!tried.error().id.starts_with("spec.")) return {.verdict = Verdict::unsupported};
  return {.verdict = Verdict::failed, .kind = Kind::spec, .failure = ir::to_string(tried.error())};
}

bool is_like(const Outcome& one, const Outcome& other) {
  return one.verdict == other.verdict && label(one) == label(other);
}

// One of those that try cases side by side: every `jobs`th case is its own.
struct Job {
  Cell cell;
  int64_t next;
};

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const CampaignEvents& events)
      : options_(options), events_(events), start_(Clock::now()) {
    report_.next = options.first;
    report_.coverage = options.covered;
  }

  ir::Result<CampaignReport> run() {
    for (int i = 0; i < options_.jobs; ++i) {
      auto cell = Cell::make();
      if (!cell) return tl::unexpected(cell.error());
      jobs_.push_back({std::move(*cell), options_.first + i});
    }
    retry(jobs_[0]);
    {
      std::vector<std::jthread> threads;
      for (size_t i = 1; i < jobs_.size(); ++i) threads.emplace_back([this, &job = jobs_[i]] { work(job); });
      work(jobs_[0]);
    }
    if (error_) return tl::unexpected(*error_);
    return report_;
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_last(int64_t next) const { return options_.count > 0 && next >= options_.first + options_.count; }
  bool has_enough() {
    const std::scoped_lock lock(mutex_);
    return options_.most_failures > 0 && report_.failures.size() >= options_.most_failures;
  }
  bool is_over(int64_t next) {
    if (has_enough()) return true;
    const std::scoped_lock lock(mutex_);
    return error_ || is_last(next) || (options_.seconds > 0 && elapsed() >= options_.seconds) ||
           events_.is_interrupted();
  }

  // Those of a corpus, each in a process of its own.
  void retry(const Job& job) {
    for (const FuzzCase& one : options_.again) {
      if (is_over(options_.first)) return;
      const Outcome outcome = try_in(job, one, options_.case_seconds);
      {
        const std::scoped_lock lock(mutex_);
        ++report_.tried;
        report_.runs += outcome.runs;
        report_.seconds = elapsed();
        if (outcome.verdict == Verdict::agrees) ++report_.agree;
        if (outcome.verdict == Verdict::unsupported) ++report_.unsupported;
        if (outcome.verdict == Verdict::accepted) ++report_.accepted, ++report_.by_label[label(outcome)];
        events_.on_progress(report_);
      }
      if (outcome.verdict == Verdict::failed || is_first_of_its_label(outcome))
        take(job, {.number = -1, .drawn = one.spec, .smallest = one, .outcome = outcome});
    }
  }
  bool is_first_of_its_label(const Outcome& outcome) {
    const std::scoped_lock lock(mutex_);
    return outcome.verdict == Verdict::accepted && report_.by_label[label(outcome)] == 1;
  }

  // --- in a thread for each job

  void work(Job& job) {
    while (!is_over(job.next)) {
      auto done = run_stretch(job);
      const std::scoped_lock lock(mutex_);
      report_.seconds = elapsed();
      if (!done) error_ = done.error();
      events_.on_progress(report_);
    }
  }

  // A case of another library's is drawn again where the library does not do the layer, so many times at
  // most. Cells count all of them.
  static constexpr int64_t most_draws = 64;
  int64_t first_draw(int64_t number) const { return number * most_draws; }

  DrawnCase drawn_case(int64_t draw_number) const {
    Draw draw(mixed(options_.seed, static_cast<uint64_t>(draw_number)));
    return draw_case(draw, options_.choices);
  }

  // Whether the library does all of a case: the layer that it sees first, its neighbour, before the layer, or
  // a plan that it keeps would be the layer's.
  bool takes(const FuzzCase& one) const {
    const auto spec = frontend::parse_spec(one.spec);
    const auto other = spec ? neighbour(*spec, one.before) : std::nullopt;
    return (!other || options_.against->takes(print(*other))) && options_.against->takes(one.spec);
  }

  // The number of the draw that case `number` is: in a child, because it asks the library.
  int64_t settle_draw(const Job& job, int64_t number) const {
    const int64_t first = first_draw(number);
    for (int64_t draw = first; draw < first + most_draws - 1; ++draw) {
      job.cell.begin_case(draw, options_.case_seconds);
      if (!options_.against || takes(drawn_case(draw).one)) return draw;
    }
    return first + most_draws - 1;
  }

  // --- in a child

  // known: of what came before.
  CaseStretch try_stretch(const Job& job, int64_t end_number, const std::vector<std::string>& known_labels,
                          Coverage known) const {
    constexpr double stretch_seconds = 1;
    CaseStretch stretch;
    const double begin = elapsed();
    int64_t number = job.next;
    do {
      const int64_t draw_number = settle_draw(job, number);
      job.cell.begin_case(draw_number, options_.case_seconds);
      const double case_begin = cpu_seconds();
      const DrawnCase drawn = drawn_case(draw_number);
      const Outcome tried = is_wanted(drawn.one, options_.choices)
                                ? judged(try_case(drawn.one, options_.against, options_.accepted))
                                : Outcome{.verdict = Verdict::unsupported};
      stretch.slowest = std::max(stretch.slowest, cpu_seconds() - case_begin);
      ++stretch.tried;
      stretch.runs += tried.runs;
      if (tried.verdict == Verdict::agrees) ++stretch.agree;
      if (tried.verdict == Verdict::unsupported) ++stretch.unsupported;
      if (options_.count_axes) {
        const bool is_compared = tried.verdict != Verdict::unsupported;
        stretch.coverage.take(drawn.settings, is_compared);
        if (known.take(drawn.settings, is_compared)) stretch.kept.push_back(drawn.one);
      }
      const bool is_new = tried.verdict == Verdict::accepted && stretch.by_label[label(tried)]++ == 0 &&
                          std::ranges::find(known_labels, label(tried)) == known_labels.end();
      if (tried.verdict == Verdict::failed || is_new) stretch.notable.emplace_back(draw_number, tried);
      number += options_.jobs;
    } while (number < end_number && elapsed() < begin + stretch_seconds && stretch.notable.empty() &&
             !is_last(number) && (options_.seconds <= 0 || elapsed() < options_.seconds));
    return stretch;
  }

  // --- in the parent

  // Of cases before number `end`.
  ir::Result<void> run_stretch(Job& job, int64_t end_number = std::numeric_limits<int64_t>::max()) {
    std::vector<std::string> known_labels;
    Coverage known;
    {
      const std::scoped_lock lock(mutex_);
      known = report_.coverage;
      for (const auto& [known, times] : report_.by_label) known_labels.push_back(known);
    }
    job.cell.expect_case(first_draw(job.next));
    const auto end =
        job.cell.run([&] { return nlohmann::json(try_stretch(job, end_number, known_labels, known)); },
                     options_.case_seconds, options_.case_seconds + 2);
    if (!end) return tl::unexpected(end.error());
    if (!end->is_done()) return bury(job, *end);
    const CaseStretch stretch = end->said.get<CaseStretch>();
    {
      const std::scoped_lock lock(mutex_);
      advance(job, job.next + stretch.tried * options_.jobs);
      report_.tried += stretch.tried;
      report_.agree += stretch.agree;
      report_.unsupported += stretch.unsupported;
      report_.runs += stretch.runs;
      report_.coverage.merge(stretch.coverage);
      report_.kept.insert(report_.kept.end(), stretch.kept.begin(), stretch.kept.end());
      slowest_ = std::max(slowest_, stretch.slowest);
      for (const auto& [what, times] : stretch.by_label) {
        report_.by_label[what] += times;
        report_.accepted += times;
      }
    }
    for (const auto& [draw, outcome] : stretch.notable) take(job, drawn_finding(draw, outcome));
    return {};
  }

  // What came before the case that ended its process died with it, and is tried again.
  ir::Result<void> bury(Job& job, const Cell::End& end) {
    const int64_t draw = job.cell.last_case(), number = draw / most_draws;
    while (job.next < number && !is_over(job.next))
      if (auto done = run_stretch(job, number); !done) return done;
    const int64_t untried = (number - job.next) / options_.jobs;  // the time was over
    if (has_enough()) return {};
    {
      const std::scoped_lock lock(mutex_);
      advance(job, number + options_.jobs);
      report_.tried += untried + 1;
      if (events_.is_interrupted()) return {};
    }
    take(job, drawn_finding(draw, options_.accepted.settled(end.death, drawn_case(draw).one.spec)));
    return {};
  }

  // Under the lock.
  void advance(Job& job, int64_t next) {
    job.next = next;
    report_.next = std::ranges::min_element(jobs_, {}, &Job::next)->next;
  }

  Outcome try_in(const Job& job, const FuzzCase& one, double seconds) const {
    return try_case_in(job.cell, one, options_.against, options_.accepted, seconds);
  }

  // A hang is shrunk with less patience than it was found with: far more than any case took that ended.
  double patience(const Outcome& outcome) {
    if (outcome.kind != Kind::hang) return options_.case_seconds;
    const std::scoped_lock lock(mutex_);
    return std::min(std::max(20 * slowest_, 0.2), options_.case_seconds);
  }

  // Under the lock.
  bool has_example(const Outcome& outcome) const {
    return std::ranges::any_of(report_.examples,
                               [&](const Finding& known) { return label(known.outcome) == label(outcome); });
  }

  // Of what is accepted, the first one of its label. Of failures that turned out to be known ones, an ever
  // smaller share is made small again.
  bool is_worth_shrinking(const Outcome& outcome) {
    constexpr int trusted = 3, rarest = 6;
    const std::scoped_lock lock(mutex_);
    if (outcome.verdict == Verdict::accepted) return !has_example(outcome);
    if (repeated_ < trusted) return true;
    return report_.failed % (1 << std::min(repeated_ - trusted + 1, rarest)) == 0;
  }

  ShrinkLimits shrink_limits() const {
    ShrinkLimits limits = options_.shrinking;
    if (options_.seconds <= 0) return limits;
    const std::chrono::duration<double> left(std::max(options_.seconds - elapsed(), 5.0));
    limits.time = std::min(limits.time, std::chrono::duration_cast<std::chrono::milliseconds>(left));
    return limits;
  }

  Finding drawn_finding(int64_t draw, const Outcome& outcome) const {
    const FuzzCase drawn = drawn_case(draw).one;
    return {.number = draw / most_draws, .drawn = drawn.spec, .smallest = drawn, .outcome = outcome};
  }

  // What the engine dies of may be the neighbour that it was called with before the layer: that is a finding
  // of the neighbour's own, or a known one.
  void blame_neighbour(const Job& job, Finding& finding) const {
    const auto spec = frontend::parse_spec(finding.smallest.spec);
    const auto other = spec ? neighbour(*spec, finding.smallest.before) : std::nullopt;
    if (finding.outcome.kind < Kind::crash || !other) return;
    FuzzCase alone = finding.smallest;
    alone.spec = print(*other);
    alone.before.clear();
    const Outcome outcome = try_in(job, alone, options_.case_seconds);
    if (outcome.kind >= Kind::crash && outcome.verdict >= Verdict::accepted)
      finding = {.number = finding.number, .drawn = alone.spec, .smallest = alone, .outcome = outcome};
  }

  // Shrinks a case and reports it.
  void take(const Job& job, Finding finding) {
    blame_neighbour(job, finding);
    const Outcome outcome = finding.outcome;
    if (!is_worth_shrinking(outcome)) {
      if (outcome.verdict == Verdict::accepted) return report(std::move(finding));
      const std::scoped_lock lock(mutex_);
      ++report_.failed;
      return;
    }
    const FuzzCase drawn = finding.smallest;
    const double seconds = patience(outcome);
    const auto fails = [&](const FuzzCase& one) {
      return !events_.is_interrupted() && is_like(try_in(job, one, seconds), outcome);
    };
    if (fails(drawn)) {
      finding.smallest = shrink(drawn, fails, shrink_limits());
      const Outcome smallest = try_in(job, finding.smallest, options_.case_seconds);
      if (is_like(smallest, outcome))
        finding.outcome = smallest;
      else
        finding.smallest = drawn;
    }
    report(std::move(finding));
  }

  void report(Finding finding) {
    const std::scoped_lock lock(mutex_);
    if (finding.outcome.verdict == Verdict::accepted) {
      const std::string what = label(finding.outcome);
      const bool is_of_process = finding.outcome.kind >= Kind::crash;
      if (is_of_process) ++report_.by_label[what], ++report_.accepted;
      if (!has_example(finding.outcome)) report_.examples.push_back(std::move(finding));
      return;
    }
    ++report_.failed;
    finding.cause = cause_of(finding.smallest, finding.outcome);
    if (++report_.by_cause[finding.cause] > 1) {
      ++repeated_;
      return;
    }
    repeated_ = 0;
    report_.failures.push_back(finding);
    events_.on_failure(finding);
  }

  const CampaignOptions& options_;
  const CampaignEvents& events_;
  const Clock::time_point start_;
  std::mutex mutex_;  // of all below
  CampaignReport report_;
  std::vector<Job> jobs_;
  std::optional<ir::Error> error_;
  double slowest_ = 0;
  int repeated_ = 0;  // failures since the last new one
};

}  // namespace

ir::Result<Outcome> try_case(const FuzzCase& one, const OtherEngine* against, const Accepted& accepted) {
  if (against) return against->try_case(one, accepted);
  runtime::CheckOptions options = {.seed = one.seed, .general = one.general, .data = one.data};
  options.isa = ir::find_isa(one.isa);
  options.backend = runtime::find_engine(one.backend);
  if (!one.schedule.empty()) {
    const auto schedule = ir::parse_schedule(one.schedule);
    if (!schedule) return tl::unexpected(schedule.error());
    options.schedule = *schedule;
  }
  const auto report = runtime::check(one.spec, options);
  if (!report) return tl::unexpected(report.error());
  return Outcome{.verdict = report->ok() ? Verdict::agrees : Verdict::failed,
                 .failure = report->failure,
                 .runs = report->runs};
}

Outcome try_case_in(const Cell& cell, const FuzzCase& one, const OtherEngine* against,
                    const Accepted& accepted, double seconds) {
  const auto end =
      cell.run([&] { return nlohmann::json(judged(try_case(one, against, accepted))); }, seconds, seconds);
  if (!end) return {.verdict = Verdict::unsupported};
  return end->is_done() ? end->said.get<Outcome>() : accepted.settled(end->death, one.spec);
}

ir::Result<CampaignReport> run_campaign(const CampaignOptions& options, const CampaignEvents& events) {
  return Campaign(options, events).run();
}

}  // namespace pooljit::fuzz
