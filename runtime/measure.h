// Timing of several contenders in one run, interleaved, so that a drift of the machine's clock or a noisy
// neighbour meets all of them. Medians and quartiles, never means: one interrupt must not change a result.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pooljit::runtime {

struct Timing {
  double median = 0, first_quartile = 0, third_quartile = 0;  // seconds per call
  int samples = 0;
  int calls_per_sample = 1;
  double p10 = 0, p90 = 0, p99 = 0;  // percentiles of the samples
  // Half the distance between the quartiles, as a share of the median.
  double spread() const { return median > 0 ? (third_quartile - first_quartile) / (2 * median) : 0; }
};

// A larger spread means that something disturbed the measurement.
inline constexpr double most_spread = 0.1;

Timing summarize(std::vector<double> seconds, int calls_per_sample = 1);
// True if `challenger` is faster than `holder` by more than the spread of both.
bool is_clearly_faster(const Timing& challenger, const Timing& holder);

// The clock that times are read from. Tests have one of their own.
struct Stopwatch {
  std::function<double()> seconds;       // since some moment
  std::function<int64_t()> preemptions;  // how often another thread took the calling one's core so far
};
const Stopwatch& system_stopwatch();
// The processor time of the calling thread: for work that runs on it alone, on a core that others use too.
const Stopwatch& thread_stopwatch();

struct MeasureOptions {
  double sample_seconds = 500e-6;  // a sample is as many calls as take this long
  double budget_seconds = 1.0;     // for all contenders together
  int fewest_samples = 7;
  int most_samples = 400;
  // How long the contender is called untimed before each sample. It replaces what the one before left in the
  // caches (streaming stores empty them), and idle threads of another's pool, which spin for some
  // milliseconds, go to sleep. 0: not at all.
  double settle_seconds = 2e-3;
  bool is_warm = false;  // the contenders have been called already
  // How many rounds are repeated because another thread took the core; later ones count as any other.
  int most_repeats = 0;
  const Stopwatch& watch = system_stopwatch();
};

// The samples of one contender, in order: sample i of all contenders was taken side by side.
struct Samples {
  std::vector<double> seconds;  // per call
  int calls_per_sample = 1;
  int repeats = 0;  // rounds that were done again
};

// One per contender. Each is warmed up first. Samples take turns, in an order that is drawn for each round:
// so no contender always finds the caches as the same other one left them.
std::vector<Samples> measure_samples(std::span<const std::function<void()>> contenders,
                                     const MeasureOptions& options = {});
std::vector<Timing> measure(std::span<const std::function<void()>> contenders,
                            const MeasureOptions& options = {});

// The time that so large a share of single calls does not exceed, of calls one after the other for so many
// seconds; at least 100. What a median hides: threads that wait for each other on a busy machine.
double call_quantile(const std::function<void()>& call, double share, double budget_seconds);

}  // namespace pooljit::runtime
