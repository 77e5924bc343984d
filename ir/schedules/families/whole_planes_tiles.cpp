#include "ir/schedules/families/whole_planes_tiles.h"

#include <algorithm>

namespace pooljit::ir {

namespace {

int64_t count(int64_t elements, int64_t per) { return (elements + per - 1) / per; }

}  // namespace

PlaneTiles::PlaneTiles(const PoolNest& nest, const Schedule& schedule)
    : rows_(nest.dims[0]), columns_(nest.dims[1]), lanes_(schedule.lanes) {
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
  const int64_t vectors_of_tap = line_vectors(1), lines = rows_.stride == 1 ? 1 : vectors_of_tap;
  return static_cast<int64_t>(tiles_.size()) * (rows_.kernel * lines + columns_.kernel * vectors_of_tap);
}

// Where planes keep their size.
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
