#include "ir/schedules/families/row_passes_sums.h"

#include <algorithm>
#include <bit>

#include "ir/reductions/sums.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/tile_lanes.h"

namespace pooljit::ir {
namespace {

constexpr int64_t entry_bytes = 8;  // of a table

// What becomes of the columns' sums before a row of outputs: a row of a table. Rows that leave and rows that
// enter are done in pairs, and then those that are left.
struct Moves {
  int64_t pairs, leaving, entering;  // how many, and the first of each
  int64_t leaves, leaving_alone;
  int64_t enters, entering_alone;
};
constexpr int64_t moves_bytes = 7 * entry_bytes;
constexpr int64_t most_rows = int64_t{1} << 16;  // of outputs, each of which has its moves in a table

DType narrow(const PoolNest& rows) { return rows.input.dtype == DType::u8 ? DType::u16 : DType::i16; }

// How many columns 16 bits can hold the sum of.
int64_t columns_that_fit(const PoolNest& rows) {
  const bool is_unsigned = rows.input.dtype == DType::u8;
  const int64_t most = is_unsigned ? 0xffff : 0x7fff, element = is_unsigned ? 0xff : 0x80;
  return most / (element * rows.dims[0].kernel);
}

int doublings(const PoolNest& rows) {
  const int64_t longest = std::min(columns_that_fit(rows), rows.dims[1].kernel);
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(longest))) - 1;
}

class RollingSums {
 public:
  RollingSums(const PoolNest& nest, const RowPassesSchedule& schedule, const RowSegment& segment,
              Builder& builder, Reducer& reducer)
      : nest_(nest),
        segment_(segment),
        is_short_(reducer.facts().working_bytes == bytes(narrow(nest))),
        wide_(schedule.lanes * (is_short_ ? 1 : 2)),
        narrow_(narrow(nest)),
        passes_(nest.dims[1], end_of(segment.tiles), wide_, false, doublings(nest)),
        b_(builder),
        reducer_(reducer),
        low_(nest, builder, reducer) {}

  void emit() {
    const Stretch& all = segment_.columns;
    const int64_t positions =
        ceil_div(std::max(passes_.positions(), all.before + all.inside + all.behind), wide_) * wide_;
    // Entering and leaving rows are stored where vectors are aligned: at the image's first column.
    const int64_t lead = (scratch_alignment - 2 * all.before % scratch_alignment) % scratch_alignment;
    for (size_t line = 0; line < passes_.lines(); ++line)
      lines_.push_back(b_.add_scratch(ceil_div(lead + positions * 2, scratch_alignment) * scratch_alignment));
    lines_[0] = plus(lines_[0], lead);
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    loops += low_.open_channels(cursor);
    const Band band = open_band(cursor);
    const Builder::Loop fill = b_.begin_loop(b_.iconst(positions / wide_));
    b_.store(plus(lines_[0], fill.iv, 2 * wide_), b_.vconst_splat(Type::vec(narrow_, wide_), 0));
    b_.end_loop();

    const Builder::Loop row = b_.begin_loop(band.outputs);
    const Position output = Position{}.further(row.iv, 1);
    Address moves = plus(table(std::move(moves_)), row.iv, moves_bytes);
    low_.move(moves, band.first, moves_bytes);
    const auto at = [&](int64_t entry) { return plus(moves, entry * entry_bytes); };
    take(band.cursor.input, at(0), {{Op::sub, at(1)}, {Op::add, at(2)}});
    take(band.cursor.input, at(3), {{Op::sub, at(4)}});
    take(band.cursor.input, at(5), {{Op::add, at(6)}});
    pass_over();
    const Divisors divisors(nest_, nest_.dims[0], {0, nest_.dims[0].output}, b_, band.first);
    store(low_.at_output(band.cursor, 0, output, divisors(output)));
    b_.end_loop();
    low_.close(loops + 1);
    b_.ret();
  }

 private:
  // Rows of outputs that begin with sums of their own: what tasks are made of.
  struct Band {
    Value first, outputs;
    Cursor cursor;
  };

