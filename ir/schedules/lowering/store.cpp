// Lowering: storing values and indices.
#include <algorithm>
#include <bit>

#include "ir/check.h"
#include "ir/lane_list.h"
#include "ir/passes/legal.h"
#include "ir/reductions/epilogue.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {
namespace {

// Elements from one lane to the next.
int64_t lane_stride(const View& view, const Lanes& lanes) {
  return lanes.are_columns ? view.strides.back() : channel_stride(view);
}

}  // namespace

int64_t length_of_stores(const PoolNest& nest, const Lanes& lanes) {
  constexpr int64_t instructions_per_lane = 2;
  int64_t lanes_apart = 0;
  const auto count = [&](const View& view) {
    const int64_t stride = lane_stride(view, lanes);
    if (stride > 1 && lanes.count > 1) lanes_apart += lanes.count;
  };
  count(nest.output);
  if (nest.indices && !nest.is_backward()) count(*nest.indices);
  std::ranges::for_each(operands_like_output(nest), count);
  return instructions_per_lane * lanes_apart;
}

Cursor Lowering::further(const Cursor& cursor, size_t dim, int64_t outputs) const {
  POOLJIT_CHECK(dim < nest_.dims.size(), "no such dimension to go further along");
  Cursor at = cursor;
  const int64_t positions = outputs * nest_.dims[dim].period().input;
  at.input = plus(at.input, byte_stride(nest_.input, nest_.input.strides[dim] * positions));
  for_each_output(at, [&](Address& address, const View& view) {
    address = plus(address, byte_stride(view, view.strides[dim] * outputs));
  });
  return at;
}

Cursor Lowering::taps_from(const Cursor& cursor, size_t dim, int64_t first, int64_t count) const {
  Cursor at = cursor;
  const int64_t positions = first * nest_.dims[dim].tap_step();
  at.input = plus(at.input, byte_stride(nest_.input, nest_.input.strides[dim] * positions));
  at.windows[dim].taps = b_.iconst(count);
  return at;
}

Address Lowering::along(Address address, const Position& position, const Step& step) const {
  if (step.word == no_value) return at(std::move(address), position, step.constant);
  const Value bytes = b_.imul(as_index(b_, position), step.word);
  return Address{b_.ptradd(address, bytes), {}, 0};
}

Cursor Lowering::at_input(const Cursor& cursor, size_t dim, const Position& position) const {
  Cursor moved = cursor;
  moved.input = along(moved.input, position, step(nest_.input, dim));
  return moved;
}

Cursor Lowering::further_outputs(const Cursor& cursor, size_t dim, const Position& position) const {
  Cursor moved = cursor;
  for_each_output(moved, [&](Address& address, const View& view) {
    address = along(address, position, step(view, dim));
  });
  return moved;
}

Cursor Lowering::at_output(const Cursor& cursor, size_t dim, const Position& position, Value divisor_taps) {
  Cursor moved = further_outputs(cursor, dim, position);
  WindowAt window = usual_window(dim);
  window.divisor_taps = divisor_taps;
  moved.windows.push_back(window);
  return moved;
}

void Lowering::store(const Cursor& cursor, const State& state, const Lanes& lanes) {
  Divisor divisor{b_.iconst(1), lanes.divisor_taps, lanes.counts};
  for (const WindowAt& window : cursor.windows) divisor.rows = b_.imul(divisor.rows, window.divisor_taps);
  if (lanes.divisor != no_value) divisor.rows = b_.imul(divisor.rows, lanes.divisor);
  const auto operand = [&](size_t number) {
    return load_operand(cursor.operands[number], operands_[number], lanes);
  };
  const State whole = nest_.is_norm_gradient() ? reducer_.at_input(state, operand(0)) : state;
  const Value value = through_epilogue(b_, nest_, reducer_.finish(whole, divisor), operand);
  store_lanes(cursor.output, value, lane_step(nest_.output, lanes), lanes.stored,
              valid_mask(b_.type(value), lanes, 0));
  if (writes_indices()) store_indices(cursor, reducer_.winner(state), lanes);
}

// Which of the lanes from this one on are stored; no_value where all are, or the constant mask says it.
Value Lowering::valid_mask(const Type& type, const Lanes& lanes, int begin) {
  if (lanes.valid == no_value) return no_value;
  const bool is_known = begin == 0 && lanes.valid_mask != no_value;
  if (is_known && b_.type(lanes.valid_mask) == type.mask_of()) return lanes.valid_mask;
  return mask_of(type, lanes.valid, begin, lanes.skipped);
}

