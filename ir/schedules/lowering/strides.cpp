// Lowering: how far elements lie apart. Constants of code for one size, words of the size in code for all.
#include "ir/check.h"
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
  POOLJIT_CHECK(&view >= operands_.data() && &view < operands_.data() + operands_.size(),
                "a view of another nest");
  return SizeLayout::first_operand + static_cast<int>(&view - operands_.data());
}

// Of code for all sizes, the innermost dimension's stride is a constant, as are those of 0.
Step Lowering::step(const View& view, size_t dim) {
  const int64_t bytes = byte_stride(view, view.strides[dim]);
  if (!nest_.has_any_size() || dim + 1 == nest_.dims.size() || bytes == 0) return bytes;
  return {0, word(layout_.position(number_of(view), dim))};
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

// From tap to tap of the input.
Step Lowering::tap_step(size_t dim) {
  const Step from = step(nest_.input, dim);
  const int64_t positions = nest_.dims[dim].tap_step();
  if (from.word == no_value) return from.constant * positions;
  return {0, b_.imul(from.word, b_.iconst(positions))};
}

Address Lowering::further_by(const Address& address, Value iv, Step step, int64_t positions) {
  if (step.word == no_value || positions == 0) return plus(address, iv, step.constant * positions);
  const Value each = b_.imul(step.word, b_.iconst(positions));
  return Address{b_.ptradd(address, b_.imul(iv, each)), {}, 0};
}

}  // namespace pooljit::ir
