#include "ir/schedules/families/whole_planes_tiles.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace pooljit::ir {

namespace {

int64_t count(int64_t elements, int64_t per) { return (elements + per - 1) / per; }

// The column that a window takes for its tap of this number, or for one outside another tap of the same
// parity; none: it has none inside.
std::optional<int64_t> column_of(const Window& window, int64_t tap) {
  const int64_t last = window.taps - 1, number = tap - window.first_tap;
  const int64_t wanted = window.first + number * window.step;
  if (number >= 0 && number <= last) return wanted;
  for (int64_t inside = 0; inside <= last; ++inside)
    if (const int64_t column = window.first + inside * window.step; (column - wanted) % 2 == 0) return column;
  return std::nullopt;
}

// The bytes that so many lines' windows take from a vector of words; lines begin `apart` bytes from each
// other, and so do their results. None: they do not fit, or have no byte for a tap.
std::optional<LanePairs> pairs_of_lines(const NestDim& columns, int64_t words, int64_t lines, int64_t apart) {
  const int64_t results = (lines - 1) * apart / 2 + columns.output;
  if (columns.stride != 2 || results > words || columns.kernel > 2 * words ||
      (lines > 1 && columns.output > apart / 2))
    return std::nullopt;
  std::vector<PlacedLanes::List> lists;
  for (int64_t tap = 0; tap < columns.kernel; ++tap) {
    PlacedLanes::List& list = lists.emplace_back(static_cast<size_t>(words), PlacedLanes::anything);
    for (int64_t output = 0; output < columns.output; ++output) {
      const std::optional<int64_t> column = column_of(columns.window(output), tap);
      if (!column) return std::nullopt;
      for (int64_t line = 0; line < lines; ++line)
        list[static_cast<size_t>(line * apart / 2 + output)] = line * apart + *column;
    }
  }
  return LanePairs::of(lists, words);
}

}  // namespace

std::optional<PlanePairs> plane_pairs(const Layer& layer, int64_t lanes) {
  const NestDim &rows = layer.nest().dims[0], &columns = layer.nest().dims[1];
  const int64_t line_lanes = 2 * lanes;
  if (layer.lane_bytes(LaneUse::moved) != 1 || !layer.can_mask() ||
      !layer.facts(LaneUse::moved).is_idempotent || line_lanes > info(layer.isa()).vector_bytes ||
      columns.input > line_lanes)
    return std::nullopt;
  const int64_t apart = rows.stride * columns.input;
  for (int64_t lines = 1 + (line_lanes - columns.input) / apart; lines > 0; --lines)
    if (auto pairs = pairs_of_lines(columns, lanes, lines, apart))
      return PlanePairs{std::move(*pairs), lines};
  return std::nullopt;
}

PlaneTiles::PlaneTiles(const Layer& layer, const Schedule& schedule)
    : rows_(layer.nest().dims[0]),
      columns_(layer.nest().dims[1]),
      lanes_(schedule.lanes),
      pairs_(plane_pairs(layer, schedule.lanes)) {
  cut(schedule.tail);
}

// Tiles of whole rows all have the same shuffles, so they are worth a few more.
void PlaneTiles::cut(Tail tail) {
  const int64_t rows = lanes_ / columns_.output;
  if (tail == Tail::mask && rows > 0) {
    const int64_t across_rows = cost(count(outputs(), lanes_));
    whole_rows_ = true;
    whole_rows_ = 8 * cost(count(rows_.output, rows)) <= 9 * across_rows;
  }
  const int64_t step = whole_rows_ ? rows * columns_.output : lanes_;
  for (int64_t begin = 0; begin < outputs(); begin += step)
    tiles_.push_back({begin, std::min(step, outputs() - begin)});
  if (tail == Tail::overlap) tiles_.back() = {outputs() - lanes_, lanes_};
}

