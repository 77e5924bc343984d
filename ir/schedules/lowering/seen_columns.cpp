#include "ir/schedules/lowering/seen_columns.h"

#include <algorithm>

#include "ir/lane_list.h"

namespace pooljit::ir {
namespace {

// Lanes of bytes hold it, and no vector has more lanes.
constexpr int64_t most_lanes = 127;

}  // namespace

void SeenColumns::hold(const Type& type, const std::vector<int64_t>& starts, size_t registers,
                       const Address& scratch) {
  const Type number = Type::vec(signed_of(type.dtype), type.lanes);
  for (const int64_t start : starts) {
    Column& here = held_.emplace_back(column(type, start));
    const Value seen = mask(type, here);
    if (starts.size() <= registers) {
      here.mask = seen;
      continue;
    }
    const Value ones = b_.vconst_splat(number, -1), zeros = b_.vconst_splat(number, 0);
    here.stored = plus(scratch, (std::ssize(held_) - 1) * type.vector_bytes());
    b_.store(*here.stored, b_.select(seen, ones, zeros));
  }
}

Value SeenColumns::load(const Type& type, const Address& row, int64_t start) {
  const auto known = std::ranges::find(held_, start, &Column::start);
  const Column here = known != held_.end() ? *known : column(type, start);
  const Value seen = here.mask == no_value ? mask(type, here) : here.mask;
  const Value outside = b_.vconst_splat(type, outside_);
  const Address address = plus(row, start * bytes(type.dtype));
  if (type.lanes > 1) return b_.load(type, address, seen, outside);
  const Value inside = b_.load(type, {b_.ptradd(address, here.begin), {}, 0});
  return b_.select(seen, inside, outside);
}

SeenColumns::Column SeenColumns::column(const Type& type, int64_t start) {
  const Value position = b_.iadd(first_, b_.iconst(start));
  const Value before = b_.imul(position, b_.iconst(-1));  // columns from here to the image
  const Value left = b_.iadd(visible_, before);           // ... to its end
  const Value zero = b_.iconst(0);
  if (type.lanes > 1) {
    const Value most = b_.iconst(most_lanes);
    const Value begin = b_.imin(b_.imax(before, zero), most);
    const Value end = b_.imin(b_.imax(left, zero), most);
    return {start, begin, end};
  }
  const Value one = b_.iconst(1);
  const Value to_last = b_.iadd(left, b_.iconst(-1));
  const Value moved = b_.imin(b_.imax(before, zero), to_last);
  const Value inside_by = b_.imin(b_.iadd(position, one), left);
  const Value is_seen = b_.imax(b_.imin(inside_by, one), zero);
  return {start, b_.imul(moved, b_.iconst(bytes(type.dtype))), is_seen};
}

Value SeenColumns::mask(const Type& type, const Column& column) {
  const Type number = Type::vec(signed_of(type.dtype), type.lanes);
  if (column.stored)
    return b_.cmp(Predicate::gt, b_.vconst_splat(number, 0), b_.load(number, *column.stored));
  if (type.lanes == 1) return b_.cmp(Predicate::gt, b_.splat(number, column.end), b_.vconst_splat(number, 0));
  const LaneList list = lanes_from(0, type.lanes);
  const Value lanes = b_.vconst(number, {list.begin(), list.end()});
  const Value before_begin = b_.splat(number, b_.iadd(column.begin, b_.iconst(-1)));
  const Value is_behind = b_.cmp(Predicate::gt, lanes, before_begin);
  const Value end = b_.splat(number, column.end);
  return b_.binary(Op::and_, is_behind, b_.cmp(Predicate::gt, end, lanes));
}

}  // namespace pooljit::ir
