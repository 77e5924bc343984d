#include "tools/fuzz/campaign.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/child.h"

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

// What a child says besides its words: which case it is at, and what it wrote to stderr when it died.
class Shared {
 public:
  static ir::Result<Shared> make() {
    void* const page =
        ::mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int stderr_file = ::memfd_create("stderr", MFD_CLOEXEC);
    if (page == MAP_FAILED || stderr_file < 0)
      return ir::system_error("system.memory", fmt::format("no shared memory: {}", std::strerror(errno)));
    return Shared(static_cast<int64_t*>(page), stderr_file);
  }
  Shared(Shared&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), stderr_(std::exchange(other.stderr_, -1)) {}
  Shared& operator=(Shared&&) = delete;
  ~Shared() {
    if (at_) ::munmap(at_, sizeof *at_);
    if (stderr_ >= 0) ::close(stderr_);
  }

  // In the child: volatile, because another process reads it.
  void reach(int64_t number) const { *static_cast<volatile int64_t*>(at_) = number; }
  void catch_stderr() const {
    if (::ftruncate(stderr_, 0) == 0) ::dup2(stderr_, STDERR_FILENO);
  }

  int64_t reached() const { return *static_cast<volatile int64_t*>(at_); }
  std::string stderr_text() const {
    std::array<char, 600> text;
    const ssize_t bytes = ::pread(stderr_, text.data(), text.size(), 0);
    return bytes > 0 ? std::string(text.data(), static_cast<size_t>(bytes)) : "";
  }

 private:
  Shared(int64_t* at, int stderr_file) : at_(at), stderr_(stderr_file) {}
  int64_t* at_;
  int stderr_;
};

// What a child did: cases from `first` on.
struct Stretch {
  int64_t tried = 0, agree = 0, unsupported = 0, runs = 0;
  std::map<std::string, int64_t> explanations;
  // Cases that are more than a number: those that failed, and the first with each explanation.
  std::vector<std::pair<int64_t, Outcome>> notable;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Stretch, tried, agree, unsupported, runs, explanations, notable)

