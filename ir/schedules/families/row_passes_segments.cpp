#include "ir/schedules/families/row_passes_segments.h"

#include <algorithm>
#include <utility>

namespace pooljit::ir {

namespace {

constexpr size_t most_row_tiles = 40;  // in the code of a row
// In scratch memory, so that it stays in L1 while the rows of the image pass through. No field: of 8 to 36
// KiB, 12 and 16 are best.
constexpr int64_t rolling_bytes = int64_t{12} << 10;

// Averages have divisors of their own at the border; where all windows have taps, others do not care.
Interior alike(const PoolNest& nest) {
  const NestDim& row = nest.dims.back();
  const std::vector<Run> all = runs(row);
  const bool any_empty =
      std::any_of(all.begin(), all.end(), [](const Run& run) { return run.window.taps == 0; });
  return any_empty || nest.divides_by_taps() ? interior(row) : Interior{0, row.output};
}

RowSegment cut_segment(PoolNest rows, const RowPassesSchedule& schedule, const ReductionFacts& facts,
                       int64_t begin, int64_t outputs) {
  NestDim& row = rows.dims.back();
  const Stretch seen = stretch_of(row, begin, outputs);
  const int64_t padding = row.input + row.pad_end - seen.first - seen.inside;  // behind what is seen
  row.input = seen.inside;
  row.output = outputs;
  row.pad_begin -= begin - seen.first;
  row.pad_end = std::min(padding, seen.behind);
  RowSegment segment(std::move(rows), schedule, facts);
  segment.output = begin;
  segment.input = seen.first;
  return segment;
}

// The first begins with what lies ahead of all windows; in the middle they are alike; the last one takes what
// is left, where that is not enough for a vector of columns also what the one before would.
std::vector<RowSegment> cut_rolling_segments(const PoolNest& rows, const RowPassesSchedule& schedule,
                                             const ReductionFacts& facts, int64_t width) {
  const NestDim& row = rows.dims.back();
  const int64_t lanes = schedule.lanes, shared = (row.kernel - 1) * row.dilation;
  // The first segment has to see what the second one takes to be held, and reach beyond the padding.
  if (width < std::max(shared, row.pad_begin)) return {};
  std::vector<RowSegment> segments;
  const auto add = [&](int64_t begin, int64_t outputs) -> RowSegment& {
    segments.push_back(cut_segment(rows, schedule, facts, begin, outputs));
    if (begin > 0) segments.back().go_on(shared);
    return segments.back();
  };
  // Whole vectors: the next segment has at least one more of columns.
  RowSegment& first = add(0, width);
  first.columns.inside = ceil_div(first.columns.inside, lanes) * lanes;
  const int64_t alike = (interior(row).end - width - lanes) / width;
  if (alike > 0) add(width, width).count = alike;
  const int64_t rest = width * (1 + std::max<int64_t>(0, alike));
  add(rest, row.output - rest);
  return segments;
}

}  // namespace

int64_t end_of(const std::vector<TileLoop>& tiles) {
  int64_t end = 0;
  for (const TileLoop& loop : tiles)
    for (const Tile& tile : loop.tiles)
      end = std::max(end, tile.begin + (loop.count - 1) * loop.outputs + tile.lanes);
  return end;
}

RowSegment::RowSegment(PoolNest own, const RowPassesSchedule& schedule, const ReductionFacts& facts)
    : nest(std::move(own)),
      columns(stretch_of(nest.dims.back(), 0, nest.dims.back().output)),
      tiles(cut_row(nest.dims.back(), {schedule.lanes, alike(nest), schedule.tail})),
      passes(nest.dims.back(), end_of(tiles), schedule.lanes, facts.is_idempotent),
      before(columns.before),
      positions(passes.positions()) {
  if (schedule.scan == RowPassesSchedule::Scan::trailing) {
    trailing.emplace(nest.dims.back(), schedule.lanes);
    before += trailing->positions_ahead();
    positions = (trailing->vectors_ahead() + ceil_div(end_of(tiles), schedule.lanes)) * schedule.lanes;
  }
  // The fill beside the columns is written in whole vectors.
  pitch = std::max(positions, before + columns.inside) + schedule.lanes;
}

std::vector<RowSegment> cut_segments(const PoolNest& rows, const RowPassesSchedule& schedule,
                                     const ReductionFacts& facts) {
  const NestDim& row = rows.dims.back();
  const bool rolls = schedule.scan == RowPassesSchedule::Scan::trailing;
  const int64_t lanes = schedule.lanes, shared = (row.kernel - 1) * row.dilation;
  const ColumnPasses passes(row, lanes, schedule.lanes, facts.is_idempotent);
  const int64_t lines = schedule.rows_together + (rolls ? 0 : static_cast<int64_t>(passes.lines()) - 1);
  // Outputs of a segment: what windows share takes room, too, and so does what whole vectors stretch beyond.
  const int64_t bytes = rolls ? rolling_bytes : most_scratch_bytes;
  const int64_t positions = (bytes / lines - scratch_alignment) / facts.working_bytes;
  const int64_t room = (positions - 4 * lanes - shared) / lanes * lanes;
  if (room < lanes || (row.output > room && room < shared)) return {};
  const Interior inside = alike(rows);
  if (inside.begin + row.output - inside.end > static_cast<int64_t>(most_row_tiles) * lanes) return {};
  const int64_t count = ceil_div(row.output, room);
  const int64_t width = count == 1 ? row.output : ceil_div(ceil_div(row.output, count), lanes) * lanes;
  if (rolls && count > 1) return cut_rolling_segments(rows, schedule, facts, width);
  const Interior whole = interior(row);
  std::vector<RowSegment> segments;
  for (int64_t begin = 0; begin < row.output;) {
    // A last segment of less than a vector does some outputs again.
    if (begin > 0) begin = std::min(begin, row.output - lanes);
    segments.push_back(cut_segment(rows, schedule, facts, begin, std::min(width, row.output - begin)));
    if (begin >= whole.begin) segments.back().count = std::max<int64_t>(1, (whole.end - begin) / width);
    begin += segments.back().count * width;
  }
  return segments;
}

void RowSegment::go_on(int64_t shared) {
  goes_on = true;
  input += shared;
  columns.first += shared;
  columns.inside -= shared;
  before = 0;
  positions -= trailing->vectors_ahead() * trailing->lanes();
}

bool are_short(const std::vector<RowSegment>& segments) {
  size_t tiles = 0;
  for (const RowSegment& segment : segments) tiles += tile_count(segment.tiles);
  return tiles <= most_row_tiles;
}

bool hold_vectors(const std::vector<RowSegment>& segments, const RowPassesSchedule& schedule) {
  return std::all_of(segments.begin(), segments.end(),
                     [&](const RowSegment& segment) { return segment.columns.inside >= schedule.lanes; });
}

bool follow_each_other(const std::vector<RowSegment>& segments, const RowPassesSchedule& schedule) {
  const int64_t lanes = schedule.lanes;
  return std::all_of(segments.begin(), segments.end(), [&](const RowSegment& segment) {
    int64_t next = 0;  // vector
    for (const TileLoop& loop : segment.tiles) {
      for (const Tile& tile : loop.tiles) {
        const int64_t vector = tile.begin / lanes;
        const bool is_next = vector == next, is_again = vector == next - 1 && loop.count == 1;
        if ((!is_next && !is_again) || (tile.begin + tile.lanes - 1) / lanes != vector) return false;
        next = vector + 1;
      }
      if (loop.count > 1 && loop.outputs != static_cast<int64_t>(loop.tiles.size()) * lanes) return false;
      next += (loop.count - 1) * static_cast<int64_t>(loop.tiles.size());
    }
    return true;
  });
}

}  // namespace pooljit::ir
