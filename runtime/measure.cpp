#include "runtime/measure.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& call, int calls) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

// How many calls fill a sample. The first call only warms up.
int calls_per_sample(const std::function<void()>& call, double sample_seconds) {
  seconds_of(call, 1);
  constexpr int most = 1 << 20;
  int calls = 1;
  while (calls < most && seconds_of(call, calls) * calls < sample_seconds / 2) calls *= 2;
  return calls;
}

void settle(const std::function<void()>& call, double seconds) {
  if (seconds <= 0) return;
  const Clock::time_point start = Clock::now();
  do call();
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
}

double at(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

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
  for (const auto& contender : contenders)
    samples.push_back({{}, calls_per_sample(contender, options.sample_seconds)});

  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(1);
  const Clock::time_point start = Clock::now();
  for (int sample = 0; sample < options.most_samples; ++sample) {
    const double spent = std::chrono::duration<double>(Clock::now() - start).count();
    if (sample >= options.fewest_samples && spent > options.budget_seconds) break;
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      settle(contenders[i], options.settle_seconds);
      samples[i].seconds.push_back(seconds_of(contenders[i], samples[i].calls_per_sample));
    }
  }
  return samples;
}

double call_quantile(const std::function<void()>& call, double share, double budget_seconds) {
  constexpr size_t fewest = 100, most = 1 << 20;
  std::vector<double> seconds;
  const Clock::time_point start = Clock::now();
  while (seconds.size() < most &&
         (seconds.size() < fewest ||
          std::chrono::duration<double>(Clock::now() - start).count() < budget_seconds))
    seconds.push_back(seconds_of(call, 1));
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

}  // namespace pooljit::runtime