// A drawn spec that its own text does not give back is a finding; a schedule that does not suit, or a lack of
// memory, is none.
Outcome judged(const ir::Result<Outcome>& tried) {
  if (tried) return *tried;
  if (!tried.error().id.starts_with("spec.")) return {.verdict = Verdict::unsupported};
  return {.verdict = Verdict::failed, .failure = ir::to_string(tried.error())};
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const CampaignEvents& events, Shared shared)
      : options_(options), events_(events), shared_(std::move(shared)), start_(Clock::now()) {}

  ir::Result<CampaignReport> run() {
    while (!is_over()) {
      auto done = run_stretch();
      report_.seconds = elapsed();
      if (!done) return tl::unexpected(done.error());
      events_.on_progress(report_);
    }
    return report_;
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_over() const {
    return (options_.seconds > 0 && elapsed() >= options_.seconds) ||
           (options_.count > 0 && next_ >= options_.count) ||
           report_.failures.size() >= options_.most_failures || events_.is_interrupted();
  }

  FuzzCase case_of(int64_t number) const {
    Draw draw(mixed(options_.seed, static_cast<uint64_t>(number)));
    return random_case(draw, options_.choices);
  }

  // --- in a child

  Stretch try_stretch() const {
    constexpr double stretch_seconds = 1;
    shared_.catch_stderr();
    Stretch stretch;
    const auto begin = Clock::now();
    const auto is_over = [&] {
      const std::chrono::duration<double> spent = Clock::now() - begin;
      return spent.count() > stretch_seconds || !stretch.notable.empty() || this->is_over() ||
             (options_.count > 0 && next_ + stretch.tried >= options_.count);
    };
    do {
      const int64_t number = next_ + stretch.tried++;
      shared_.reach(number);
      const Outcome tried = judged(try_case(case_of(number), options_.against));
      stretch.runs += tried.runs;
      if (tried.verdict == Verdict::agrees) ++stretch.agree;
      if (tried.verdict == Verdict::unsupported) ++stretch.unsupported;
      const bool is_new_rule = tried.verdict == Verdict::explained &&
                               stretch.explanations[tried.explanation]++ == 0 &&
                               !report_.explanations.contains(tried.explanation);
      if (tried.verdict == Verdict::failed || is_new_rule) stretch.notable.emplace_back(number, tried);
    } while (!is_over());
    return stretch;
  }

  // --- in the parent

  ir::Result<void> run_stretch() {
    shared_.reach(next_);
    const auto end = runtime::run_in_child([&] { return nlohmann::json(try_stretch()).dump(); },
                                           options_.case_seconds + 2);
    if (!end) return tl::unexpected(end.error());
    const auto said = nlohmann::json::parse(end->said, nullptr, false);
    if (end->timed_out || end->signal != 0 || said.is_discarded()) {
      // What came before the case that ended it is counted, but not what came of it.
      const int64_t number = shared_.reached();
      report_.tried += number + 1 - next_;
      next_ = number + 1;
      if (events_.is_interrupted()) return {};
      return take(number, death(*end));
    }
    const Stretch stretch = said.get<Stretch>();
    next_ += stretch.tried;
    report_.tried += stretch.tried;
    report_.agree += stretch.agree;
    report_.unsupported += stretch.unsupported;
    report_.runs += stretch.runs;
    for (const auto& [rules, times] : stretch.explanations) {
      report_.explanations[rules] += times;
      report_.explained += times;
    }
    for (const auto& [number, outcome] : stretch.notable)
      if (auto done = take(number, outcome); !done) return done;
    return {};
  }

  Outcome death(const runtime::ChildEnd& end) const {
    std::string how = end.timed_out ? fmt::format("not done after {} seconds", options_.case_seconds)
                      : end.signal != 0
                          ? fmt::format("died of signal {} ({})", end.signal, strsignal(end.signal))
                          : "ended the process";
    const std::string text = shared_.stderr_text();
    return {.verdict = Verdict::failed, .failure = how + (text.empty() ? "" : "\n" + text)};
  }

  // What one case comes to, whatever it does to its process.
  Outcome try_in_child(const FuzzCase& one) {
    const auto end = runtime::run_in_child(
        [&] {
          shared_.catch_stderr();
          return nlohmann::json(judged(try_case(one, options_.against))).dump();
        },
        options_.case_seconds);
    if (!end) return {.verdict = Verdict::unsupported};
    const auto said = nlohmann::json::parse(end->said, nullptr, false);
    if (end->timed_out || end->signal != 0 || said.is_discarded()) return death(*end);
    return said.get<Outcome>();
  }

  // Shrinks a case and reports it.
  ir::Result<void> take(int64_t number, const Outcome& outcome) {
    Finding finding{
        .number = number, .drawn = case_of(number).spec, .smallest = case_of(number), .outcome = outcome};
    const auto is_like = [&](const Outcome& other) {
      return other.verdict == outcome.verdict && other.explanation == outcome.explanation;
    };
    if (is_like(try_in_child(finding.smallest)))
      finding.smallest = shrink(
          finding.smallest,
          [&](const FuzzCase& one) { return !events_.is_interrupted() && is_like(try_in_child(one)); },
          options_.shrinking);
    const Outcome smallest = try_in_child(finding.smallest);
    if (is_like(smallest)) finding.outcome = smallest;
    if (outcome.verdict == Verdict::explained) {
      report_.examples.push_back(std::move(finding));
      return {};
    }
    ++report_.failed;
    const bool is_known = std::ranges::any_of(
        report_.failures, [&](const Finding& known) { return known.smallest.spec == finding.smallest.spec; });
    if (is_known) return {};
    report_.failures.push_back(finding);
    events_.on_failure(finding);
    return {};
  }

  const CampaignOptions& options_;
  const CampaignEvents& events_;
  Shared shared_;
  Clock::time_point start_;
  int64_t next_ = 0;
  CampaignReport report_;
};

}  // namespace

ir::Result<Outcome> try_case(const FuzzCase& one, const OtherEngine* against) {
  if (against) return against->try_case(one);
  runtime::CheckOptions options = {.seed = one.seed, .data = one.data};
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

ir::Result<CampaignReport> run_campaign(const CampaignOptions& options, const CampaignEvents& events) {
  auto shared = Shared::make();
  if (!shared) return tl::unexpected(shared.error());
  return Campaign(options, events, std::move(*shared)).run();
}

}  // namespace pooljit::fuzz
