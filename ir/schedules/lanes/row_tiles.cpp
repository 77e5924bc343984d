#include "ir/schedules/lanes/row_tiles.h"

#include <algorithm>
#include <numeric>

#include "ir/schedules/lanes/slices.h"

namespace pooljit::ir {

namespace {

class Cutter {
 public:
  Cutter(const NestDim& dim, const RowCut& cut) : dim_(dim), cut_(cut), inside_(cut.inside) {
    const Period period = dim.period();
    // The outputs of an irregular adaptive dimension repeat nowhere.
    const bool repeats = dim.kind != DimKind::adaptive || period.output > 1 || runs(dim).size() == 1;
    if (repeats) tiles_per_period_ = period.output / std::gcd(period.output, int64_t{cut.lanes});
  }

  std::vector<TileLoop> run() {
    if (cut_.masks && !cut_.skip_border) {
      cut(0, dim_.output);
      return row_;
    }
    one_by_one(0, inside_.begin);
    cut(inside_.begin, inside_.end);
    one_by_one(inside_.end, dim_.output);
    return row_;
  }

 private:
  bool is_border(int64_t begin, int64_t end) const { return begin < inside_.begin || end > inside_.end; }

  bool has_room() const { return row_.size() <= most_cut_tiles; }
  void add(const Tile& tile) { row_.push_back({{tile}, 1, 0, 0}); }

  void one_by_one(int64_t begin, int64_t end) {
    for (int64_t output = begin; output < end && !cut_.skip_border && has_room(); ++output)
      add({output, 1, 1, true});
  }

  // Outputs begin .. end-1; what repeats becomes a loop.
  void cut(int64_t begin, int64_t end) {
    const int64_t lanes = cut_.lanes;
    while (begin + lanes <= end && has_room()) {
      const bool border = is_border(begin, begin + lanes);
      const int64_t repeat = lanes * tiles_per_period_;
      const int64_t count = border || repeat == 0 ? 0 : (std::min(end, inside_.end) - begin) / repeat;
      if (count == 0) {
        const bool is_adaptive = dim_.kind == DimKind::adaptive;
        const int64_t alike = is_adaptive ? tiles_of_window(begin, end)
                              : border    ? tiles_alike(begin, end)
                                          : 1;
        row_.push_back(
            {{{begin, cut_.lanes, lanes, border}}, alike, lanes, lanes * (is_adaptive ? 0 : dim_.stride)});
        begin += alike * lanes;
        continue;
      }
      const Period period = dim_.period();
      TileLoop loop{{}, count, repeat, repeat / period.output * period.input};
      for (int64_t i = 0; i < tiles_per_period_; ++i)
        loop.tiles.push_back({begin + i * lanes, cut_.lanes, lanes, false});
      row_.push_back(loop);
      begin += count * repeat;
    }
    if (!has_room()) return;
    for (const Slice& slice : slices(begin, end, cut_.lanes, cut_.tail)) {
      const int64_t valid = slice.stored.empty() ? slice.lanes : end - slice.begin;
      add({slice.begin, slice.lanes, valid, is_border(slice.begin, slice.begin + valid)});
    }
  }

  // How many tiles have the one window that the outputs of an irregular dimension have from here on.
  int64_t tiles_of_window(int64_t begin, int64_t end) const {
    const Window window = dim_.window(begin);
    const auto is_same = [&](int64_t tiles) {
      const int64_t last = begin + tiles * cut_.lanes - 1;
      const Window other = dim_.window(last);
      return other.first == window.first && other.taps == window.taps &&
             is_border(begin, begin + cut_.lanes) == is_border(begin, last + 1);
    };
    return is_same(1) ? most_of((end - begin) / cut_.lanes, is_same) : 1;
  }

  // How many tiles of a border have windows that are clipped alike, as a pixel's channels are.
  int64_t tiles_alike(int64_t begin, int64_t end) const {
    const Window first = dim_.window(begin);
    if (dim_.kind != DimKind::pool || (first.taps == 0 && side_of(begin) == 0)) return 1;
    const auto is_alike = [&](int64_t count) {
      const int64_t output = begin + count * cut_.lanes - 1;
      const Window last = dim_.window(output);
      const bool see_the_same =
          first.taps > 0 ? last.first_tap == first.first_tap : side_of(output) == side_of(begin);
      return last.taps == first.taps && see_the_same && last.padded_taps == first.padded_taps;
    };
    return is_alike(1) ? most_of((end - begin) / cut_.lanes, is_alike) : 1;
  }

  // The most tiles of `all` of which something holds that holds of one, and of all tiles up to some.
  template <typename Holds>
  static int64_t most_of(int64_t all, const Holds& holds) {
    int64_t most = 1, beyond = all + 1;
    while (beyond - most > 1) {
      const int64_t middle = most + (beyond - most) / 2;
      (holds(middle) ? most : beyond) = middle;
    }
    return most;
  }