Value Lowering::mask_of(const Type& type, Value valid, int begin, Value skipped) {
  const Type number = Type::vec(signed_of(type.dtype), type.lanes);
  const Value end = b_.splat(number, valid);
  const LaneList lanes = lanes_from(begin, type.lanes);
  const Value numbers = b_.vconst(number, {lanes.begin(), lanes.end()});
  const Value mask = b_.cmp(Predicate::gt, end, numbers);
  if (skipped == no_value) return mask;
  const Value before = b_.splat(number, b_.iadd(skipped, b_.iconst(-1)));
  return b_.binary(Op::and_, b_.cmp(Predicate::gt, numbers, before), mask);
}

// Between lanes, in bytes: a word of the size between planes.
Step Lowering::lane_step(const View& view, const Lanes& lanes) {
  const bool are_planes = !lanes.are_columns && view.channel_block == 1 && follows_extents(view);
  return nest_.has_any_size() && are_planes ? channel_step(view)
                                            : Step(byte_stride(view, lane_stride(view, lanes)));
}

// The addresses of lanes, which are asked for in their order.
std::function<Address(int64_t lane)> Lowering::lane_addresses(const Address& first, const Step& step) {
  return [this, step, at = first, reached = int64_t{0}](int64_t lane) mutable {
    if (step.word == no_value) return plus(at, lane * step.constant);
    for (; reached < lane; ++reached) at = {b_.ptradd(at, step.word), {}, 0};
    return at;
  };
}

void Lowering::store_lanes(const Address& to, Value value, const Step& step,
                           const std::vector<int64_t>& stored, Value mask) {
  const Type type = b_.type(value);
  if (type.lanes > 1 && (step.word != no_value || step.constant != bytes(type.dtype)))
    return store_apart(b_, value, stored, lane_addresses(to, step));
  if (!stored.empty() && !has_masked_access(b_.isa(), type.dtype))
    return store_first(to, value, std::ranges::count(stored, 1));
  if (!stored.empty()) mask = b_.vmask(type.mask_of(), stored);
  b_.store(to, value, mask);
}

// In vectors of fewer and fewer lanes.
void Lowering::store_first(const Address& to, Value value, int64_t count) {
  const Type type = b_.type(value);
  for (int64_t done = 0; done < count;) {
    const auto lanes = static_cast<int>(std::bit_floor(static_cast<uint64_t>(count - done)));
    b_.store(plus(to, done * bytes(type.dtype)), following_lanes(b_, value, no_value, done, lanes));
    done += lanes;
  }
}

// An element that a view repeats along the lanes is loaded once; lanes that are not stored are 0.
Value Lowering::load_operand(const Address& address, const View& view, const Lanes& lanes) {
  const Type type = Type::vec(view.dtype, lanes.count);
  const Step step = lane_step(view, lanes);
  if (step.word != no_value && lanes.count > 1)
    return load_apart(b_, type, lanes.stored, 0, lane_addresses(address, step));
  const int64_t stride = lane_stride(view, lanes);
  const bool may_mask = lanes.stored.empty() && (stride == 1 || lanes.count == 1);
  if (const Value mask = may_mask ? valid_mask(type, lanes, 0) : no_value; mask != no_value)
    return b_.load(type, address, mask, b_.vconst_splat(type, 0));
  return load_lanes(b_, type, address, stride, lanes.stored, 0);
}

// Index of the origin of lane 0's window.
Value Lowering::index_of_lane_zero(const Cursor& cursor, const Lanes& lanes) {
  Value index = lanes.origin == no_value ? cursor.index : b_.iadd(cursor.index, lanes.origin);
  for (size_t i = 0; i < cursor.windows.size(); ++i) {
    const Value position = rule_.of_window ? cursor.windows[i].first_tap : cursor.windows[i].first;
    index = b_.iadd(index, b_.imul(position, index_weight(i)));
  }
  return index;
}

Step Lowering::channel_weight() {
  if (!nest_.indices) return 0;
  const bool are_planes = nest_.has_any_size() && nest_.index_scope == IndexScope::tensor;
  return are_planes ? Step{0, word(layout_.index_channel())} : Step{rule_.channel};
}

Step Lowering::column_weight() {
  if (nest_.has_any_size() && nest_.column_major) return {0, index_weight(nest_.dims.size() - 1)};
  return ir::index_rule(nest_).dims.back();
}

Value Lowering::index_weight(size_t dim) {
  return counts_in_stand_ins() ? word(layout_.of_dim(dim, SizeLayout::weight)) : b_.iconst(rule_.dims[dim]);
}