  // Fills moves_, for each row of outputs.
  Band open_band(const Cursor& cursor) {
    const NestDim& rows = nest_.dims[0];
    const int64_t size = std::min(rows.output, std::max<int64_t>(32, 4 * rows.kernel));
    const int64_t bands = ceil_div(rows.output, size);
    std::vector<int64_t> counts;
    moves_.reserve(static_cast<size_t>(rows.output * moves_bytes / entry_bytes));
    for (int64_t begin = 0; begin < rows.output; begin += size) {
      const int64_t end = std::min(begin + size, rows.output);
      counts.push_back(end - begin);
      Window before{.first = rows.window(begin).first};
      for (int64_t output = begin; output < end; ++output) {
        const Window window = rows.window(output);
        add_moves(before, window);
        before = window;
      }
    }
    const int task = b_.add_task("rows", bands);
    const Value begin = b_.param(Param::Role::begin, task);
    const Value iv = b_.begin_loop(b_.param(Param::Role::count, task)).iv;
    const Value number = b_.iadd(begin, iv);
    Band band{b_.imul(number, b_.iconst(size)), no_value, cursor};
    Address count = table(std::move(counts));
    low_.move(count, number, entry_bytes);
    band.outputs = b_.iload(count);
    low_.for_each_output(band.cursor, [&](Address& address, const View& view) {
      low_.move(address, band.first, byte_stride(view, view.strides[0]));
    });
    return band;
  }

  Address table(std::vector<int64_t> entries) {
    return {b_.param(Param::Role::table, b_.add_table(std::move(entries))), {}, 0};
  }

  // From the rows of one window to those of the next, which go on.
  void add_moves(const Window& from, const Window& to) {
    const int64_t leaving = to.first - from.first, end = from.first + from.taps;
    const int64_t entering = to.first + to.taps - end, pairs = std::min(leaving, entering);
    const Moves moves{pairs,      from.first, end, leaving - pairs, from.first + pairs, entering - pairs,
                      end + pairs};
    moves_.insert(moves_.end(), {moves.pairs, moves.leaving, moves.entering, moves.leaves,
                                 moves.leaving_alone, moves.enters, moves.entering_alone});
  }

  // A row of the image that is added to the columns' sums or taken off, and where the first such is listed.
  struct Taken {
    Op op;
    Address first;
  };
  // So many rows of each of `taken`, in this order, so that no sum is larger than a window's.
  void take(const Address& image, const Address& how_many, const std::vector<Taken>& taken) {
    const Stretch& all = segment_.columns;
    const int64_t row_bytes = byte_stride(nest_.input, nest_.input.strides[0]);
    const Value count = b_.iload(how_many);
    std::vector<Address> rows;
    for (const Taken& each : taken) {
      rows.push_back(plus(image, byte_stride(nest_.input, all.first * nest_.input.strides[1])));
      low_.move(rows.back(), b_.iload(each.first), row_bytes);
    }
    const Builder::Loop row = b_.begin_loop(count);
    for (Address& each : rows) each = plus(each, row.iv, row_bytes);
    const Address columns = plus(lines_[0], 2 * all.before);
    const auto step = [&](int64_t first, Value iv, int lanes) {
      const auto here = [&](const Address& line, int64_t bytes) {
        const Address from = plus(line, first * bytes);
        return iv == no_value ? from : plus(from, iv, wide_ * bytes);
      };
      const Address to = here(columns, 2);
      Value sums = b_.load(Type::vec(narrow_, lanes), to);
      for (size_t i = 0; i < taken.size(); ++i) {
        const Value taps = b_.load(Type::vec(nest_.input.dtype, lanes), here(rows[i], 1));
        sums = b_.binary(taken[i].op, sums, b_.cvt(narrow_, taps));
      }
      b_.store(to, sums);
    };
    if (all.inside >= wide_) {
      const Builder::Loop loop = b_.begin_loop(b_.iconst(all.inside / wide_));
      step(0, loop.iv, wide_);
      b_.end_loop();
    }
    // No column twice.
    int64_t done = all.inside / wide_ * wide_;
    for (int lanes = wide_ / 2; lanes > 0; lanes /= 2) {
      if (done + lanes > all.inside) continue;
      step(done, no_value, lanes);
      done += lanes;
    }
    b_.end_loop();
  }

