// Lowering: strides of views, constants in code for one size, words of the size in code for all.
#include <algorithm>

#include "ir/check.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

bool follows_extents(const View& view) {
  return view.strides.back() != 0 && view.channel_stride > view.strides.back();
}

Value Lowering::word(int number) {
  return b_.iload({b_.param(Param::Role::size), {}, number * int64_t{sizeof(int64_t)}});
}

int Lowering::number_of(const View& view) const {
  if (&view == &nest_.input) return SizeLayout::input;
  if (&view == &nest_.output) return SizeLayout::output;
  if (nest_.indices && &view == &*nest_.indices) return SizeLayout::indices;
  if (beside_ && &view == &*beside_)
    return nest_.indices ? SizeLayout::indices
                         : SizeLayout::first_operand + static_cast<int>(operands_.size());
  POOLJIT_CHECK(&view >= operands_.data() && &view < operands_.data() + operands_.size(),
                "a view of another nest");
  return SizeLayout::first_operand + static_cast<int>(&view - operands_.data());
}

// Of code for all sizes, the innermost dimension's stride is a constant, as are those of 0.
std::vector<Step> Lowering::steps_of(const View& view) {
  std::vector<Step> steps;
  for (size_t dim = 0; dim < view.strides.size(); ++dim) {
    Step step = byte_stride(view, view.strides[dim]);
    if (dim + 1 < view.strides.size() && step.constant != 0)
      step = {0, word(layout_.position(number_of(view), dim))};
    steps.push_back(step);
  }
  return steps;
}

Step Lowering::step(const View& view, size_t dim) const {
  if (!nest_.has_any_size()) return byte_stride(view, view.strides[dim]);
  return steps_[static_cast<size_t>(number_of(view))][dim];
}

Step Lowering::batch_step(const View& view) {
  const int64_t bytes = byte_stride(view, view.batch_stride);
  if (!nest_.has_any_size() || bytes == 0) return bytes;
  return {0, word(layout_.batch(number_of(view)))};
}

Step Lowering::channel_step(const View& view) {
  if (!nest_.has_any_size() || !follows_extents(view)) return byte_stride(view, view.channel_stride);
  return {0, word(layout_.channel(number_of(view)))};
}

Step Lowering::channels_step(const View& view, int64_t channels) {
  if (!nest_.has_any_size() || !follows_extents(view)) return channel_bytes(view, channels);
  return times(channel_step(view), channels / view.channel_block);
}

Address Lowering::at_channel(const Address& address, const View& view, int64_t channel) {
  const int64_t blocks = channel / view.channel_block;
  if (!nest_.has_any_size() || !follows_extents(view) || blocks == 0)
    return plus(address, channel_bytes(view, channel));
  if (view.channel_block == 1) return Address{b_.ptradd(address, channels_step(view, channel).word), {}, 0};
  const Value further = blocks_[static_cast<size_t>(number_of(view))].at(static_cast<size_t>(blocks - 1));
  return Address{b_.ptradd(address, further), {}, byte_stride(view, channel % view.channel_block)};
}

void Lowering::hold_blocks(int64_t channels) {
  const auto hold = [&](const View& view) {
    if (view.channel_block == 1 || !follows_extents(view)) return;
    const Step block = channel_step(view);
    std::vector<Value>& held = blocks_[static_cast<size_t>(number_of(view))];
    for (int64_t blocks = 1; blocks * view.channel_block < channels; ++blocks)
      held.push_back(times(block, blocks).word);
  };
  hold(nest_.input);
  hold(nest_.output);
  if (nest_.indices) hold(*nest_.indices);
  std::ranges::for_each(operands_, hold);
  if (nest_.is_norm_gradient()) hold(*beside_);
}

void Lowering::move_blocks(Cursor& cursor, Value count, int64_t channels) {
  const auto move_by = [&](Address& address, const View& view) {
    move(address, count, channels_step(view, channels));
  };
  move_by(cursor.input, nest_.input);
  for_each_output(cursor, move_by);
  if (beside_) move_by(cursor.beside, *beside_);
  add_channels(cursor, 0, count, channels);
}

Step Lowering::times(const Step& step, int64_t positions) {
  if (step.word == no_value) return step.constant * positions;
  return {0, b_.imul(step.word, b_.iconst(positions))};
}

Address Lowering::further_by(const Address& address, Value iv, Step step, int64_t positions) {
  if (step.word == no_value || positions == 0) return plus(address, iv, step.constant * positions);
  const Value each = b_.imul(step.word, b_.iconst(positions));
  return Address{b_.ptradd(address, b_.imul(iv, each)), {}, 0};
}

}  // namespace pooljit::ir