  // Where a window lies of which no tap is inside the image: -1 before it, 1 behind it, 0 around it.
  int side_of(int64_t output) const {
    const Window whole = dim_.whole_window(output);
    if (whole.first >= dim_.visible_input()) return 1;
    return whole.first + (whole.taps - 1) * whole.step < 0 ? -1 : 0;
  }

  const NestDim& dim_;
  const RowCut& cut_;
  const Interior inside_;
  int64_t tiles_per_period_ = 0;  // 0: nothing repeats
  std::vector<TileLoop> row_;
};

}  // namespace

std::vector<TileLoop> cut_row(const NestDim& dim, const RowCut& cut) { return Cutter(dim, cut).run(); }

namespace {

int64_t end_of(const TileLoop& loop) {
  return loop.tiles.back().begin + (loop.count - 1) * loop.outputs + loop.tiles.back().valid;
}

}  // namespace

TileLoop behind(TileLoop loop, int64_t repetitions) {
  for (Tile& tile : loop.tiles) tile.begin += repetitions * loop.outputs;
  loop.count -= repetitions;
  return loop;
}

std::vector<RowPiece> pieces_of(const std::vector<TileLoop>& row, int64_t most) {
  std::vector<RowPiece> pieces;
  bool may_grow = false;  // the last piece
  const auto add = [&](const TileLoop& loop) {
    const int64_t first = loop.tiles[0].begin, end = end_of(loop);
    if (!may_grow || end - pieces.back().first > most) pieces.push_back({{}, first, 0});
    RowPiece& piece = pieces.back();
    piece.first = std::min(piece.first, first);
    piece.columns = end - piece.first;
    piece.loops.push_back(loop);
    may_grow = true;
  };
  for (TileLoop loop : row) {
    const int64_t each = loop.outputs > 0 ? std::max<int64_t>(1, most / loop.outputs) : loop.count;
    if (loop.count > each) {
      TileLoop part = loop;
      part.count = each;
      may_grow = false;
      add(part);
      RowPiece& piece = pieces.back();
      piece.count = loop.count / each;
      piece.outputs = each * loop.outputs;
      piece.inputs = each * loop.inputs;
      may_grow = false;
      loop = behind(loop, piece.count * each);
    }
    if (loop.count > 0) add(loop);
  }
  return pieces;
}

size_t tile_count(const std::vector<TileLoop>& row) {
  size_t count = 0;
  for (const TileLoop& loop : row) count += loop.tiles.size();
  return count;
}

TileTaps tile_taps(const NestDim& dim, const Tile& tile, int64_t most_lists) {
  TileTaps taps;
  // Beyond the valid lanes an ordinary pooling goes on as before, which keeps its shuffles regular.
  const int64_t lanes = dim.kind == DimKind::pool ? tile.lanes : tile.valid;
  int64_t most = 0;
  taps.origin = std::numeric_limits<int64_t>::max();
  taps.windows.reserve(static_cast<size_t>(lanes));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const bool moves_on = lane > 0 && dim.kind == DimKind::pool && tile.begin + lane < dim.output;
    Window window = moves_on ? taps.windows.back() : dim.whole_window(tile.begin + lane);
    if (moves_on) window.first += dim.stride;
    taps.windows.push_back(window);
    most = std::max(most, window.taps);
    if (window.taps > 0) taps.origin = std::min(taps.origin, window.first);
  }
  if (most == 0) taps.origin = 0;
  for (int64_t lane = 0; lane < std::min<int64_t>(lanes, tile.valid); ++lane) {
    const Window& window = taps.windows[static_cast<size_t>(lane)];
    const int64_t last = window.first + (window.taps - 1) * window.step;
    if (window.taps > 0) taps.end = std::max(taps.end, std::max(window.first, last) - taps.origin + 1);
  }
  most = std::min(most, most_lists);
  taps.lists.reserve(static_cast<size_t>(most));
  taps.present.reserve(static_cast<size_t>(most));
  for (int64_t tap = 0; tap < most; ++tap) {
    PlacedLanes::List& list = taps.lists.emplace_back(static_cast<size_t>(tile.lanes), PlacedLanes::anything);
    std::vector<int64_t> present;  // made where some lane lacks the tap
    for (size_t lane = 0; lane < taps.windows.size(); ++lane) {
      const Window& window = taps.windows[lane];
      const bool counts = static_cast<int64_t>(lane) < tile.valid;
      if (tap >= window.taps) {
        if (!counts) continue;
        present.resize(static_cast<size_t>(tile.lanes), 1);
        present[lane] = 0;
        continue;
      }
      list[lane] = window.first + tap * window.step - taps.origin;
    }
    taps.present.push_back(std::move(present));
  }
  taps.windows.resize(static_cast<size_t>(tile.valid));
  return taps;
}

}  // namespace pooljit::ir
