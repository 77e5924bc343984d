// How much of a layer check() gives the interpreter: as many taps as a number of seconds allows. The clock is
// asked after each piece of work, so that a slow machine does less and a fast one more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace pooljit::runtime {

class InterpreterBudget {
 public:
  // Pieces: Programs, each on each of its inputs. Without seconds there is no bound.
  InterpreterBudget(std::optional<double> seconds, int64_t pieces) : is_bounded_(seconds.has_value()) {
    if (!seconds) return;
    // Half of it for whoever comes first, so that a layer that fits is not cut for one costly Program.
    credit_ = *seconds / 2;
    share_ = *seconds / 2 / static_cast<double>(std::max<int64_t>(pieces, 1));
  }

  bool is_bounded() const { return is_bounded_; }

  // What the next piece may take. A piece that took too long is paid by those behind it, which get nothing
  // meanwhile.
  double next_taps() {
    if (!is_bounded_) return std::numeric_limits<double>::infinity();
    credit_ += share_;
    return std::max(credit_, 0.0) / (seconds_ / taps_);
  }

  void spend(double seconds, double taps) {
    credit_ -= seconds;
    seconds_ += seconds;
    taps_ += taps;
  }

 private:
  bool is_bounded_;
  double credit_ = 0, share_ = 0;
  double seconds_ = 0.01, taps_ = 1e5;  // so far, beside a guess that the first piece corrects
};

}  // namespace pooljit::runtime
