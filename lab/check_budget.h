// How much of a layer check() does in about a number of seconds. A slow machine does less, a fast one more.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace pooljit::runtime {

class CheckBudget {
 public:
  // Without seconds there is no bound.
  explicit CheckBudget(std::optional<double> seconds) : seconds_(seconds) {}

  bool is_bounded() const { return seconds_.has_value(); }
  bool is_over() const { return seconds_ && elapsed() >= *seconds_; }

  // Taps that the interpreter may take of the next Program on the next data: at most an eighth of all time,
  // so that it sees several; nothing if it has had more than its share, which is half of the time, and more
  // at first.
  double next_taps() const {
    if (!seconds_) return std::numeric_limits<double>::infinity();
    const double credit = *seconds_ / 2 + elapsed() / 2 - interpreting_;
    return std::clamp(credit, 0.0, *seconds_ / 8) / (rated_seconds_ / rated_taps_);
  }

  void interpreted(double seconds, double taps) {
    interpreting_ += seconds;
    if (taps == 0) return;
    rated_seconds_ += seconds;
    rated_taps_ += taps;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  std::optional<double> seconds_;
  Clock::time_point start_ = Clock::now();
  double interpreting_ = 0;
  double rated_seconds_ = 0.01, rated_taps_ = 1e5;  // of what was interpreted, beside a first guess
};

}  // namespace pooljit::runtime
