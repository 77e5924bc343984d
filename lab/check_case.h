// The data that check() runs Programs on: inputs and room for outputs against guard pages, and the tasks of a
// Program that the interpreter has time for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/agreement.h"
#include "ir/interp/interpret.h"
#include "ir/program.h"
#include "lab/check_data.h"
#include "runtime/code.h"
#include "runtime/proof/guarded_buffer.h"
#include "runtime/memory_view.h"

namespace pooljit::runtime {

using Bytes = std::vector<std::byte>;

// A view of memory, twice: with its last byte against a guard page, and with its first.
class Placed {
 public:
  static ir::Result<Placed> make(const MemoryView& view);

  MemoryView view;
  std::array<GuardedBuffer, 2> at;
  std::vector<bool> touchable;

  ir::Region region() const { return {view.span_bytes(), touchable.empty() ? nullptr : &touchable}; }

 private:
  Placed(const MemoryView& placed, GuardedBuffer back, GuardedBuffer front);
};

// The memory that an engine left, gaps included.
struct Results {
  Bytes output, indices;
  bool operator==(const Results&) const = default;
};

// Tasks of a Program: cells to be run one by one.
struct Tasks {
  std::vector<TaskRanges> cells;
  double share = 1;  // of all that there are
  bool is_all() const { return share == 1; }
};

// One input and all that was made of it.
struct Case {
  // The elements, if there are any, take the place of the kind's. Errors: "check.size", "system.memory".
  static ir::Result<Case> make(const ir::PoolNest& nest, DataKind kind, int64_t batch, uint64_t seed,
                               std::span<const uint64_t> elements = {});

  std::string_view data;  // its name
  int64_t batch;
  Placed input, output, indices;
  std::vector<Placed> operands;  // of the epilogue
  bool reads_indices;            // backward: they are an input
  // Under the present Program: the tasks that the interpreter runs, what it made of them, and what all tasks
  // make.
  Tasks tasks;
  Results interpreted;
  std::optional<Results> whole;
  std::optional<ir::Judge> judge;  // made when the first result is there
  std::vector<Results> allowed;    // by the judge

  Call call(size_t place) const;
  std::vector<ir::Region> operand_regions() const;
  void clear_outputs(size_t place) const;
  Results results(size_t place) const;
  // Why no engine may return the results at this place, as a sentence; empty if it may.
  std::optional<std::string> objection(const ir::PoolNest& nest, size_t place);
  // The same where some tasks ran: elements that none of them wrote are taken for right.
  std::optional<std::string> objection_to_part(const ir::PoolNest& nest, size_t place);
  std::string name() const;
  void make_judge(const ir::PoolNest& nest);
};

// All in one cell; or, where that is more than `most_taps` taps, some single ones: the first, the last, and
// some between that the seed chooses. Three at least.
Tasks choose_tasks(const ir::PoolNest& nest, const std::vector<ir::TaskDim>& dims, int64_t batch,
                   double most_taps, uint64_t seed);
// All, in cells for so many threads, the last one first.
Tasks split_tasks(const ir::PoolNest& nest, const std::vector<ir::TaskDim>& dims, int64_t batch, int threads);

// The elements of a case's results, a line per tensor; and what the oracle makes of it.
std::string results_text(const ir::PoolNest& nest, const Case& data, const Results& results);
std::string reference_text(const ir::PoolNest& nest, const Case& data);

// Taps that a batch of one has in all.
double count_taps(const ir::PoolNest& nest);

}  // namespace pooljit::runtime
