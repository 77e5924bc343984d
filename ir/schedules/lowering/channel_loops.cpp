// Lowering: loops over channels, one at a time.
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

// Blocks of channels, and the channels of each; what is read has no blocks.
int Lowering::open_channel_blocks(Cursor& cursor) {
  const int64_t block = nest_.output.channel_block;
  const Step weight = channel_weight();
  const int number = b_.add_task("c", ceil_div(nest_.channels, block));
  const Value begin = b_.param(Param::Role::begin, number);
  const auto to_next = [&](const View& view, int64_t channels) -> Step {
    if (view.channel_block > 1 && channels < block) return byte_stride(view, channels);
    return channels_step(view, channels);
  };
  move(cursor.input, begin, to_next(nest_.input, block));
  for_each_output(cursor,
                  [&](Address& address, const View& view) { move(address, begin, to_next(view, block)); });
  if (beside_) move(cursor.beside, begin, to_next(*beside_, block));
  cursor.index = add_product(cursor.index, begin, times(weight, block));
  const auto open = [&](Value count, int64_t channels) {
    const Value iv = b_.begin_loop(count).iv;
    cursor.input = further_by(cursor.input, iv, to_next(nest_.input, channels), 1);
    for_each_output(cursor, [&](Address& address, const View& view) {
      address = further_by(address, iv, to_next(view, channels), 1);
    });
    if (beside_) cursor.beside = further_by(cursor.beside, iv, to_next(*beside_, channels), 1);
    cursor.index = add_product(cursor.index, iv, times(weight, channels));
    return iv;
  };
  const Value number_of_block = b_.iadd(begin, open(b_.param(Param::Role::count, number), block));
  Value count = b_.iconst(block);
  if (nest_.channels % block != 0)
    count = b_.imin(count, b_.iadd(b_.iconst(nest_.channels), b_.imul(number_of_block, b_.iconst(-block))));
  open(count, 1);
  return 2;
}

int Lowering::open_channels(Cursor& cursor) {
  if (nest_.output.channel_block > 1) return open_channel_blocks(cursor);
  return open_task(cursor, "c", nest_.channels, &Lowering::channel_step, channel_weight());
}

void Lowering::add_channels(Cursor& cursor, int64_t begin, Value iv, int64_t step) {
  if (!nest_.indices) return;
  if (begin != 0) cursor.index = add_product(cursor.index, b_.iconst(begin), channel_weight());
  if (iv != no_value) cursor.index = add_product(cursor.index, iv, times(channel_weight(), step));
}

void Lowering::add_columns(Cursor& cursor, Value iv, int64_t step) {
  if (nest_.indices && !rule_.of_window)
    cursor.index = add_product(cursor.index, iv, rule_.dims.back() * step);
}

// Channel by channel, a plane's stores would touch every line of an output whose channels are adjacent: each
// line once for each channel. Row by row, the lines of a row stay in the cache until all channels are done.
bool Lowering::takes_rows_first(size_t dims, bool does_gaps) const {
  const int64_t column = nest_.output.strides.back();
  for (size_t i = 0; i < dims; ++i)
    if (does_gaps && leave_gaps(i)) return false;
  return dims > 0 && nest_.channels > 1 && !nest_.has_any_size() && channel_stride(nest_.output) < column;
}

}  // namespace pooljit::ir
