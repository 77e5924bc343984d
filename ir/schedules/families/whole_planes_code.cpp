#include "ir/schedules/families/whole_planes_code.h"

#include <algorithm>
#include <bit>

#include "ir/schedules/family.h"

namespace pooljit::ir {

PlaneCode::PlaneCode(const PoolNest& nest, const Schedule& schedule, const PlaneTiles& tiles,
                     Builder& builder, Reducer& reducer, const Staging* staging)
    : nest_(nest),
      schedule_(schedule),
      tiles_(tiles),
      rows_(nest.dims[0]),
      columns_(nest.dims[1]),
      b_(builder),
      reducer_(reducer),
      low_(nest, builder, reducer, {}, staging) {
  for (int64_t row = 0; row < rows_.output; ++row) row_windows_.push_back(rows_.window(row));
  for (int64_t column = 0; column < columns_.output; ++column) windows_.push_back(columns_.window(column));
  most_kept_ = static_cast<size_t>(std::max(1, most_kept(nest, tiles, reducer.facts(), builder.isa())));
}

// Beside them: a window and what is joined to it, a shuffle, constants; the first halves of a line vector,
// each of half as many taps as the one before. Keys of halves are made in more steps.
int PlaneCode::most_kept(const PoolNest& nest, const PlaneTiles& tiles, const ReductionFacts& facts,
                         Isa isa) {
  const auto taps = static_cast<uint64_t>(nest.dims[0].kernel);
  const int steps = is_half(nest.input.dtype) && taps > 4 ? 1 : 0;
  const int others =
      4 + static_cast<int>(std::bit_width(taps)) + steps + static_cast<int>(tiles.stores_behind());
  return info(isa).vector_registers - extra_registers(nest, facts) - others;
}

void PlaneCode::emit() {
  Cursor cursor = low_.start();
  int loops = low_.open_batch(cursor);
  if (low_.is_staged()) {
    low_.for_each_channel(cursor, {nest_.channels, columns_.output, rows_.output},
                          [&](const Cursor& at) { emit_plane(at); });
  } else {
    loops += low_.open_channels(cursor);
    emit_plane(cursor);
  }
  low_.close(loops);
  b_.ret();
}

void PlaneCode::emit_plane(const Cursor& cursor) {
  plane_ = cursor;
  const std::vector<PlaneTile>& tiles = tiles_.tiles();
  std::vector<TilePlan> plans;
  for (const PlaneTile& tile : tiles) {
    plans.push_back(plan(tile));
    for (const TapPlan& tap : plans.back())
      for (const LineVector& vector : tap.fresh) count_uses(vector, rows_.kernel);
  }
  const size_t behind = std::min(tiles_.stores_behind(), tiles.size());
  std::vector<State> states;
  for (size_t i = 0; i < tiles.size() + behind; ++i) {
    if (i < tiles.size()) states.push_back(reduce(plans[i]));
    if (i >= behind) store(tiles[i - behind], states[i - behind]);
  }
}

void PlaneCode::store(const PlaneTile& tile, const State& state) {
  Cursor at = plane_;
  low_.for_each_output(at, [&](Address& address, const View& view) {
    address = plus(address, byte_stride(view, view.strides.back() * tile.begin));
  });
  low_.store(at, state, stored(tile));
}

std::vector<int64_t> PlaneCode::present(const Outputs& outputs, int64_t tap) const {
  std::vector<int64_t> lanes(static_cast<size_t>(schedule_.lanes), 1);
  bool any = false;
  for (size_t lane = 0; lane < outputs.size(); ++lane) {
    const Window& window = windows_[static_cast<size_t>(outputs[lane].column)];
    lanes[lane] = tap >= window.first_tap && tap < window.first_tap + window.taps;
    any = any || lanes[lane] != 0;
  }
  return any ? lanes : std::vector<int64_t>();
}

Value PlaneCode::where(const std::vector<int64_t>& present, Value x) {
  if (std::find(present.begin(), present.end(), 0) == present.end()) return x;
  const Value nothing = reducer_.value(reducer_.start(std::vector<int64_t>(present.size(), 0)));
  return b_.select(b_.vmask(b_.type(x).mask_of(), present), x, nothing);
}

State PlaneCode::reduce(const TilePlan& plan) {
  State result;
  std::vector<Value> vectors;
  in_use_ = 0;
  for (const TapPlan& tap : plan) {
    for (const LineVector& fresh : tap.fresh) {
      const Value line = reduced(fresh, rows_.kernel);
      vectors.push_back(tiles_.pairs() ? tiles_.pairs()->reduced(b_, reducer_, {line})[0] : line);
      in_use_ += kept_.count({fresh.start, rows_.kernel}) == 0;
    }
    Value taps = gather_lanes(b_, vectors, schedule_.lanes, tap.lanes);
    if (tiles_.pairs()) taps = LanePairs::low_bytes(b_, nest_.input.dtype, {taps});
    if (!reducer_.facts().is_idempotent) taps = where(tap.inside, taps);
    result = reducer_.combine(result, {taps});
  }
  return result;
}

// Along the line a lane takes its taps from line vectors. Where a tap may count twice, one that lies outside
// is another of the same window.
PlaneCode::TilePlan PlaneCode::plan(const PlaneTile& tile) const {
  if (tiles_.pairs()) return plan_of_pairs(tile);
  TilePlan plan;
  std::vector<LineVector> line_vectors;
  const Outputs outputs = tiles_.outputs_of(tile);
  for (int64_t number = 0; number < columns_.kernel; ++number) {
    TapPlan tap{present(outputs, number)};
    if (tap.inside.empty()) continue;
    tap.lanes.resize(tap.inside.size());
    for (size_t lane = 0; lane < outputs.size(); ++lane) {
      if (tap.inside[lane] == 0 && !reducer_.facts().is_idempotent) continue;
      const Window& window = windows_[static_cast<size_t>(outputs[lane].column)];
      const int64_t taken = std::clamp(number - window.first_tap, int64_t{0}, window.taps - 1);
      const PlaneTiles::Source source =
          tiles_.source(tile, outputs[lane], window.first + taken * window.step);
      const auto known = std::find(line_vectors.begin(), line_vectors.end(), source.vector);
      tap.lanes[lane] = {static_cast<size_t>(known - line_vectors.begin()), source.lane};
      if (known != line_vectors.end()) continue;
      line_vectors.push_back(source.vector);
      tap.fresh.push_back(source.vector);
    }
    plan.push_back(std::move(tap));
  }
  return plan;
}

// One tap: a line vector has reduced all of them.
PlaneCode::TilePlan PlaneCode::plan_of_pairs(const PlaneTile& tile) const {
  TapPlan all{std::vector<int64_t>(static_cast<size_t>(schedule_.lanes), 1)};
  all.lanes.resize(all.inside.size());
  const Outputs outputs = tiles_.outputs_of(tile);
  for (size_t lane = 0; lane < outputs.size(); ++lane) {
    const PlaneTiles::Source source = tiles_.source(tile, outputs[lane]);
    if (all.fresh.empty() || all.fresh.back() != source.vector) all.fresh.push_back(source.vector);
    all.lanes[lane] = {all.fresh.size() - 1, source.lane};
  }
  return {std::move(all)};
}

// Pairs begin at even rows, fours at every fourth, and so on.
int64_t PlaneCode::first_half(const LineVector& from, int64_t taps) const {
  const int64_t step = tiles_.tap_step();
  const int64_t number = from.start >= 0 ? from.start / step : -((step - 1 - from.start) / step);
  auto first = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(taps)));
  while (first > 1 && (first == taps || number % first != 0)) first /= 2;
  return first;
}

