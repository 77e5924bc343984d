#include "ir/schedules/lowering/tile_loads.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/passes/legal.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/prefetch.h"
#include "ir/schedules/lowering/row_reduction.h"

namespace pooljit::ir {

TileLoads::TileLoads(const PoolNest& nest, Builder& builder, const ReductionFacts& facts, Lowering& lowering)
    : nest_(nest),
      dim_(nest.dims.back()),
      ahead_(row_bytes_ahead(nest, builder.isa())),
      b_(builder),
      facts_(facts),
      low_(lowering) {}

bool TileLoads::any_lane(const Tile& tile, int64_t tap) const {
  for (int64_t lane = 0; lane < tile.valid; ++lane) {
    const Window window = dim_.whole_window(tile.begin + lane);
    if (tap < window.taps && in_image(window.first + tap * window.step)) return true;
  }
  return false;
}

// Which elements start .. start + width - 1 are wanted, 0/1 each: not those outside the image or behind the
// end. Empty: all.
std::vector<int64_t> TileLoads::wanted(const Tile& tile, const TileTaps& taps,
                                       const RowVector& vector) const {
  const int64_t first = taps.origin + vector.start, last = first + vector.width - 1;
  if (vector.start + vector.width <= vector.end && (!tile.border || (in_image(first) && in_image(last))))
    return {};
  std::vector<int64_t> wanted;
  wanted.reserve(static_cast<size_t>(vector.width));
  for (int64_t position = vector.start; position < vector.start + vector.width; ++position)
    wanted.push_back(position < vector.end && (!tile.border || in_image(taps.origin + position)));
  if (std::find(wanted.begin(), wanted.end(), 0) == wanted.end()) wanted.clear();
  return wanted;
}

Value TileLoads::values(const Tile& tile, const TileTaps& taps, const Address& row, const RowVector& vector) {
  const Type type = Type::vec(nest_.input.dtype, vector.width);
  if (seen_) return seen_->load(type, row, vector.start);
  const int64_t stride = column_stride(nest_.input);
  const Address address = plus(row, vector.start * stride * bytes(type.dtype));
  const std::vector<int64_t> lanes = wanted(tile, taps, vector);
  constexpr int64_t line_bytes = 64;
  const bool begins_line = vector.start * bytes(type.dtype) % line_bytes < type.vector_bytes();
  if (ahead_ > 0 && begins_line) b_.prefetch(plus(address, ahead_));
  if (lanes.empty()) return load_lanes(b_, type, address, stride, {}, 0);
  if (std::find(lanes.begin(), lanes.end(), 1) == lanes.end()) return b_.vconst_splat(type, facts_.identity);
  if (!has_masked_access(b_.isa(), type.dtype))
    return moved_inside(address, type, taps.origin + vector.start);
  // Elements behind the end that no window needs may be anything: zeros cost and gain nothing.
  bool is_outside = false;
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    is_outside = is_outside || (lanes[lane] == 0 && vector.start + static_cast<int64_t>(lane) < vector.end);
  return load_lanes(b_, type, address, stride, lanes, is_outside ? facts_.identity : 0);
}

// The row's elements from a column on that lies before its begin, or so near its end that they go beyond: as
// many from inside, moved to where they belong.
Value TileLoads::moved_inside(const Address& address, const Type& type, int64_t column) {
  const int64_t before = std::max<int64_t>(0, -column);
  const int64_t behind = std::max<int64_t>(0, column + type.lanes - dim_.visible_input());
  const Value identity = b_.vconst_splat(type, facts_.identity);
  const int64_t stride = column_stride(nest_.input);
  const Address nearest = plus(address, (before - behind) * stride * bytes(type.dtype));
  const Value inside = load_lanes(b_, type, nearest, stride, {}, 0);
  if (before > 0) return following_lanes(b_, identity, inside, type.lanes - before, type.lanes);
  return behind > 0 ? following_lanes(b_, inside, identity, behind, type.lanes) : inside;
}

Value TileLoads::indices(const Tile& tile, const TileTaps& taps, const Address& row,
                         const RowVector& vector) {
  const DType dtype = nest_.indices->dtype;
  if (seen_indices_)
    return low_.joined_indices(vector.width, [&](int begin) {
      return seen_indices_->load(Type::vec(dtype, low_.lanes_of_indices(vector.width)), row,
                                 vector.start + begin);
    });
  const int64_t stride = column_stride(*nest_.indices);
  const Address address = plus(row, vector.start * stride * bytes(dtype));
  return low_.load_indices(address, stride, vector.width, wanted(tile, taps, vector));
}

std::vector<Value> TileLoads::all(const std::vector<int64_t>& starts, int width, int64_t offset, int64_t end,
                                  const Load& load) {
  std::vector<Value> vectors;
  for (const int64_t start : starts) vectors.push_back(load({offset + start, width, end}));
  return vectors;
}

TileLoads::Tap TileLoads::plan(const Tile& tile, const TileTaps& taps, size_t tap) const {
  PlacedLanes::List list = taps.lists[tap];
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const int64_t position : list)
    if (position != PlacedLanes::anything) first = std::min(first, position);
  int64_t end = 0;
  for (size_t lane = 0; lane < list.size(); ++lane) {
    if (list[lane] == PlacedLanes::anything) continue;
    if (static_cast<int64_t>(lane) < tile.valid) end = std::max(end, list[lane] + 1);
    list[lane] -= first;
  }
  // Neighbours that end before their vector does are one load, masked.
  bool is_row = has_masked_access(b_.isa(), nest_.input.dtype);
  for (size_t lane = 0; lane < list.size(); ++lane)
    is_row = is_row && (list[lane] == PlacedLanes::anything || list[lane] == static_cast<int64_t>(lane));
  PlacedLanes lanes({std::move(list)}, shuffle_style(bytes(nest_.input.dtype)));
  const bool is_as_loaded = is_row || lanes.is_as_loaded();
  return {first, end, std::move(lanes), is_as_loaded};
}

Value TileLoads::tap(const Tap& planned, const Load& load) {
  if (planned.is_as_loaded)
    return load({planned.first, static_cast<int>(planned.lanes.lists()[0].size()), planned.end});
  Value lanes = no_value;
  planned.lanes.extract(b_,
                        all(planned.lanes.starts(), planned.lanes.width(), planned.first, planned.end, load),
                        [&](size_t, Value value) { lanes = value; });
  return lanes;
}

Value TileLoads::where_present(const TileTaps& taps, size_t tap, Value x, Value otherwise) {
  const std::vector<int64_t>& present = taps.present[tap];
  if (present.empty()) return x;
  return b_.select(b_.vmask(b_.type(x).mask_of(), present), x, otherwise);
}

int64_t TileLoads::divisor_at(int64_t position) const {
  const DimPlan& plan = low_.plan(nest_.dims.size() - 1);
  if (plan.divisors.empty() || !in_image(position)) return plan.common_divisor;
  return plan.divisors[static_cast<size_t>(position)];
}

std::vector<int64_t> TileLoads::divisors_from(int64_t position, int width) const {
  std::vector<int64_t> divisors;
  for (int lane = 0; lane < width; ++lane) divisors.push_back(divisor_at(position + lane));
  return divisors;
}

std::vector<int64_t> TileLoads::divisors_at(const TileTaps& taps, size_t tap) const {
  std::vector<int64_t> divisors;
  for (const int64_t position : taps.lists[tap])
    divisors.push_back(position == PlacedLanes::anything ? divisor_at(-1)
                                                         : divisor_at(taps.origin + position));
  return divisors;
}

}  // namespace pooljit::ir
