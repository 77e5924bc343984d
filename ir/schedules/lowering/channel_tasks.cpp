#include "ir/schedules/lowering/channel_tasks.h"

#include <algorithm>

#include "ir/schedules/lanes/channel_blocks.h"

namespace pooljit::ir {

Result<void> check_channel_tasks(const PoolNest& nest, const ChannelCut& cut) {
  if (adjacent_channels(nest) < std::min<int64_t>(cut.lanes, nest.channels))
    return unsupported("schedule.strides", "lanes > 1 need channels that lie next to each other",
                       "use lanes=1");
  if (cut.tail == Tail::overlap)
    return unsupported("schedule.tail", "blocks of channels are tasks, which write nothing twice",
                       "use tail=mask or tail=split");
  if (int64_t{cut.vectors_side_by_side} * cut.lanes % largest_block(nest) != 0)
    return unsupported("schedule.together", "lanes * vectors_side_by_side must be whole blocks of channels",
                       "use other vectors_side_by_side");
  return {};
}

ChannelTasks::ChannelTasks(const PoolNest& nest, const ChannelCut& cut, Builder& builder, Lowering& lowering)
    : nest_(nest),
      cut_(cut),
      b_(builder),
      low_(lowering),
      block_(int64_t{cut.lanes} * cut.vectors_side_by_side),
      whole_(nest.channels / block_) {
  const bool has_rest = nest.channels % block_ != 0;
  const int task = b_.add_task("c", whole_ + (has_rest ? 1 : 0));
  begin_ = b_.param(Param::Role::begin, task);
  count_ = b_.param(Param::Role::count, task);
  if (!has_rest) return;
  const Value end = b_.iadd(begin_, count_);
  const Value zero = b_.iconst(0);
  rest_ = b_.imax(zero, b_.iadd(end, b_.iconst(-whole_)));
  count_ = b_.isub(count_, rest_);
}

// From block to block.
Step ChannelTasks::input_step() {
  if (!nest_.has_any_size()) return channel_bytes(nest_.input, block_);
  return low_.times(low_.channel_step(nest_.input), block_);
}

ChannelTasks::Origin ChannelTasks::origin(const Cursor& cursor) {
  Origin origin{cursor, cursor};
  low_.move(origin.whole.input, begin_, input_step());
  low_.for_each_output(origin.whole, [&](Address& address, const View& view) {
    low_.move(address, begin_, channel_bytes(view, block_));
  });
  return origin;
}

void ChannelTasks::for_each(const Origin& origin, const Body& body) {
  if (whole_ > 0) {
    const Value iv = b_.begin_loop(count_).iv;
    Block block{origin.whole, slices(0, block_, cut_.lanes, cut_.tail), Position{}.further(iv, block_)};
    block.cursor.input = low_.further_by(block.cursor.input, iv, input_step(), 1);
    low_.for_each_output(block.cursor, [&](Address& address, const View& view) {
      address = plus(address, iv, channel_bytes(view, block_));
    });
    body(block);
    b_.end_loop();
  }
  if (rest_ == no_value) return;
  b_.begin_loop(rest_);
  const std::vector<Slice> rest = slices(whole_ * block_, nest_.channels, cut_.lanes, cut_.tail);
  for (auto side = rest.begin(); side != rest.end();) {
    const auto other = std::find_if(side, rest.end(), [&](const Slice& s) { return s.lanes != side->lanes; });
    body({origin.first, {side, other}, {side->begin}});
    side = other;
  }
  b_.end_loop();
}

void ChannelTasks::store(const Cursor& cursor, const Lowering::States& states,
                         const std::vector<Slice>& side) {
  for (size_t i = 0; i < side.size(); ++i) {
    Cursor at = cursor;
    low_.for_each_output(at, [&](Address& address, const View& view) {
      address = plus(address, channel_bytes(view, side[i].begin));
    });
    low_.store(at, states[i], Lanes::channels(side[i].lanes, side[i].stored));
  }
}

}  // namespace pooljit::ir