Value PlaneCode::reduced(const LineVector& from, int64_t taps) {
  const Key key = {from.start, taps};
  --uses_[key];
  if (const auto known = kept_.find(key); known != kept_.end()) {
    const Value value = known->second.value;
    known->second.last_used = ++clock_;
    if (uses_[key] <= 0) kept_.erase(known);
    return value;
  }
  if (taps == 1) return load(from);
  const int64_t first = first_half(from, taps);
  const Value earlier = reduced(from, first);
  const Value later = reduced({from.start + first * tiles_.tap_step(), from.lanes}, taps - first);
  const Value joined = earlier == no_value ? later
                       : later == no_value ? earlier
                                           : reducer_.join_values(earlier, later);
  keep(from, taps, joined);
  return joined;
}

// Vectors that are dropped to make room are made again when they are needed.
void PlaneCode::keep(const LineVector& vector, int64_t taps, Value value) {
  if (uses_[{vector.start, taps}] <= 0) return;
  while (!kept_.empty() && kept_.size() + in_use_ >= most_kept_)
    kept_.erase(std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
      return a.second.last_used < b.second.last_used;
    }));
  kept_[{vector.start, taps}] = {value, ++clock_};
}

// As reduced() asks, if all is kept.
void PlaneCode::count_uses(const LineVector& vector, int64_t taps) {
  if (uses_[{vector.start, taps}]++ > 0 || taps == 1) return;
  const int64_t first = first_half(vector, taps);
  count_uses(vector, first);
  count_uses({vector.start + first * tiles_.tap_step(), vector.lanes}, taps - first);
}