  void pass_over() {
    const Type type = Type::vec(narrow_, wide_);
    for (const ColumnPasses::Pass& pass : passes_.passes()) {
      const Builder::Loop loop = b_.begin_loop(b_.iconst(pass.vectors));
      const Address from = plus(lines_[pass.from], loop.iv, 2 * wide_);
      const Value first = b_.load(type, from);
      const Value second = b_.load(type, plus(from, 2 * pass.offset));
      b_.store(plus(lines_[pass.to], loop.iv, 2 * wide_), b_.binary(Op::add, first, second));
      b_.end_loop();
    }
  }

  void store(const Cursor& cursor) {
    reducer_.plan(1, nest_.dims[1].most_taps());
    for (const TileLoop& tiles : segment_.tiles) {
      const Value iv = tiles.count > 1 ? b_.begin_loop(b_.iconst(tiles.count)).iv : no_value;
      for (const Tile& tile : tiles.tiles) {
        Cursor at = cursor;
        low_.for_each_output(at, [&](Address& address, const View& view) {
          address = plus(address, byte_stride(view, tile.begin * view.strides[1]));
          if (iv != no_value) address = plus(address, iv, byte_stride(view, tiles.outputs * view.strides[1]));
        });
        low_.store(at, {sum_of(tile, iv, tiles.outputs)}, column_lanes(segment_.nest, tile));
      }
      if (iv != no_value) b_.end_loop();
    }
  }

  // Terms are added in 16 bits as far as these hold the sum.
  Value sum_of(const Tile& tile, Value iv, int64_t outputs) {
    const std::vector<ColumnPasses::Term>& terms = passes_.terms();
    const NestDim& row = nest_.dims[1];
    const int64_t most = columns_that_fit(nest_);
    Value all = no_value, part = no_value;
    int64_t columns = 0;  // in the part
    const auto finish_part = [&] {
      const Value whole = is_short_ ? part : b_.cvt(DType::i32, part);
      all = all == no_value ? whole : b_.binary(Op::add, all, whole);
    };
    for (size_t i = 0; i < terms.size(); ++i) {
      const int64_t end = i + 1 < terms.size() ? terms[i + 1].offset : row.kernel * row.dilation;
      const int64_t taps = (end - terms[i].offset) / row.dilation;
      Address from = plus(lines_[terms[i].line], 2 * (tile.begin + terms[i].offset));
      if (iv != no_value) from = plus(from, iv, 2 * outputs);
      const Value term = b_.load(Type::vec(narrow_, tile.lanes), from);
      if (part != no_value && columns + taps > most) {
        finish_part();
        part = no_value;
      }
      columns = part == no_value ? taps : columns + taps;
      part = part == no_value ? term : b_.binary(Op::add, part, term);
    }
    finish_part();
    return all;
  }

  const PoolNest& nest_;
  const RowSegment& segment_;
  const bool is_short_;  // the reducer's sums have 16 bits
  const int wide_;       // lanes of 16 bits
  const DType narrow_;
  const ColumnPasses passes_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  std::vector<Address> lines_;  // in scratch memory
  std::vector<int64_t> moves_;
};

}  // namespace

bool can_roll_sums(const PoolNest& rows, const RowPassesSchedule& schedule, const ReductionFacts& facts) {
  const bool is_byte = rows.input.dtype == DType::u8 || rows.input.dtype == DType::i8;
  if (!is_byte || !rows.is_sum() || rows.quantization || !facts.any_order || schedule.rows_together != 1 ||
      rows.dims.size() != 2)
    return false;
  const NestDim& down = rows.dims[0];
  if (down.kind != DimKind::pool || down.dilation != 1 || down.stride >= down.kernel ||
      down.output > most_rows || columns_that_fit(rows) < 2)
    return false;
  const NestDim& row = rows.dims[1];
  const int64_t positions = row.output + (row.kernel + 1) * row.dilation + 8 * schedule.lanes;
  if ((doublings(rows) + 1) * 2 * positions > most_scratch_bytes) return false;
  const Result<DType> sum = accumulator(rows);
  if (!sum || *sum != DType::i32) return false;
  const std::vector<Run> all = runs(down);
  return std::none_of(all.begin(), all.end(), [](const Run& run) { return run.window.taps == 0; });
}

void emit_rolling_sums(const PoolNest& rows, const RowPassesSchedule& schedule, const RowSegment& segment,
                       Builder& builder, Reducer& reducer) {
  RollingSums(rows, schedule, segment, builder, reducer).emit();
}

}  // namespace pooljit::ir
