#include "tools/bench/turns.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace pooljit::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Of threads that spin: about as long as those of libgomp and pthreadpool do before they sleep.
constexpr double settle_threads_seconds = 0.01;

Timing ratio(const Samples& theirs, const Samples& ours) {
  std::vector<double> ratios;
  for (size_t i = 0; i < theirs.seconds.size(); ++i) ratios.push_back(theirs.seconds[i] / ours.seconds[i]);
  return summarize(std::move(ratios));
}

}  // namespace

void Turns::add(std::string engine, std::function<void()> work, int64_t differences, double setup_seconds) {
  works_.push_back(std::move(work));
  engines_.push_back({.engine = std::move(engine),
                      .call = {},
                      .ratio = {},
                      .setup_seconds = setup_seconds,
                      .differences = differences,
                      .samples = {}});
}

void Turns::measure(double seconds, const std::function<void(bool streaming)>& copy, LayerResult& result) {
  std::vector<std::function<void()>> works = works_;
  works.emplace_back([&] { copy(false); });
  MeasureOptions how{.budget_seconds = seconds * double(works.size()), .fewest_samples = 5};
  if (result.threads > 1) how.settle_seconds = settle_threads_seconds;
  const std::vector<Samples> samples = measure_samples(works, how);
  const std::function<void()> stream = [&] { copy(true); };
  how.budget_seconds = seconds;
  const Timing cached = summarize(samples.back().seconds);
  const Timing streaming = tools::measure({&stream, 1}, how)[0];
  result.copy_streams = streaming.median < cached.median;
  result.copy = result.copy_streams ? streaming : cached;
  for (size_t i = 0; i < engines_.size(); ++i) {
    EngineResult& engine = engines_[i];
    engine.samples = samples[i];
    engine.call = summarize(samples[i].seconds, samples[i].calls_per_sample);
    if (i > 0) engine.ratio = ratio(samples[i], samples[0]);
    result.engines.push_back(std::move(engine));
  }
}

double seconds_of(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string too_long(double seconds) {
  return fmt::format("one call takes {:.3g} s, more than --longest", seconds);
}

}  // namespace pooljit::tools