// Loading an element again costs little; what is made of it, keys of halves, is kept.
Value PlaneCode::load(const LineVector& vector) {
  const int lanes = tiles_.line_lanes();
  const Type type = Type::vec(nest_.input.dtype, lanes);
  const int64_t visible = rows_.visible_input() * columns_.input;
  std::vector<int64_t> inside(static_cast<size_t>(lanes), 0);
  for (int64_t lane = 0; lane < lanes; ++lane)
    inside[static_cast<size_t>(lane)] = vector.start + lane >= 0 && vector.start + lane < visible;
  const auto looked_at = inside.begin() + vector.lanes;
  if (std::find(inside.begin(), looked_at, 1) == looked_at) return no_value;
  const bool all_inside = std::find(inside.begin(), looked_at, 0) == looked_at;
  const auto from = [&](int64_t element) { return plus(plane_.input, element * bytes(type.dtype)); };
  const auto taken = [&](Value x) {
    const Value value = reducer_.value(reducer_.accumulate({}, x, {}));
    if (value != x) keep(vector, 1, value);
    return value;
  };
  if (all_inside && vector.start + lanes <= tiles_.inputs()) return taken(b_.load(type, from(vector.start)));
  const Value identity = b_.vconst_splat(type, reducer_.facts().identity);
  if (can_mask(nest_, b_.isa()))
    return taken(b_.load(type, from(vector.start), b_.vmask(type.mask_of(), inside), identity));
  const int64_t start = std::clamp<int64_t>(vector.start, 0, tiles_.inputs() - lanes);
  LaneList moved;
  for (int64_t lane = 0; lane < lanes; ++lane)
    moved.push_back(inside[static_cast<size_t>(lane)] ? vector.start + lane - start : lanes + lane);
  return taken(b_.shuffle(b_.load(type, from(start)), identity, moved));
}

Lanes PlaneCode::stored(const PlaneTile& tile) const {
  Lanes lanes;
  lanes.count = schedule_.lanes;
  lanes.are_columns = true;
  lanes.divisor_taps.assign(static_cast<size_t>(lanes.count), 1);
  const Outputs outputs = tiles_.outputs_of(tile);
  if (outputs.size() < lanes.divisor_taps.size()) {
    lanes.stored.assign(lanes.divisor_taps.size(), 0);
    std::fill_n(lanes.stored.begin(), outputs.size(), 1);
  }
  for (size_t lane = 0; lane < outputs.size(); ++lane)
    lanes.divisor_taps[lane] = divisor_taps(nest_, row_windows_[static_cast<size_t>(outputs[lane].row)]) *
                               divisor_taps(nest_, windows_[static_cast<size_t>(outputs[lane].column)]);
  return lanes;
}

}  // namespace pooljit::ir
