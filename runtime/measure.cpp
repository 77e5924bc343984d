#include "runtime/measure.h"

#include <sys/resource.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

double thread_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int64_t preemptions() {
  rusage usage = {};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

double seconds_of(const std::function<void()>& call, int calls, const Stopwatch& watch) {
  const double start = watch.seconds();
  for (int i = 0; i < calls; ++i) call();
  return (watch.seconds() - start) / calls;
}

// How many calls fill a sample. A first call only warms up.
int calls_per_sample(const std::function<void()>& call, const MeasureOptions& options) {
  if (!options.is_warm) call();
  constexpr int most = 1 << 20;
  constexpr double far = 8;  // beyond so many samples one slow call decides nothing
  const auto takes = [&](int calls) { return seconds_of(call, calls, options.watch) * calls; };
  int calls = 1;
  for (; calls < most; calls *= 2) {
    double seconds = takes(calls);
    // Whatever held up the calls need not do so again.
    if (seconds >= options.sample_seconds / 2 && seconds < far * options.sample_seconds)
      seconds = std::min(seconds, takes(calls));
    if (seconds >= options.sample_seconds / 2) break;
  }
  return calls;
}

void settle(const std::function<void()>& call, const MeasureOptions& options) {
  if (options.settle_seconds <= 0) return;
  const double start = options.watch.seconds();
  do call();
  while (options.watch.seconds() - start < options.settle_seconds);
}

double at(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

const Stopwatch& system_stopwatch() {
  static const Stopwatch& watch = *new Stopwatch{now, preemptions};
  return watch;
}

const Stopwatch& thread_stopwatch() {
  static const Stopwatch& watch = *new Stopwatch{thread_seconds, preemptions};
  return watch;
}

Timing summarize(std::vector<double> seconds, int calls_per_sample) {
  std::sort(seconds.begin(), seconds.end());
  return {.median = at(seconds, 0.5),
          .first_quartile = at(seconds, 0.25),
          .third_quartile = at(seconds, 0.75),
          .samples = static_cast<int>(seconds.size()),
          .calls_per_sample = calls_per_sample,
          .p10 = at(seconds, 0.1),
          .p90 = at(seconds, 0.9),
          .p99 = at(seconds, 0.99)};
}

std::vector<Samples> measure_samples(std::span<const std::function<void()>> contenders,
                                     const MeasureOptions& options) {
  std::vector<Samples> samples;
  for (const auto& contender : contenders) samples.push_back({{}, calls_per_sample(contender, options)});

  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(1);
  const double start = options.watch.seconds();
  int repeats = 0;
  for (int round = 0; round < options.most_samples;) {
    if (round >= options.fewest_samples && options.watch.seconds() - start > options.budget_seconds) break;
    const bool may_repeat = repeats < options.most_repeats;
    const int64_t preempted = may_repeat ? options.watch.preemptions() : 0;
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      settle(contenders[i], options);
      samples[i].seconds.push_back(seconds_of(contenders[i], samples[i].calls_per_sample, options.watch));
    }
    if (may_repeat && options.watch.preemptions() != preempted) {
      ++repeats;
      for (Samples& one : samples) one.seconds.pop_back();
    } else {
      ++round;
    }
  }
  for (Samples& one : samples) one.repeats = repeats;
  return samples;
}

double call_quantile(const std::function<void()>& call, double share, double budget_seconds) {
  constexpr size_t fewest = 100, most = 1 << 20;
  std::vector<double> seconds;
  const Clock::time_point start = Clock::now();
  while (seconds.size() < most &&
         (seconds.size() < fewest ||
          std::chrono::duration<double>(Clock::now() - start).count() < budget_seconds))
    seconds.push_back(seconds_of(call, 1, system_stopwatch()));
  std::sort(seconds.begin(), seconds.end());
  return at(seconds, share);
}

std::vector<Timing> measure(std::span<const std::function<void()>> contenders,
                            const MeasureOptions& options) {
  std::vector<Timing> timings;
  for (Samples& samples : measure_samples(contenders, options))
    timings.push_back(summarize(std::move(samples.seconds), samples.calls_per_sample));
  return timings;
}

bool is_clearly_faster(const Timing& challenger, const Timing& holder) {
  return challenger.median * (1 + challenger.spread()) < holder.median * (1 - holder.spread());
}

}  // namespace pooljit::runtime
