#include "ir/schedules/lowering/row_reduction.h"

#include <algorithm>

#include "ir/lane_list.h"
#include "ir/passes/legal.h"
#include "ir/reductions/float_keys.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/lane_gather.h"

namespace pooljit::ir {

namespace {

// Far apart, taps are loaded one by one: vectors of all columns between them would be more.
bool shares_columns(const NestDim& dim, const Tile& tile) {
  const int64_t columns = tile.lanes + (dim.kernel - 1) * dim.dilation;
  return dim.kind == DimKind::pool && dim.stride == 1 && columns <= dim.kernel * tile.lanes &&
         dim.kernel >= least_keyed_kernel && tile.lanes > 1;
}

// Maxima of bytes whose windows lie two columns apart, in one vector; each has all of its taps.
bool are_strided_bytes(const NestDim& dim, const Tile& tile, int lanes, const TileTaps& taps,
                       const ReductionFacts& facts) {
  return dim.kind == DimKind::pool && dim.stride == 2 && facts.is_idempotent && facts.working_bytes == 1 &&
         tile.lanes > 1 && tile.lanes == lanes &&
         std::ranges::all_of(taps.present, [](const auto& present) { return present.empty(); });
}

// Dense ones, where registers are few: all taps by themselves are soon more vectors than they hold, and the
// windows in between, which nobody stores, cost less. (3 columns: -5 to +20 % on a Zen 3.)
bool passes_over(const NestDim& dim, const Tile& tile, int lanes, const TileTaps& taps,
                 const ReductionFacts& facts, Isa isa) {
  constexpr int64_t least_kernel = 4;
  return info(isa).vector_registers < 32 && dim.dilation == 1 && dim.kernel >= least_kernel &&
         are_strided_bytes(dim, tile, lanes, taps, facts);
}

}  // namespace

PlacedLanes::Style shuffle_style(int shuffled_bytes) {
  return shuffled_bytes < 2 ? PlacedLanes::Style::group : PlacedLanes::Style::cover;
}

RowReduction::RowReduction(const NestDim& dim, const Tile& tile, int lanes, const TileTaps& taps,
                           const ReductionFacts& facts, Isa isa, bool overrun)
    : lanes_(std::min(lanes, tile.lanes)) {
  if (overrun && shares_columns(dim, tile)) {
    const int64_t outputs = tile.lanes > lanes_ ? tile.valid : lanes_;
    windows_.emplace(lanes_, outputs, dim.kernel, dim.dilation, facts.is_idempotent);
    for (int64_t i = 0; i < windows_->vectors(); ++i) starts_.push_back(i * lanes_);
  } else if (passes_over(dim, tile, lanes_, taps, facts, isa)) {
    stride_ = dim.stride;
    const int64_t outputs = (lanes_ - 1) * stride_ + 1;
    windows_.emplace(lanes_, outputs, dim.kernel, dim.dilation, facts.is_idempotent);
    for (int64_t i = 0; i < windows_->vectors(); ++i) starts_.push_back(i * lanes_);
    // The last vector ends with the last column.
    const int64_t columns = outputs + dim.kernel - 1;
    behind_ = starts_.back() + lanes_ - columns;
    starts_.back() -= behind_;
  } else if (!find_pairs(dim, tile, taps, facts, isa)) {
    placed_.emplace(taps.lists, shuffle_style(facts.working_bytes));
  }
}

// Windows of two columns take no longer by shuffles. (In pairs 1 to 1.5 times as long on a Zen 5, 180 to 400
// columns.)
bool RowReduction::find_pairs(const NestDim& dim, const Tile& tile, const TileTaps& taps,
                              const ReductionFacts& facts, Isa isa) {
  const bool serve = has_masked_access(isa, DType::u8) && dim.kernel > 2 &&
                     are_strided_bytes(dim, tile, lanes_, taps, facts);
  if (!serve) return false;
  std::vector<PlacedLanes::List> lists = taps.lists;
  for (PlacedLanes::List& list : lists)
    std::fill(list.begin() + static_cast<std::ptrdiff_t>(tile.valid), list.end(), PlacedLanes::anything);
  pairs_ = LanePairs::of(lists, lanes_);
  pair_lanes_ = std::min(2 * lanes_, info(isa).vector_bytes);
  for (int start = 0; pairs_ && start < 2 * lanes_; start += pair_lanes_) starts_.push_back(start);
  return pairs_.has_value();
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

Value RowReduction::every_second(Builder& builder, Reducer& reducer, std::vector<Value> vectors) const {
  if (behind_ > 0)
    vectors.back() = following_lanes(builder, vectors.back(), vectors.front(), behind_, lanes_);
  const std::vector<Value> all = windows(builder, reducer, vectors);
  LaneList second;
  for (int64_t lane = 0; lane < lanes_; ++lane) second.push_back(lane * stride_);
  return builder.shuffle(all[0], all[1], second);
}

State RowReduction::reduce(Builder& builder, Reducer& reducer, const std::vector<Value>& vectors,
                           const Present& present) const {
  if (windows_ && stride_ == 1) return reducer.from_key(windows(builder, reducer, vectors)[0]);
  if (windows_) return reducer.from_key(every_second(builder, reducer, vectors));
  if (pairs_)
    return {LanePairs::low_bytes(builder, builder.type(vectors[0]).dtype,
                                 pairs_->reduced(builder, reducer, vectors))};
  State result;
  placed_->extract(builder, vectors, [&](size_t tap, Value column) {
    result = reducer.combine(result, {present(tap, column)});
  });
  return result;
}

}  // namespace pooljit::ir
