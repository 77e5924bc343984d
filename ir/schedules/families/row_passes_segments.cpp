#include "ir/schedules/families/row_passes_segments.h"

#include <algorithm>
#include <utility>

namespace pooljit::ir {

namespace {

constexpr size_t most_tiles = 40;  // in the code of a row
// In scratch memory, so that it stays in L1 while the rows of the image pass through.
constexpr int64_t rolling_bytes = int64_t{12} << 10;

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

RowStrip cut_strip(PoolNest rows, const Schedule& schedule, const ReductionFacts& facts, int64_t begin,
                   int64_t outputs) {
  NestDim& row = rows.dims.back();
  const Stretch seen = stretch_of(row, begin, outputs);
  const int64_t padding = row.input + row.pad_end - seen.first - seen.inside;  // behind what is seen
  row.input = seen.inside;
  row.output = outputs;
  row.pad_begin -= begin - seen.first;
  row.pad_end = std::min(padding, seen.behind);
  RowStrip strip(std::move(rows), schedule, facts);
  strip.output = begin;
  strip.input = seen.first;
  return strip;
}

// The first begins with what lies ahead of all windows; in the middle they are alike; the last one takes what
// is left, where that is not enough for a vector of columns also what the one before would.
std::vector<RowStrip> cut_rolling_strips(const PoolNest& rows, const Schedule& schedule,
                                         const ReductionFacts& facts, int64_t width) {
  const NestDim& row = rows.dims.back();
  const int64_t lanes = schedule.lanes, shared = (row.kernel - 1) * row.dilation;
  // The first strip has to see what the second one takes to be held, and reach beyond the padding.
  if (width < std::max(shared, row.pad_begin)) return {};
  std::vector<RowStrip> strips;
  const auto add = [&](int64_t begin, int64_t outputs) -> RowStrip& {
    strips.push_back(cut_strip(rows, schedule, facts, begin, outputs));
    if (begin > 0) strips.back().go_on(shared);
    return strips.back();
  };
  // Whole vectors: the next strip has at least one more of columns.
  RowStrip& first = add(0, width);
  first.columns.inside = ceil_div(first.columns.inside, lanes) * lanes;
  const int64_t alike = (interior(row).end - width - lanes) / width;
  if (alike > 0) add(width, width).count = alike;
  const int64_t rest = width * (1 + std::max<int64_t>(0, alike));
  add(rest, row.output - rest);
  return strips;
}

}  // namespace

RowStrip::RowStrip(PoolNest own, const Schedule& schedule, const ReductionFacts& facts)
    : nest(std::move(own)),
      columns(stretch_of(nest.dims.back(), 0, nest.dims.back().output)),
      tiles(cut_row(nest.dims.back(), {schedule.lanes, alike(nest), schedule.tail})),
      passes(nest.dims.back(), end_of(tiles), schedule.lanes, facts.is_idempotent),
      before(columns.before),
      positions(passes.positions()) {
  if (schedule.order == Order::rolling) {
    trailing.emplace(nest.dims.back(), schedule.lanes);
    before += trailing->positions_ahead();
    positions = (trailing->vectors_ahead() + ceil_div(end_of(tiles), schedule.lanes)) * schedule.lanes;
  }
  // What is filled beside the columns comes in whole vectors.
  pitch = std::max(positions, before + columns.inside) + schedule.lanes;
}

std::vector<RowStrip> cut_strips(const PoolNest& rows, const Schedule& schedule,
                                 const ReductionFacts& facts) {
  const NestDim& row = rows.dims.back();
  const bool rolls = schedule.order == Order::rolling;
  const int64_t lanes = schedule.lanes, shared = (row.kernel - 1) * row.dilation;
  const ColumnPasses passes(row, lanes, schedule.lanes, facts.is_idempotent);
  const int64_t lines = schedule.unroll + (rolls ? 0 : static_cast<int64_t>(passes.lines()) - 1);
  // Outputs of a strip: what windows share takes room, too, and so does what whole vectors stretch beyond.
  const int64_t bytes = rolls ? rolling_bytes : most_scratch_bytes;
  const int64_t positions = (bytes / lines - scratch_alignment) / facts.working_bytes;
  const int64_t room = (positions - 4 * lanes - shared) / lanes * lanes;
  if (room < lanes || (row.output > room && room < shared)) return {};
  const Interior inside = alike(rows);
  if (inside.begin + row.output - inside.end > static_cast<int64_t>(most_tiles) * lanes) return {};
  const int64_t count = ceil_div(row.output, room);
  const int64_t width = count == 1 ? row.output : ceil_div(ceil_div(row.output, count), lanes) * lanes;
  if (rolls && count > 1) return cut_rolling_strips(rows, schedule, facts, width);
  const Interior whole = interior(row);
  std::vector<RowStrip> strips;
  for (int64_t begin = 0; begin < row.output;) {
    // A last strip of less than a vector does some outputs again.
    if (begin > 0) begin = std::min(begin, row.output - lanes);
    strips.push_back(cut_strip(rows, schedule, facts, begin, std::min(width, row.output - begin)));
    if (begin >= whole.begin) strips.back().count = std::max<int64_t>(1, (whole.end - begin) / width);
    begin += strips.back().count * width;
  }
  return strips;
}

void RowStrip::go_on(int64_t shared) {
  goes_on = true;
  input += shared;
  columns.first += shared;
  columns.inside -= shared;
  before = 0;
  positions -= trailing->vectors_ahead() * trailing->lanes();
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

bool follow_each_other(const std::vector<RowStrip>& strips, const Schedule& schedule) {
  const int64_t lanes = schedule.lanes;
  return std::all_of(strips.begin(), strips.end(), [&](const RowStrip& strip) {
    int64_t next = 0;  // vector
    for (const TileLoop& loop : strip.tiles) {
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
