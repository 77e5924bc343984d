#include "lab/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "ir/schedule_text.h"
#include "ir/pools.h"
#include "lab/schedules/candidates.h"
#include "lab/check.h"
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
constexpr double most_sample_seconds = 200e-6;  // while searching
constexpr double most_final_seconds = 2;
constexpr int most_samples = 4000;  // of each, where the time is to be spent

struct Contender {
  ir::Schedule schedule;
  double ratio = 1;  // to the default, side by side
  double compile_seconds = 0;
  bool is_known = false;  // measured before this search
};

bool is_scalar(const ir::Schedule& schedule) {
  return std::ranges::all_of(pools_of(schedule), [](const ir::Schedule& pool) { return pool.lanes == 1; });
}

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
    auto swept = sweep();
    return swept ? decide() : swept;
  }

  ir::Result<TuneResult> sweep() {
    if (auto done = find(); !done) return tl::unexpected(done.error());
    if (auto done = make_default(); !done) return tl::unexpected(done.error());
    if (auto done = screen(); !done) return tl::unexpected(done.error());
    return result_;
  }

  // Also where there is nothing else, or all of it was known.
  ir::Result<TuneResult> sweep_all() {
    auto swept = sweep();
    if (!swept || has_told_of_default_) return swept;
    std::vector<Contender*> none;
    if (const auto timed = time_group({}, while_searching(1, 0), false, none); !timed)
      return tl::unexpected(timed.error());
    return swept;
  }

 private:
  ir::Result<void> find() {
    auto key = tune_key(spec_, options_);
    if (!key) return tl::unexpected(key.error());
    result_.entry = std::move(*key);
    const frontend::PoolSpec spec = *frontend::parse_spec(spec_);
    if (spec.batch == 0)
      return ir::invalid("tune.empty", "a batch of 0 is no work to measure", "give the spec a batch of 1");
    choices_ = *resolve(options_);
    limits_.progress("listing schedules");
    const auto found = find_candidates(make_nest(spec), choices_.isa, spec.batch.value_or(1), machine().row);
    if (!found) return tl::unexpected(found.error());
    for (const Candidate& candidate : found->legal)
      (candidate.is_default ? standard_ : candidates_.emplace_back()).schedule = candidate.schedule;
    result_.legal = found->legal.size();
    if (limits_.skip_scalar && std::ranges::any_of(found->legal, [](const Candidate& candidate) {
          return !is_scalar(candidate.schedule);
        }))
      std::erase_if(candidates_, [](const Contender& one) { return is_scalar(one.schedule); });
    result_.space = candidates_.size() + 1;
    take_known();
    return {};
  }

  // To the front, where the search does not begin.
  void take_known() {
    for (Contender& one : candidates_)
      if (const auto ratio = limits_.known(one.schedule)) one.ratio = *ratio, one.is_known = true;
    std::stable_partition(candidates_.begin(), candidates_.end(),
                          [](const Contender& one) { return one.is_known; });
    known_ = static_cast<size_t>(std::ranges::count_if(candidates_, &Contender::is_known));
    result_.measured = known_;
    has_told_of_default_ = limits_.known(standard_.schedule).has_value();
  }

  ir::Result<void> make_default() {
    auto kernel = make(standard_);
    if (!kernel) return tl::unexpected(kernel.error());
    default_kernel_ = std::move(*kernel);
    auto workload = Workload::make(*default_kernel_);
    if (!workload) return tl::unexpected(workload.error());
    workload_.emplace(std::move(*workload));
    return {};
  }

  double spent() const { return seconds_since(start_); }

  ir::Result<KernelPtr> make(Contender& contender) const {
    const Clock::time_point start = Clock::now();
    auto kernel = make_kernel(spec_, options_, contender.schedule);
    contender.compile_seconds = seconds_since(start);
    return kernel;
  }

  // The default and some candidates in turns; a candidate that this back end cannot make is left out. The
  // default is told of once while searching, and in the final.
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
    const int64_t preempted = options.watch.preemptions();
    const auto samples = sample_kernels(*workload_, kernels, options);
    if (!samples) return tl::unexpected(samples.error());
    const int64_t preemptions = options.watch.preemptions() - preempted;
    std::vector<Timing> timings;
    for (size_t i = 0; i < samples->size(); ++i) {
      const Samples& own = (*samples)[i];
      timings.push_back(summarize(own.seconds, own.calls_per_sample));
      Contender& contender = i == 0 ? standard_ : *timed[i - 1];
      const TuneSample sample{kernels[i],  i == 0,          contender.compile_seconds,
                              own,         default_kernel_, samples->front(),
                              preemptions, result_.space};
      contender.ratio = sample.ratio();
      if (i == 0 && !is_final && std::exchange(has_told_of_default_, true)) continue;
      if (auto told = limits_.measured(sample); !told) return tl::unexpected(told.error());
    }
    return timings;
  }

  // When a search that measures the groups from `begin` on is over.
  bool is_enough(size_t begin, int quiet) const {
    if (begin >= candidates_.size()) return true;
    if (begin == known_) return false;
    if (limits_.exhaustive) return limits_.spend && spent() > limits_.seconds;
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

  MeasureOptions while_searching(size_t contenders, size_t begin) const {
    MeasureOptions options = {.sample_seconds = most_sample_seconds,
                              .budget_seconds = seconds_of_group(begin),
                              .fewest_samples = 5};
    if (limits_.spend) options.most_samples = most_samples;
    if (limits_.seconds_each > 0) {
      options.sample_seconds = std::min(most_sample_seconds, limits_.seconds_each / 20);
      options.budget_seconds = limits_.seconds_each * double(contenders);
      options.fewest_samples = 3;
    }
    return options;
  }

  ir::Result<void> screen() {
    double best = 1;
    for (const Contender& one : candidates_) best = std::min(best, one.ratio);
    int quiet = 0;
    size_t begin = known_;
    for (; !is_enough(begin, quiet); begin += group_size) {
      const std::span group =
          std::span(candidates_).subspan(begin, std::min(group_size, candidates_.size() - begin));
      limits_.progress(progress_text(best));
      std::vector<Contender*> timed;
      const auto timings = time_group(group, while_searching(group.size() + 1, begin), false, timed);
      if (!timings) return tl::unexpected(timings.error());
      double here = best;
      for (const Contender* contender : timed) here = std::min(here, contender->ratio);
      result_.measured += timed.size();
      quiet = here < best * (1 - gain) ? 0 : quiet + 1;
      best = here;
    }
    result_.is_complete = begin >= candidates_.size();
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
  std::optional<Workload> workload_;
  size_t known_ = 0;  // how many candidates were measured before
  bool has_told_of_default_ = false;
  TuneResult result_;
};

}  // namespace

double TuneSample::ratio() const {
  std::vector<double> ratios;
  for (size_t i = 0; i < samples.seconds.size(); ++i)
    ratios.push_back(samples.seconds[i] / reference_samples.seconds[i]);
  return summarize(std::move(ratios)).median;
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

ir::Result<TuneResult> sweep(std::string_view spec_text, const Options& options, const TuneLimits& limits) {
  return Search(spec_text, options, limits).sweep_all();
}

}  // namespace pooljit::runtime
