#include "ir/schedules/windows/column_passes.h"

#include <algorithm>
#include <bit>

#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

namespace {

// Terms of windows made of so many doublings: as many of the longest as fit, then the rest by its bits, or
// one more that reaches back.
int64_t terms_of(int64_t kernel, int doublings, bool idempotent) {
  const int64_t longest = int64_t{1} << doublings;
  if (idempotent) return ceil_div(kernel, longest);
  return kernel / longest + std::popcount(static_cast<uint64_t>(kernel % longest));
}

// A pass loads twice and stores once; a term is a load.
int fewest_steps(int64_t kernel, bool idempotent) {
  int best = 0;
  const auto steps = [&](int doublings) { return 3 * doublings + terms_of(kernel, doublings, idempotent); };
  for (int doublings = 1; int64_t{1} << doublings <= kernel; ++doublings)
    if (steps(doublings) < steps(best)) best = doublings;
  return best;
}

}  // namespace

ColumnPasses::ColumnPasses(const NestDim& dim, int64_t positions, int lanes, bool idempotent,
                           std::optional<int> given) {
  const int doublings = given ? *given : fewest_steps(dim.kernel, idempotent);
  const int64_t longest = int64_t{1} << doublings;
  size_t line = 0;
  for (int i = 0; i < doublings; ++i) {
    const int64_t taps = int64_t{1} << i;
    const bool is_term = (!idempotent && (dim.kernel & taps) != 0) || (given && i == 0);
    passes_.push_back({line, is_term ? lines_++ : line, taps * dim.dilation, 0});
    line = passes_.back().to;
  }
  const auto add = [&](size_t from, int64_t tap) { terms_.push_back({from, tap * dim.dilation}); };
  int64_t tap = 0;
  for (; tap + longest <= dim.kernel; tap += longest) add(line, tap);
  if (idempotent && tap < dim.kernel) add(line, dim.kernel - longest);
  for (int i = doublings - 1; i >= 0 && !idempotent; --i)
    if ((dim.kernel & int64_t{1} << i) != 0) {
      add(passes_[static_cast<size_t>(i)].from, tap);
      tap += int64_t{1} << i;
    }
  // From the windows back to the columns: by line, positions that somebody reads.
  std::vector<int64_t> needed(lines_, 0);
  for (const Term& term : terms_) needed[term.line] = std::max(needed[term.line], positions + term.offset);
  for (size_t i = passes_.size(); i-- > 0;) {
    Pass& pass = passes_[i];
    pass.vectors = ceil_div(needed[pass.to], lanes);
    needed[pass.from] = std::max(needed[pass.from], pass.vectors * lanes + pass.offset);
  }
  positions_ = ceil_div(*std::max_element(needed.begin(), needed.end()), lanes) * lanes;
}

}  // namespace pooljit::ir
