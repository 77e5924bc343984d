// The layers that window_rows can do, and how it cuts a window's row into vectors. The code itself is in
// ir/schedules/families/window_rows.cpp. The chooser uses the first functions too.
#pragma once

#include <vector>

#include "ir/schedules/family.h"
#include "ir/schedules/lanes/slices.h"

namespace pooljit::ir {

// True if every channel is one window.
bool is_one_window(const PoolNest& nest);

// Taps of a window's row, of the longest and of the shortest, and outputs of a row. The innermost dimensions
// count as one, as far as one window is all of them and they have no gaps; rows that are too long for a sum
// count as several.
int64_t joined_row_taps(const Layer& layer);
int64_t least_joined_row_taps(const Layer& layer);
int64_t joined_row_outputs(const Layer& layer);
bool are_row_windows_unlike(const Layer& layer);
// True if each lane keeps the place of its best tap: with indices and zeros=first.
bool has_places(const PoolNest& nest);

// The most windows that may be done together.
int64_t most_windows_together(const Layer& layer);

// Whether the family can do the layer at all in vectors of `lanes` lanes.
bool can_take_window_rows(const Layer& layer, int lanes);

// --- for the family itself; nests are those of with_joined_rows()

using WindowRowsSchedule = ScheduleOf<WindowRowsFields>;

// The nest with the innermost dimensions as one, as far as one window is all of them and they have no gaps,
// or as the longest rows that a sum can take. With zeros=first it has indices that are not stored.
PoolNest with_joined_rows(const Layer& layer);
// Taps of the longest window of a row, and of the shortest.
int64_t row_taps(const PoolNest& nest);
int64_t least_row_taps(const PoolNest& nest);
// Elements from a tap of a row to the next.
int64_t row_tap_stride(const PoolNest& nest);
// True if the windows of a row differ in more than their place: each, or each run of those that do not, then
// has code of its own.
bool are_windows_unlike(const PoolNest& nest);

// Unlike windows of a row, in the order of their code: one by one if that code is short, else runs of windows
// that differ in their place only.
std::vector<Run> unlike_runs(const PoolNest& nest, const ReductionFacts& facts, int lanes);

// True if a state is two or three vectors, all of which are joined lane by lane: with indices, and in sums of
// int64.
bool joins_whole_states(const PoolNest& nest);

// Straight-line code up to so many rows.
inline constexpr int64_t unroll_rows = 8;
// Vectors of a row with a state of their own, so that none need wait for another.
inline constexpr size_t most_row_states = 4;

// How the vectors of a window's row are cut.
struct WindowRow {
  std::vector<Slice> slices;
  // Groups of so many whole vectors that a loop does before the rest; 0: all slices are straight-line code.
  int64_t groups = 0;
  size_t group_vectors = 1;
  // States that are reduced separately: the lanes of each, and the state that each slice belongs to. Slices
  // with fewer lanes are tails and have states of their own.
  std::vector<int> state_lanes = {};
  std::vector<size_t> state_of = {};
  // True if a row is a part of a sum, whose rounding errors grow with the longest part. A row of one vector
  // for each state is none.
  bool is_part(const ReductionFacts& facts) const {
    return facts.is_split && slices.size() + static_cast<size_t>(groups) > group_vectors;
  }
};
// Fewer states where the registers do not hold more.
WindowRow cut_window_row(const PoolNest& nest, const ReductionFacts& facts, Isa isa,
                         const WindowRowsSchedule& schedule, int64_t taps);

// The conditions of the family that do not depend on the lanes.
bool has_rows_of_windows(const PoolNest& nest, const ReductionFacts& facts);
bool can_take_rows_of_windows(const PoolNest& nest, const ReductionFacts& facts, int lanes);
// Whether the schedule's windows can be done together: all windows of a row at constant distances, or
// neighbouring channels.
bool can_do_windows_together(const PoolNest& nest, const ReductionFacts& facts, Isa isa,
                             const WindowRowsSchedule& schedule);
// Code for all sizes. Errors: "schedule.tail".
Result<void> check_tail_of_any_size(const Layer& layer, const WindowRowsSchedule& schedule);

}  // namespace pooljit::ir
