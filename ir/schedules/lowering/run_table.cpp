#include "ir/schedules/lowering/run_table.h"

#include "ir/schedules/windows/divisors.h"
#include "ir/schedules/windows/sum_block.h"

namespace pooljit::ir {

std::array<int64_t, 3> tap_digits(int64_t taps) {
  return {taps / sum_block / sum_block, taps / sum_block % sum_block, taps % sum_block};
}

void append_run(std::vector<int64_t>& table, const PoolNest& nest, const Run& run, bool is_usual) {
  const Window& window = run.window;
  // An empty window has no first tap; 0 keeps its pointer inside the image.
  const int64_t first = window.taps == 0 ? 0 : window.first;
  const std::array<int64_t, 3> sums = tap_digits(window.taps);
  table.insert(table.end(), {run.begin, run.end, is_usual, window.taps, divisor_taps(nest, window), first,
                             sums[0], sums[1], sums[2], window.first_tap, run.phase, run.phases});
}

}  // namespace pooljit::ir
