// Cell: where cases are tried, a process of its own for each stretch of work: a crash, an endless loop and an
// exit are findings like any other. What the work prints is kept for the report.
#pragma once

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
      : at_(std::exchange(other.at_, nullptr)), output_(std::exchange(other.output_, -1)) {}
  Cell& operator=(Cell&&) = delete;
  ~Cell();

  struct End {
    nlohmann::json said;  // discarded if the work did not come to its end
    Outcome death;        // what then became of it
    bool is_done() const { return !said.is_discarded(); }
  };
  // Runs `work` in a child. A case that is begun in it may take `case_seconds`, all of them together
  // `most_seconds`. Errors: "system.process".
  ir::Result<End> run(const std::function<nlohmann::json()>& work, double case_seconds,
                      double most_seconds) const;

  // For the work: the case of that number begins, and with it the time that it may take.
  void begin_case(int64_t number, double case_seconds) const;
  // For the work: what it has printed since.
  static std::string printed_by_case();
  // For the parent: that is the first case of the work that is run next.
  void expect_case(int64_t number) const { *static_cast<volatile int64_t*>(at_) = number; }
  // The last one that was begun.
  int64_t last_case() const { return *static_cast<volatile int64_t*>(at_); }

 private:
  Cell(int64_t* at, int output) : at_(at), output_(output) {}
  void redirect_output() const;
  int64_t* at_;  // shared with the child
  int output_;   // what the child printed
};

}  // namespace pooljit::fuzz
