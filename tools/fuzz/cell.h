// Cell: where cases are tried, a process of its own for each stretch of work: a crash, an endless loop and an
// exit are findings like any other. The work's output is kept for the report.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ir/error.h"
#include "tools/fuzz/outcome.h"

namespace pooljit::fuzz {

class Cell {
 public:
  // Errors: "system.memory".
  static ir::Result<Cell> make();
  Cell(Cell&& other) noexcept
      : shared_(std::exchange(other.shared_, nullptr)), output_(std::exchange(other.output_, -1)) {}
  Cell& operator=(Cell&&) = delete;
  ~Cell();

  struct End {
    nlohmann::json said;  // discarded if the work did not come to its end
    Outcome death;        // what then became of it
    bool is_done() const { return !said.is_discarded(); }
  };
  // Runs `work` in a child. A case that is begun in it may take `case_seconds` of CPU time, what is not
  // charged aside, and the work `most_seconds` before its first case; on the clock, 30 times as long, as the
  // machine may be busy. Errors: "system.process".
  ir::Result<End> run(const std::function<nlohmann::json()>& work, double case_seconds,
                      double most_seconds) const;

  // For the work: the case of that number begins, and with it the CPU time that it may take.
  void begin_case(int64_t number, double case_seconds) const;
  // For the work, in a thread of its own or in one: while one lives, what is done is charged to the case, or
  // is not. An engine's calls are; the search for an explanation of what it gave is ours.
  class Charge {
   public:
    explicit Charge(bool is_charged);
    ~Charge();
    Charge(const Charge&) = delete;

   private:
    bool was_charged_;
  };
  // For the work: what it has printed since.
  static std::string printed_by_case();
  // For the parent: that is the first case of the work that is run next.
  void expect_case(int64_t number) const { shared_->number = number; }
  // The last one that was begun.
  int64_t last_case() const { return shared_->number; }

 private:
  // What parent and child share.
  struct Shared {
    std::atomic<int64_t> number = 0;
    std::atomic<double> late_at = 0;  // seconds of the clock
  };
  Cell(Shared* shared, int output) : shared_(shared), output_(output) {}
  void redirect_output() const;
  Shared* shared_;
  int output_;  // what the child printed
};

}  // namespace pooljit::fuzz
