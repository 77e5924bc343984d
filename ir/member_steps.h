// Several pools of one tensor, a few channels at a time: the source of each, which may be the results of a
// smaller one that are still in cache.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/error.h"
#include "ir/nest.h"

namespace pooljit::ir {

// The nest that makes `larger`'s results from those of `smaller`, pools of one tensor: its windows are those
// of `larger`, in results of `smaller`. None if windows of `smaller` do not make up those of `larger`
// exactly, or if a result would differ (indices, zeros of one sign). Its input view is still `larger`'s.
//
// A window of k is the union of windows of j <= k that begin no more than j apart. Where the first of these
// lies before the smaller's results, the next has to reach the border: they begin no more than the smaller's
// padding and one apart, and where the last may lie behind them, too, no more than there are results.
std::optional<PoolNest> made_of(const PoolNest& larger, const PoolNest& smaller);

// How many joins of two values a result takes. Neighbouring windows share adjacent taps, by doublings along
// each dimension; they do not share others. made_of() takes the taps that need fewer.
int64_t combinations(const PoolNest& nest);

// One after the other, steps make all members for some channels.
struct MemberStep {
  PoolNest nest;  // of so many channels
  int member = 0;
  // Rooms, by the member whose results are there; -1: the input, the output.
  int reads = -1, writes = -1;
  // True for a copy from the member's room to its output: only its schedule is to be chosen.
  bool is_copy() const { return reads == member; }
};

struct MemberSteps {
  int64_t channels = 0;
  std::vector<MemberStep> steps;
  std::vector<int64_t> rooms;  // bytes of scratch memory, by member; 0: it needs none
};

// from: by member, of whose results it is made; -1: of the input. Members that others are made of go to
// rooms, and from there to their outputs. Errors: "schedule.from" if that is impossible; "schedule.members"
// if all channels are no multiple of so many.
Result<MemberSteps> member_steps(const PoolNest& nest, std::span<const int> from, int64_t channels);

}  // namespace pooljit::ir
