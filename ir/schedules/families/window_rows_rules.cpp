#include "ir/schedules/families/window_rows.h"

#include <algorithm>
#include <bit>

#include "ir/reductions/epilogue.h"
#include "ir/reductions/sums.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/windows/stretch.h"
#include "ir/schedules/windows/sum_block.h"

namespace pooljit::ir {
namespace {

// Straight-line code up to so many vectors per row.
constexpr size_t unroll_vectors = 16;
constexpr int64_t shortest_row = 4;
// Unlike windows of a row, or runs of them, with code of their own; of more than a few, with so many vectors
// of taps in it.
constexpr int64_t few_unlike = 16, most_unlike = 64;
constexpr int64_t most_unlike_vectors = 512;
// Adaptive windows of a row whose runs are counted: of more, counting takes longer than compiling.
constexpr int64_t most_counted = 512;
// Registers that windows side by side leave free.
constexpr int64_t spare_registers = 5;
constexpr int64_t most_channels_together = 8;
// Channels are done together up to so many vectors of each, all in straight-line code.
constexpr int64_t channel_vectors_together = 16;

bool covers_all(const NestDim& dim) {
  const Window window = dim.window(0);
  return dim.kind != DimKind::gather && dim.output == 1 && window.step == 1 && window.taps == dim.input &&
         window.padded_taps == window.taps;
}

// No window of the dimension is clipped, and each is as long as the others.
bool are_alike(const NestDim& dim) {
  if (dim.kind == DimKind::pool) return !has_borders(dim);
  const std::vector<Run> all = runs(dim);
  return all.size() == 1 && all[0].window.taps == dim.most_taps();
}

// A dimension of so many positions with one window, which is all of it.
NestDim one_window(int64_t positions) {
  NestDim dim{.input = positions};
  dim.kernel = dim.stride = positions;
  return dim;
}

// One window along a dimension that hangs over its ends, or whose taps lie apart, as if it did not: what the
// others divide by stays.
void drop_borders(PoolNest& nest) {
  const auto hangs_over = [&](const NestDim& dim) {
    const Window window = dim.window(0);
    if (dim.kind != DimKind::pool || dim.output > 1 || window.first != 0 || window.taps == 0) return false;
    return window.step > 1 ? !nest.indices : window.taps == dim.input && dim.kernel > dim.input;
  };
  const bool counts_in_window = nest.indices && nest.index_scope == IndexScope::window;
  if (nest.is_backward() || counts_in_window || std::ranges::none_of(nest.dims, hangs_over)) return;
  if (nest.divides_by_taps() && nest.count_include_pad) {
    if (!is_one_window(nest)) return;
    std::vector<Window> windows;
    for (const NestDim& dim : nest.dims) windows.push_back(dim.window(0));
    nest.divisor_override = divisor(nest, windows);
  }
  for (size_t i = 0; i < nest.dims.size(); ++i) {
    if (!hangs_over(nest.dims[i])) continue;
    const Window window = nest.dims[i].window(0);
    nest.dims[i] = one_window(window.taps);
    nest.input.strides[i] *= window.step;
  }
}

// The innermost dimensions of a nest as one, as far as one window is all of them and they lie without gaps.
void join_innermost(PoolNest& nest, int64_t longest) {
  while (nest.dims.size() > 1) {
    const size_t last = nest.dims.size() - 1;
    NestDim &outer = nest.dims[last - 1], inner = nest.dims[last];
    std::vector<int64_t>& strides = nest.input.strides;
    if (!covers_all(outer) || !covers_all(inner)) break;
    if (inner.input > 1 && strides[last - 1] != strides[last] * inner.input) break;
    if (outer.input > longest / inner.input) break;
    outer = one_window(outer.input * inner.input);
    if (inner.input > 1) strides[last - 1] = strides[last];
    nest.dims.pop_back();
    strides.pop_back();
    nest.output.strides.pop_back();
    if (nest.indices) nest.indices->strides.pop_back();
  }
}

// One window that is all of a row as several rows of at most `longest` taps, as many in each; as it is where
// its taps have no such divisor.
void split_innermost(PoolNest& nest, int64_t longest) {
  constexpr int64_t most_tried = 64;
  const int64_t taps = nest.dims.back().input, fewest = ceil_div(taps, longest);
  for (int64_t rows = fewest; rows < fewest + most_tried && rows * shortest_row <= taps; ++rows) {
    if (taps % rows != 0) continue;
    nest.dims.back() = one_window(rows);
    nest.dims.push_back(one_window(taps / rows));
    const int64_t stride = nest.input.strides.back();
    nest.input.strides.back() = stride * (taps / rows);
    nest.input.strides.push_back(stride);
    nest.output.strides.push_back(0);
    return;
  }
}

// Taps of a row that so many states of each lane can take in: of a sum that is split, its two levels of
// parts.
int64_t longest_row(const ReductionFacts& facts, int lanes, size_t states = most_row_states) {
  return facts.is_split ? 2 * sum_block * lanes * static_cast<int64_t>(states) : INT64_MAX;
}

PoolNest joined(const Layer& layer) {
  const int64_t longest = longest_row(layer.facts(LaneUse::joined), layer.most_lanes(LaneUse::joined));
  PoolNest nest = layer.nest();
  drop_borders(nest);
  join_innermost(nest, INT64_MAX);
  if (!covers_all(nest.dims.back()) || nest.dims.back().input <= longest) return nest;
  split_innermost(nest, longest);
  if (nest.dims.back().input <= longest) return nest;
  nest = layer.nest();
  drop_borders(nest);
  join_innermost(nest, longest);
  return nest;
}

// The last vector of a row, which ends with so many taps that the ones before do not have.
void end(Slice& last, int64_t taps, bool are_equal, const WindowRowsSchedule& schedule) {
  if (schedule.tail == Tail::overlap) {
    last.stored.assign(static_cast<size_t>(schedule.lanes), 0);
    std::fill_n(last.stored.rbegin(), taps, 1);
  } else if (schedule.tail == Tail::mask && are_equal) {  // as long as all others
    last.lanes = schedule.lanes;
    last.stored.assign(static_cast<size_t>(schedule.lanes), 0);
    std::fill_n(last.stored.begin(), taps, 1);
  }
}

// True if code for so many windows of a row is not too long; all_vectors: of a row of a window.
bool is_short(const PoolNest& nest, const ReductionFacts& facts, int64_t windows, int64_t all_vectors) {
  constexpr int64_t most_taps = 24576;
  constexpr int64_t vectors_of_loop = 12;  // its body, and what it leaves
  const int64_t vectors = all_vectors > int64_t{unroll_vectors} ? vectors_of_loop : all_vectors;
  if (windows > most_unlike) return false;
  if (windows > few_unlike && (windows * vectors > most_unlike_vectors || row_tap_stride(nest) != 1))
    return false;
  return !facts.has_long_taps() ||
         windows * vectors * facts.tap_length * taps_in_code(nest, facts, nest.dims.size() - 1, 1) <=
             most_taps;
}

// Whether the rows of some windows are a loop, which carries the states.
bool loops_over_rows(const PoolNest& nest) {
  const size_t outer = nest.dims.size() - 1;
  return outer > 0 && (codes_for_windows(nest, outer) > 1 || nest.full_taps() / row_taps(nest) > unroll_rows);
}

// Straight-line code up to so many vectors of a row. With the index of a float16 a state is three vectors,
// and offsets of several vectors take registers beside two.
size_t most_straight_vectors(const PoolNest& nest, Isa isa) {
  constexpr int many_registers = 32;
  constexpr size_t fit_beside_states = 3;
  const bool are_wide = nest.indices && nest.input.dtype == DType::f16 && loops_over_rows(nest);
  return are_wide && info(isa).vector_registers < many_registers ? fit_beside_states : unroll_vectors;
}

// states: the most of whole vectors.
WindowRow cut_row(const PoolNest& nest, Isa isa, const WindowRowsSchedule& schedule, int64_t taps,
                  size_t states) {
  WindowRow row;
  row.group_vectors = states;
  const int64_t group = schedule.lanes * static_cast<int64_t>(states);
  if (taps > schedule.lanes * static_cast<int64_t>(most_straight_vectors(nest, isa)))
    row.groups = taps / group;
  row.slices = slices(row.groups * group, taps, schedule.lanes, schedule.tail);
  const bool are_equal = schedule.windows_together > 1 || nest.indices;
  if (taps % schedule.lanes != 0) end(row.slices.back(), taps % schedule.lanes, are_equal, schedule);
  if (schedule.windows_together > 1 && is_one_window(nest)) {  // there are enough others that need not wait
    row.state_lanes = {schedule.lanes};
    row.state_of.assign(row.slices.size(), 0);
    return row;
  }
  if (row.groups > 0) row.state_lanes.assign(states, schedule.lanes);
  for (size_t i = 0; i < row.slices.size(); ++i) {
    const int lanes = row.slices[i].lanes;
    const bool shares = lanes == schedule.lanes && row.state_lanes.size() >= states;
    row.state_of.push_back(shares ? i % states : row.state_lanes.size());
    if (!shares) row.state_lanes.push_back(lanes);
  }
  return row;
}

// Vector registers that a sum's states and a tap take. Each loop over rows holds states of its own, and so
// does a row that is one part.
int64_t registers_of(const PoolNest& nest, const ReductionFacts& facts, const WindowRow& row) {
  constexpr int64_t of_tap = 2;
  if (!facts.is_split) return 0;
  const size_t outer = nest.dims.size() - 1;
  const int64_t levels =
      states_at_once(nest, facts, outer, unroll_rows) + (outer > 0 && row.is_part(facts) ? 1 : 0);
  return levels * std::ssize(row.state_lanes) + facts.extra_registers + of_tap;
}

// Windows whose results fit into one vector.
int64_t results_per_vector(const PoolNest& nest, const ReductionFacts& facts, Isa isa) {
  return info(isa).vector_bytes / std::max(facts.working_bytes, epilogue_bytes(nest));
}

}  // namespace

int64_t row_taps(const PoolNest& nest) {
  const NestDim& dim = nest.dims.back();
  if (!are_windows_unlike(nest)) return dim.most_taps();
  int64_t most = 0;
  for (const Run& run : runs(dim)) most = std::max(most, run.window.taps);
  return most;
}

int64_t least_row_taps(const PoolNest& nest) {
  const NestDim& dim = nest.dims.back();
  int64_t least = dim.most_taps();
  if (are_windows_unlike(nest))
    for (const Run& run : runs(dim)) least = std::min(least, run.window.taps);
  return least;
}

int64_t row_tap_stride(const PoolNest& nest) {
  return nest.input.strides.back() * nest.dims.back().tap_step();
}

bool are_windows_unlike(const PoolNest& nest) {
  const NestDim& dim = nest.dims.back();
  const bool is_counted = dim.kind != DimKind::adaptive || dim.output <= most_counted;
  if (dim.kind == DimKind::gather || !is_counted || are_alike(dim)) return false;
  return nest.has_any_size() ? dim.output <= few_unlike : std::ssize(runs(dim)) <= most_unlike;
}

std::vector<Run> unlike_runs(const PoolNest& nest, const ReductionFacts& facts, int lanes) {
  const NestDim& dim = nest.dims.back();
  std::vector<Run> all = runs(dim);
  if (!is_short(nest, facts, dim.output, ceil_div(row_taps(nest), lanes))) return all;
  const int64_t phases = dim.period().output;
  std::vector<Run> alone;
  for (int64_t output = 0; output < dim.output; ++output) {
    const int64_t period = output / phases;
    alone.push_back({period, period + 1, dim.window(output), output % phases, 1});
  }
  return alone;
}

bool has_places(const PoolNest& nest) {
  return nest.indices || (nest.is_extreme() && nest.zeros == ZeroRule::first && is_float(nest.input.dtype) &&
                          !nest.is_backward());
}

bool joins_whole_states(const PoolNest& nest) { return nest.indices || (nest.is_sum() && is_wide_sum(nest)); }

PoolNest with_joined_rows(const Layer& layer) {
  // Code for all sizes joins rows by words of the size.
  PoolNest nest = layer.nest().has_any_size() ? layer.nest() : joined(layer);
  if (!nest.indices && has_places(nest)) {
    nest.indices = nest.output;
    nest.indices->dtype = DType::i32;
    nest.index_scope = IndexScope::window;
  }
  return nest;
}

WindowRow cut_window_row(const PoolNest& nest, const ReductionFacts& facts, Isa isa,
                         const WindowRowsSchedule& schedule, int64_t taps) {
  if (joins_whole_states(nest)) return cut_row(nest, isa, schedule, taps, 2);
  size_t states = most_row_states;
  WindowRow row = cut_row(nest, isa, schedule, taps, states);
  while (states > 1 && registers_of(nest, facts, row) > info(isa).vector_registers &&
         taps <= longest_row(facts, schedule.lanes, states - 1))
    row = cut_row(nest, isa, schedule, taps, --states);
  return row;
}

Result<void> check_tail_of_any_size(const Layer& layer, const WindowRowsSchedule& schedule) {
  if (schedule.tail == (layer.can_mask() ? Tail::mask : Tail::overlap)) return {};
  return unsupported("schedule.tail",
                     "code for all sizes masks the rest of a row, or, where it cannot, takes the last vector",
                     layer.can_mask() ? "use tail=mask" : "use tail=overlap");
}

bool has_rows_of_windows(const PoolNest& nest, const ReductionFacts& facts) {
  // The order of the taps does not matter where their places decide, which then count row by row. Those of
  // the stand-ins always do.
  const bool any_order =
      nest.indices ? !nest.column_major || nest.has_any_size() : facts.any_order || joins_whole_states(nest);
  return !nest.is_backward() && any_order && has_vector_columns(nest) &&
         (!nest.has_any_size() || row_tap_stride(nest) == 1);
}

bool can_take_rows_of_windows(const PoolNest& nest, const ReductionFacts& facts, int lanes) {
  const NestDim& dim = nest.dims.back();
  if (!has_rows_of_windows(nest, facts)) return false;
  // Of taps that lie apart, vectors only: one lane is no more than channels_last has.
  if (lanes == 1 && row_tap_stride(nest) != 1) return false;
  // Lanes that stay without a tap would be joined by their places, which they do not have.
  if (nest.indices && least_row_taps(nest) < lanes) return false;
  const int64_t taps = row_taps(nest);
  const bool can_differ =
      are_windows_unlike(nest) && least_row_taps(nest) > 0 &&
      is_short(nest, facts, std::ssize(unlike_runs(nest, facts, lanes)), ceil_div(taps, lanes));
  return (can_differ || are_alike(dim)) && taps >= shortest_row && taps <= longest_row(facts, lanes);
}

bool can_do_windows_together(const PoolNest& nest, const ReductionFacts& facts, Isa isa,
                             const WindowRowsSchedule& schedule) {
  if (are_windows_unlike(nest) || joins_whole_states(nest)) return false;
  const WindowRow row = cut_window_row(nest, facts, isa, schedule, row_taps(nest));
  if (std::any_of(row.slices.begin(), row.slices.end(),
                  [&](const Slice& slice) { return slice.lanes != schedule.lanes; }))
    return false;
  if (schedule.windows_together > results_per_vector(nest, facts, isa)) return false;
  const NestDim& dim = nest.dims.back();
  if (is_one_window(nest)) {
    const auto vectors = nest.full_taps() / row_taps(nest) * static_cast<int64_t>(row.slices.size());
    return nest.output.channel_stride == 1 && schedule.windows_together <= most_channels_together &&
           row.groups == 0 && vectors <= channel_vectors_together &&
           std::has_single_bit(static_cast<unsigned>(schedule.windows_together));
  }
  // A state is a value and its mask, or a part and the whole.
  const auto states = static_cast<int64_t>(row.state_lanes.size());
  return nest.dims.size() > 1 && dim.output == schedule.windows_together && runs(dim)[0].phases == 1 &&
         2 * schedule.windows_together * states + spare_registers + extra_registers(nest, facts) <=
             info(isa).vector_registers;
}

bool is_one_window(const PoolNest& nest) {
  return std::all_of(nest.dims.begin(), nest.dims.end(), [](const NestDim& dim) { return dim.output == 1; });
}

int64_t joined_row_taps(const Layer& layer) { return row_taps(with_joined_rows(layer)); }
int64_t least_joined_row_taps(const Layer& layer) { return least_row_taps(with_joined_rows(layer)); }
bool are_row_windows_unlike(const Layer& layer) { return are_windows_unlike(with_joined_rows(layer)); }
int64_t joined_row_outputs(const Layer& layer) { return with_joined_rows(layer).dims.back().output; }

int64_t most_windows_together(const Layer& layer) {
  return std::min(most_channels_together,
                  results_per_vector(layer.nest(), layer.facts(LaneUse::joined), layer.isa()));
}

bool can_take_window_rows(const Layer& layer, int lanes) {
  return can_take_rows_of_windows(with_joined_rows(layer), layer.facts(LaneUse::joined), lanes);
}

}  // namespace pooljit::ir