// 1 if every opened window has a tap, else 0; iconst 1 where none can be empty.
Value Lowering::any_tap(const Cursor& cursor) {
  Value any = b_.iconst(1);
  for (size_t i = 0; i < cursor.windows.size(); ++i)
    if (plans_[i].may_be_empty) any = b_.imul(any, b_.imin(b_.iconst(1), cursor.windows[i].taps));
  return any;
}

// Offsets in the plane of the stand-ins become offsets in the size's: each time that one passes a row's end
// (a plane's, ...), as many more as the size's row is longer. Taps of a window lie less than 2^31 apart.
Value Lowering::plane_offset(Value offset) {
  const Type type = b_.type(offset);
  Value sum = no_value;
  for (size_t i = rule_.dims.size(); i-- > 0;) {
    const bool is_nhwc = nest_.index_scope == IndexScope::nhwc || nest_.index_scope == IndexScope::nhwc_batch;
    const bool is_one = i + 1 == rule_.dims.size() && !is_nhwc && !nest_.column_major;
    const Value carry = is_one ? no_value : b_.splat(type, word(layout_.of_dim(i, SizeLayout::carry)));
    const int places = std::countr_zero(static_cast<uint64_t>(rule_.dims[i]));
    const Value passed = places == 0 ? offset : b_.shift(Op::shr, offset, places);
    const Value part = is_one ? passed : b_.binary(Op::mul, passed, carry);
    sum = sum == no_value ? part : b_.binary(Op::add, sum, part);
  }
  return sum;
}

// The offsets of the winners stay narrow until here. They are put together in lanes of the stored dtype, or
// in those of the offsets if that is narrower.
void Lowering::store_indices(const Cursor& cursor, Value winner, const Lanes& lanes) {
  const DType stored = nest_.indices->dtype;
  const DType dtype = bytes(stored) < 4 ? b_.type(winner).dtype : stored;
  const int chunk = std::min(lanes.count, info(b_.isa()).vector_bytes / bytes(dtype));
  const Type type = Type::vec(dtype, chunk);
  const bool is_narrow = bytes(b_.type(winner).dtype) < 4;
  if (!is_narrow && counts_in_stand_ins()) winner = plane_offset(winner);
  const Value origin = b_.splat(type, index_of_lane_zero(cursor, lanes));
  Value any = any_tap(cursor);
  if (lanes.any != no_value) any = b_.imul(any, lanes.any);
  const auto part_of = [&](const std::vector<int64_t>& all, int begin) {
    return std::vector<int64_t>(all.begin() + begin, all.begin() + begin + chunk);
  };
  for (int begin = 0; begin < lanes.count; begin += chunk) {
    const Value half = chunk == lanes.count ? winner : following_lanes(b_, winner, no_value, begin, chunk);
    const Value offset = is_narrow && counts_in_stand_ins() ? plane_offset(b_.cvt(DType::i32, half)) : half;
    Value index = b_.binary(Op::add, b_.cvt(dtype, offset), origin);
    if (!lanes.ramp.empty()) {
      Value ramp = b_.vconst(type, part_of(lanes.ramp, begin));
      if (lanes.ramp_unit != no_value) ramp = b_.binary(Op::mul, ramp, b_.splat(type, lanes.ramp_unit));
      index = b_.binary(Op::add, index, ramp);
    }
    if (!b_.constant(any)) {  // all ones where the window is empty: -1
      index = b_.binary(Op::and_, index, b_.splat(type, b_.imul(any, b_.iconst(-1))));
      index = b_.binary(Op::or_, index, b_.splat(type, b_.iadd(any, b_.iconst(-1))));
    }
    if (!lanes.empty.empty()) {
      const Value is_empty = b_.vmask(type.mask_of(), part_of(lanes.empty, begin));
      index = b_.select(is_empty, b_.vconst_splat(type, -1), index);
    }
    index = b_.cvt(stored, index);
    const Type type_of_index = b_.type(index);
    const Step step = lane_step(*nest_.indices, lanes);
    const Address first = step.word == no_value
                              ? plus(cursor.indices, begin * step.constant)
                              : Address{b_.ptradd(cursor.indices, times(step, begin).word), {}, 0};
    store_lanes(first, index, step,
                lanes.stored.empty() ? std::vector<int64_t>() : part_of(lanes.stored, begin),
                valid_mask(type_of_index, lanes, begin));
  }
}

}  // namespace pooljit::ir
