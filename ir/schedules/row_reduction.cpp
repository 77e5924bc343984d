#include "ir/schedules/row_reduction.h"

#include <algorithm>

#include "ir/reductions/float_keys.h"

namespace pooljit::ir {

namespace {

// Far apart, taps are loaded one by one: vectors of all columns between them would be more.
bool shares_columns(const NestDim& dim, const Tile& tile) {
  const int64_t columns = tile.lanes + (dim.kernel - 1) * dim.dilation;
  return dim.kind == DimKind::pool && dim.stride == 1 && columns <= dim.kernel * tile.lanes &&
         dim.kernel >= least_keyed_kernel && tile.lanes > 1;
}

}  // namespace

PlacedLanes::Style shuffle_style(int shuffled_bytes) {
  return shuffled_bytes < 2 ? PlacedLanes::Style::group : PlacedLanes::Style::cover;
}

RowReduction::RowReduction(const NestDim& dim, const Tile& tile, int lanes, const TileTaps& taps,
                           const Reducer& reducer, bool overrun)
    : lanes_(std::min(lanes, tile.lanes)) {
  if (overrun && shares_columns(dim, tile)) {
    const int64_t outputs = tile.lanes > lanes_ ? tile.valid : lanes_;
    windows_.emplace(lanes_, outputs, dim.kernel, dim.dilation, reducer.is_idempotent());
    for (int64_t i = 0; i < windows_->vectors(); ++i) starts_.push_back(i * lanes_);
  } else {
    placed_.emplace(taps.lists, shuffle_style(reducer.working_bytes()));
  }
}

Value RowReduction::column(Reducer& reducer, const State& state) const {
  return windows_ ? reducer.key(state) : reducer.value(state);
}

Value RowReduction::join(Reducer& reducer, Value earlier, Value later) const {
  return windows_ ? reducer.join_keys(earlier, later) : reducer.join_values(earlier, later);
}

std::vector<Value> RowReduction::windows(Builder& builder, Reducer& reducer,
                                         const std::vector<Value>& vectors) const {
  return windows_->reduce(builder, vectors,
                          [&](Value earlier, Value later) { return reducer.join_keys(earlier, later); });
}

State RowReduction::reduce(Builder& builder, Reducer& reducer, const std::vector<Value>& vectors,
                           const Present& present) const {
  if (windows_) return reducer.from_key(windows(builder, reducer, vectors)[0]);
  State result;
  placed_->extract(builder, vectors, [&](size_t tap, Value column) {
    result = reducer.combine(result, {present(tap, column)});
  });
  return result;
}

}  // namespace pooljit::ir
