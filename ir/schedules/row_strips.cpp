#include "ir/schedules/row_strips.h"

#include <algorithm>
#include <utility>

namespace pooljit::ir {

namespace {

constexpr size_t most_tiles = 40;  // in the code of a row

// Averages have divisors of their own at the border; where all windows have taps, others do not care.
Interior alike(const PoolNest& nest) {
  const NestDim& row = nest.dims.back();
  const std::vector<Run> all = runs(row);
  const bool any_empty =
      std::any_of(all.begin(), all.end(), [](const Run& run) { return run.window.taps == 0; });
  const bool divides = nest.reduction == Reduction::avg && !nest.divisor_override;
  return any_empty || divides ? interior(row) : Interior{0, row.output};
}

int64_t end_of(const std::vector<TileLoop>& tiles) {
  int64_t end = 0;
  for (const TileLoop& loop : tiles)
    for (const Tile& tile : loop.tiles)
      end = std::max(end, tile.begin + (loop.count - 1) * loop.outputs + tile.lanes);
  return end;
}

RowStrip cut_strip(PoolNest rows, const Schedule& schedule, const Reducer& reducer, int64_t begin,
                   int64_t outputs) {
  NestDim& row = rows.dims.back();
  const Stretch seen = stretch_of(row, begin, outputs);
  const int64_t padding = row.input + row.pad_end - seen.first - seen.inside;  // behind what is seen
  row.input = seen.inside;
  row.output = outputs;
  row.pad_begin -= begin - seen.first;
  row.pad_end = std::min(padding, seen.behind);
  RowStrip strip(std::move(rows), schedule, reducer);
  strip.output = begin;
  strip.input = seen.first;
  return strip;
}

}  // namespace

RowStrip::RowStrip(PoolNest own, const Schedule& schedule, const Reducer& reducer)
    : nest(std::move(own)),
      columns(stretch_of(nest.dims.back(), 0, nest.dims.back().output)),
      tiles(cut_row(nest.dims.back(), {schedule.lanes, alike(nest), schedule.tail})),
      passes(nest.dims.back(), end_of(tiles), schedule.lanes, reducer.is_idempotent()),
      // What is filled beside the columns comes in whole vectors.
      pitch(std::max(passes.positions(), columns.before + columns.inside) + schedule.lanes) {}

std::vector<RowStrip> cut_strips(const PoolNest& rows, const Schedule& schedule, const Reducer& reducer) {
  const NestDim& row = rows.dims.back();
  const int64_t lanes = schedule.lanes, shared = (row.kernel - 1) * row.dilation;
  const ColumnPasses passes(row, lanes, schedule.lanes, reducer.is_idempotent());
  const int64_t lines = schedule.unroll + static_cast<int64_t>(passes.lines()) - 1;
  // Outputs of a strip: what windows share takes room, too, and so does what whole vectors stretch beyond.
  const int64_t positions = (most_scratch_bytes / lines - scratch_alignment) / reducer.working_bytes();
  const int64_t room = (positions - 4 * lanes - shared) / lanes * lanes;
  if (room < lanes || (row.output > room && room < shared)) return {};
  const Interior inside = alike(rows);
  if (inside.begin + row.output - inside.end > static_cast<int64_t>(most_tiles) * lanes) return {};
  const int64_t count = ceil_div(row.output, room);
  const int64_t width = count == 1 ? row.output : ceil_div(ceil_div(row.output, count), lanes) * lanes;
  const Interior whole = interior(row);
  std::vector<RowStrip> strips;
  for (int64_t begin = 0; begin < row.output;) {
    // A last strip of less than a vector does some outputs again.
    if (begin > 0) begin = std::min(begin, row.output - lanes);
    strips.push_back(cut_strip(rows, schedule, reducer, begin, std::min(width, row.output - begin)));
    if (begin >= whole.begin) strips.back().count = std::max<int64_t>(1, (whole.end - begin) / width);
    begin += strips.back().count * width;
  }
  return strips;
}

bool are_short(const std::vector<RowStrip>& strips) {
  size_t tiles = 0;
  for (const RowStrip& strip : strips) tiles += tile_count(strip.tiles);
  return tiles <= most_tiles;
}

bool hold_vectors(const std::vector<RowStrip>& strips, const Schedule& schedule) {
  return std::all_of(strips.begin(), strips.end(),
                     [&](const RowStrip& strip) { return strip.columns.inside >= schedule.lanes; });
}

}  // namespace pooljit::ir
