#include "runtime/tuning/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ir/schedule_text.h"
#include "runtime/candidates.h"
#include "runtime/check.h"
#include "runtime/machine.h"
#include "runtime/options.h"
#include "runtime/proof/verify.h"
#include "runtime/tuning/choose.h"
#include "runtime/tuning/workload.h"

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t group_size = 6;     // candidates that take turns with the default
constexpr int patience = 3;          // groups without a better one before the search stops
constexpr size_t finalists = 3;      // measured again, for longer
constexpr double gain = 0.01;        // what counts as better while searching
constexpr double final_share = 0.3;  // of the time, for the final
constexpr double group_seconds = 0.25;
constexpr double most_final_seconds = 2;
constexpr int most_samples = 4000;  // of each, where the time is to be spent

struct Contender {
  ir::Schedule schedule;
  double ratio = 1;  // to the default, side by side
  double compile_seconds = 0;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ir::Result<KernelPtr> make_kernel(std::string_view spec, Options options, const ir::Schedule& schedule) {
  options.schedule = ir::print(schedule);
  options.verify = false;
  return compile_uncached(spec, options);
}

class Search {
 public:
  Search(std::string_view spec, const Options& options, const TuneLimits& limits)
      : spec_(spec), options_(options), limits_(limits), start_(Clock::now()) {}

  ir::Result<TuneResult> run() {
    auto found = find();
    if (!found) return tl::unexpected(found.error());
    if (auto done = measure_default(); !done) return tl::unexpected(done.error());
    if (auto done = screen(); !done) return tl::unexpected(done.error());
    return decide();
  }

 private:
  ir::Result<void> find() {
    auto key = tune_key(spec_, options_);
    if (!key) return tl::unexpected(key.error());
    result_.entry = std::move(*key);
    const frontend::PoolSpec spec = *frontend::parse_spec(spec_);
    choices_ = *resolve(options_);
    limits_.progress("listing schedules");
    const auto found = find_candidates(make_nest(spec), choices_.isa, spec.batch.value_or(1), machine().row);
    if (!found) return tl::unexpected(found.error());
    for (const Candidate& candidate : found->legal)
      (candidate.is_default ? standard_ : candidates_.emplace_back()).schedule = candidate.schedule;
    result_.legal = found->legal.size();
    return {};
  }

  ir::Result<void> measure_default() {
    auto kernel = make(standard_);
    if (!kernel) return tl::unexpected(kernel.error());
    default_kernel_ = std::move(*kernel);
    return {};
  }

  double spent() const { return seconds_since(start_); }

  ir::Result<KernelPtr> make(Contender& contender) const {
    const Clock::time_point start = Clock::now();
    auto kernel = make_kernel(spec_, options_, contender.schedule);
    contender.compile_seconds = seconds_since(start);
    return kernel;
  }

  // The default and some candidates in turns; a candidate that this back end cannot make is left out.
  ir::Result<std::vector<Timing>> time_group(std::span<Contender> group, const MeasureOptions& options,
                                             bool is_final, std::vector<Contender*>& timed) {
    if (limits_.stopped()) return ir::invalid("tune.stopped", "stopped before there was a result");
    std::vector<KernelPtr> kernels = {default_kernel_};
    for (Contender& contender : group) {
      auto kernel = make(contender);
      if (!kernel) continue;
      kernels.push_back(std::move(*kernel));
      timed.push_back(&contender);
    }
    const auto samples = sample_kernels(kernels, options);
    if (!samples) return tl::unexpected(samples.error());
    std::vector<Timing> timings;
    for (size_t i = 0; i < samples->size(); ++i) {
      const Samples& own = (*samples)[i];
      const Contender& contender = i == 0 ? standard_ : *timed[i - 1];
      limits_.measured({contender.schedule, i == 0, is_final, contender.compile_seconds, own});
      timings.push_back(summarize(own.seconds, own.calls_per_sample));
    }
    for (size_t i = 0; i < timed.size(); ++i) timed[i]->ratio = timings[i + 1].median / timings[0].median;
    return timings;
  }

  // When a search that measures the groups from `begin` on is over.
  bool is_enough(size_t begin, int quiet) const {
    if (begin >= candidates_.size()) return true;
    if (limits_.exhaustive || begin == 0) return false;
    if (spent() > limits_.seconds * (1 - final_share)) return true;
    return !limits_.spend && quiet >= patience;
  }

  // The share of the time that a group may take: so much that all are measured, where that is wanted.
  double seconds_of_group(size_t begin) const {
    const double most = std::min(group_seconds, limits_.seconds / 10);
    if (!limits_.spend && !limits_.exhaustive) return most;
    const double groups = std::ceil(double(candidates_.size() - begin) / double(group_size));
    const double share = std::max(limits_.seconds * (1 - final_share) - spent(), 0.0) / groups;
    return limits_.spend ? share : std::min(most, share);
  }

  std::string progress_text(double best) const {
    const double share = double(result_.measured) / double(std::max<size_t>(candidates_.size(), 1));
    const double rest = share > 0 ? spent() / share * (1 - share) : 0;
    return fmt::format("{} of {} schedules, best {:.3f} of the default, {:.0f} s left at most",
                       result_.measured, result_.legal, best,
                       limits_.exhaustive ? rest + limits_.seconds * final_share : limits_.seconds - spent());
  }

