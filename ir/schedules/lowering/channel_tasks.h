// ChannelTasks: blocks of channels as a dimension of tasks. A vector holds neighbouring channels; the
// vectors of a block are processed together. The channels after the last whole block are one more task.
#pragma once

#include <functional>

#include "ir/schedules/lanes/slices.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/windows/held_vectors.h"

namespace pooljit::ir {

// How channels are cut: what schedules of families share whose vectors run along the channels.
struct ChannelCut {
  int lanes = 1;
  int vectors_side_by_side = 1;
  Tail tail = Tail::mask;
};
template <typename Own>
ChannelCut channel_cut(const ScheduleOf<Own>& schedule) {
  return {schedule.lanes, schedule.vectors_side_by_side, schedule.tail};
}

// Errors: "schedule.strides", "schedule.tail", "schedule.together".
Result<void> check_channel_tasks(const PoolNest& nest, const ChannelCut& cut);

class ChannelTasks {
 public:
  ChannelTasks(const PoolNest& nest, const ChannelCut& cut, Builder& builder, Lowering& lowering);

  // Where the call's whole blocks begin, and where the tensor's channels begin, from which the rest is
  // counted.
  struct Origin {
    Cursor whole, first;
  };
  // The cursor stands at the first channel.
  Origin origin(const Cursor& cursor);

  // Vectors that are done side by side.
  struct Block {
    Cursor cursor;
    std::vector<Slice> side;  // of equal lanes, as they lie from the cursor on
    Position channel;         // the first: counted from the call's first, or, of the rest, from the tensor's
  };
  // Emits the code for the call's blocks: the whole ones in a loop, then the rest.
  using Body = std::function<void(const Block&)>;
  void for_each(const Origin& origin, const Body& body);

  // The cursor stands at a block.
  void store(const Cursor& cursor, const Lowering::States& states, const std::vector<Slice>& side);

 private:
  Step input_step();

  const PoolNest& nest_;
  const ChannelCut cut_;
  Builder& b_;
  Lowering& low_;
  const int64_t block_, whole_;
  Value begin_ = no_value, count_ = no_value, rest_ = no_value;
};

}  // namespace pooljit::ir