// A tap of a line takes a join, of two instructions at most, and a shuffle for each vector after the first.
int64_t PlaneTiles::cost(int64_t tiles) const {
  return tiles * (2 + std::max<int64_t>(1, line_vectors(1) - 1));
}

int64_t PlaneTiles::rows_per_tile() const {
  return whole_rows_ ? lanes_ / columns_.output
                     : std::min(rows_.output, count(lanes_ - 1, columns_.output) + 1);
}

int64_t PlaneTiles::line_vectors(int64_t taps) const {
  const int64_t width = columns_.input;
  if (pairs_) return count(rows_per_tile(), pairs_->lines);
  if (rows_.stride == 1) {
    if (!whole_rows_ && taps == 1) return 2;
    return count(rows_per_tile() * width, lanes_) + (whole_rows_ ? 0 : 1);
  }
  const int64_t of_row = count(width, lanes_);
  if (columns_.output < lanes_ || whole_rows_) return rows_per_tile() * of_row;
  // Of two rows at most, together as far apart as neighbours of one.
  const int64_t span = (lanes_ - 1) * columns_.stride + (taps - 1) * columns_.dilation + 1;
  return std::min(2 * of_row, count(span, lanes_) + 3);
}

int64_t PlaneTiles::work() const {
  if (pairs_) return std::ssize(tiles_) * line_vectors(1) * (rows_.kernel + pairs_->lanes.work() + 1);
  const int64_t vectors_of_tap = line_vectors(1), lines = rows_.stride == 1 ? 1 : vectors_of_tap;
  return static_cast<int64_t>(tiles_.size()) * (rows_.kernel * lines + columns_.kernel * vectors_of_tap);
}

// Where planes keep their size. No field: fewer tiles take up to 1.2 times as long, more take the same time
// (Sapphire Rapids).
size_t PlaneTiles::stores_behind() const {
  if (rows_.stride > 1 || columns_.stride > 1) return 0;
  const int64_t above = rows_.pad_begin * columns_.input + columns_.pad_begin;
  return static_cast<size_t>(count(above, lanes_));
}

std::vector<PlaneTiles::Output> PlaneTiles::outputs_of(const PlaneTile& tile) const {
  std::vector<Output> outputs;
  outputs.reserve(static_cast<size_t>(tile.valid));
  Output output{tile.begin / columns_.output, tile.begin % columns_.output};
  for (int64_t lane = 0; lane < tile.valid; ++lane) {
    outputs.push_back(output);
    if (++output.column == columns_.output) output = {output.row + 1, 0};
  }
  return outputs;
}

PlaneTiles::Source PlaneTiles::source(const PlaneTile& tile, const Output& output) const {
  const int64_t width = columns_.input, apart = rows_.stride * width;
  const int64_t first_row = tile.begin / columns_.output;
  const int64_t last_row = (tile.begin + tile.valid - 1) / columns_.output;
  const int64_t line = (output.row - first_row) % pairs_->lines, row = output.row - line;
  const int64_t lines = std::min(pairs_->lines, last_row - row + 1);
  return {{row * apart - rows_.pad_begin * width, (lines - 1) * apart + width},
          line * apart / 2 + output.column};
}

// Lanes are a power of two.
PlaneTiles::Source PlaneTiles::source(const PlaneTile& tile, const Output& output, int64_t position) const {
  const int64_t width = columns_.input;
  if (rows_.stride == 1) {
    const int64_t origin = whole_rows_ ? tile.begin / columns_.output * width : 0;
    const int64_t from_origin = output.row * width + position - origin;
    const int64_t lane = from_origin & (lanes_ - 1);
    return {{origin + from_origin - lane - rows_.pad_begin * width, lanes_}, lane};
  }
  const int64_t first = width < lanes_ ? 0 : std::min(position & -lanes_, width - lanes_);
  return {{(output.row * rows_.stride - rows_.pad_begin) * width + first, std::min(lanes_, width - first)},
          position - first};
}

}  // namespace pooljit::ir