  ir::Result<void> screen() {
    double best = 1;
    int quiet = 0;
    for (size_t begin = 0; !is_enough(begin, quiet); begin += group_size) {
      const std::span group =
          std::span(candidates_).subspan(begin, std::min(group_size, candidates_.size() - begin));
      limits_.progress(progress_text(best));
      std::vector<Contender*> timed;
      MeasureOptions options = {
          .sample_seconds = 200e-6, .budget_seconds = seconds_of_group(begin), .fewest_samples = 5};
      if (limits_.spend) options.most_samples = most_samples;
      const auto timings = time_group(group, options, false, timed);
      if (!timings) return tl::unexpected(timings.error());
      double here = best;
      for (const Contender* contender : timed) here = std::min(here, contender->ratio);
      result_.measured += timed.size();
      quiet = here < best * (1 - gain) ? 0 : quiet + 1;
      best = here;
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Contender& a, const Contender& b) { return a.ratio < b.ratio; });
    return {};
  }

  ir::Result<TuneResult> decide() {
    size_t better = 0;
    while (better < std::min(finalists, candidates_.size()) && candidates_[better].ratio < 1) ++better;
    limits_.progress(fmt::format("final of {}", better + 1));
    std::vector<Contender*> timed;
    const double left = std::max(limits_.seconds * final_share, limits_.seconds - spent());
    MeasureOptions options = {.budget_seconds = std::min(left, most_final_seconds), .fewest_samples = 15};
    if (limits_.spend) options.budget_seconds = left, options.most_samples = most_samples;
    const auto timings = time_group(std::span(candidates_).first(better), options, true, timed);
    if (!timings) return tl::unexpected(timings.error());
    std::vector<size_t> order(timed.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return (*timings)[a + 1].median < (*timings)[b + 1].median; });
    result_.standard = (*timings)[0];
    accept(standard_.schedule, result_.standard, "default");
    for (const size_t i : order) {
      if (!is_clearly_faster((*timings)[i + 1], result_.standard)) break;
      if (limits_.stopped()) return ir::invalid("tune.stopped", "stopped before there was a result");
      const auto how = prove(timed[i]->schedule);
      if (!how) return tl::unexpected(how.error());
      if (how->empty()) continue;
      accept(timed[i]->schedule, (*timings)[i + 1], *how);
      break;
    }
    return std::move(result_);
  }

  void accept(const ir::Schedule& schedule, const Timing& timing, std::string_view how) {
    result_.best = timing;
    result_.entry.schedule = ir::print(schedule);
    result_.entry.seconds = timing.median;
    result_.entry.spread = timing.spread();
    result_.entry.default_seconds = result_.standard.median;
    result_.entry.proof = how;
  }

  // A word of tune_proofs; empty if it is not right.
  ir::Result<std::string> prove(const ir::Schedule& schedule) {
    limits_.progress("proving " + ir::print(schedule));
    Choices choices = choices_;
    choices.schedule = schedule;
    const auto proof = runtime::verify(spec_, choices);
    if (proof && proof->ok()) return std::string("verify");
    if (proof) {
      note(schedule, "not proved: " + proof->failure);
      return std::string();
    }
    if (proof.error().kind != ir::ErrorKind::unsupported) return tl::unexpected(proof.error());
    note(schedule, "checked only: " + proof.error().message);
    return agree(schedule);
  }

  ir::Result<std::string> agree(const ir::Schedule& schedule) {
    const auto report =
        check(spec_, {.schedules = CheckOptions::Schedules::some, .isa = choices_.isa, .schedule = schedule});
    if (!report && report.error().kind == ir::ErrorKind::system) return tl::unexpected(report.error());
    if (report && report->ok()) return std::string("check");
    note(schedule, "not taken: " + (report ? report->failure : report.error().message));
    return std::string();
  }

  void note(const ir::Schedule& schedule, const std::string& what) {
    result_.notes.push_back(fmt::format("{}: {}", ir::print(schedule), what));
  }

  const std::string_view spec_;
  const Options& options_;
  const TuneLimits& limits_;
  const Clock::time_point start_;
  Choices choices_;
  Contender standard_;
  std::vector<Contender> candidates_;  // but for the default: in the model's order, later the fastest first
  KernelPtr default_kernel_;
  TuneResult result_;
};

}  // namespace

bool is_clearly_faster(const Timing& challenger, const Timing& holder) {
  return challenger.median * (1 + challenger.spread()) < holder.median * (1 - holder.spread());
}

ir::Result<TuneEntry> tune_key(std::string_view spec_text, const Options& options) {
  const auto spec = frontend::parse_spec(spec_text);
  if (!spec) return tl::unexpected(spec.error());
  const auto choices = resolve(options);
  if (!choices) return tl::unexpected(choices.error());
  const EngineInfo& engine = info(choices->engine);
  if (!engine.is_native)
    return ir::unsupported("tune.backend", fmt::format("{} runs no machine code to tune", engine.text),
                           "backend=xbyak or backend=llvm");
  if (is_unpool(*spec))
    return ir::unsupported("schedule.unpool", "an unpool has no schedules: it is a routine of the runtime");
  return tune_key(*spec, *choices, thread_count(options));
}

ir::Result<TuneResult> tune(std::string_view spec_text, const Options& options, const TuneLimits& limits) {
  return Search(spec_text, options, limits).run();
}

}  // namespace pooljit::runtime
