#include "ir/schedules/lowering/seen_columns.h"

#include <algorithm>
#include <iterator>

#include "ir/check.h"
#include "ir/lane_list.h"

namespace pooljit::ir {
namespace {

// Lanes of bytes hold it, and no vector has more lanes.
constexpr int64_t most_lanes = 127;

}  // namespace

void SeenColumns::hold(DType dtype, const std::vector<Vector>& vectors, size_t registers,
                       const Address& scratch) {
  std::optional<Column> all;  // of those with as many lanes
  int64_t stored_bytes = 0;
  for (size_t i = 0; i < vectors.size(); ++i) {
    const Vector& vector = vectors[i];
    const Type type = Type::vec(dtype, vector.lanes), number = Type::vec(signed_of(dtype), vector.lanes);
    if (i == 0 || vectors[i - 1].lanes != vector.lanes) {
      const auto others = std::find_if(vectors.begin() + static_cast<int64_t>(i), vectors.end(),
                                       [&](const Vector& other) { return other.lanes != vector.lanes; });
      all = shared_columns(number, std::prev(others)->start + vector.lanes);
    }
    Column& here =
        held_.emplace_back(all               ? *all
                           : type.lanes == 1 ? one_lane(type, vector.start)
                                             : lanes_from_column(number, vector.start, most_lanes));
    here.vector = vector;
    const Value seen = mask(type, here);
    if (vectors.size() <= registers) {
      here.mask = seen;
      continue;
    }
    const Value ones = b_.vconst_splat(number, -1), zeros = b_.vconst_splat(number, 0);
    here.stored = plus(scratch, stored_bytes);
    stored_bytes += type.vector_bytes();
    b_.store(*here.stored, b_.select(seen, ones, zeros));
  }
}

// Counted from the first column, if lanes of a number hold that.
std::optional<SeenColumns::Column> SeenColumns::shared_columns(const Type& number, int64_t columns) {
  const bool is_common = columns <= most_lanes || bytes(number.dtype) > 1;
  if (number.lanes == 1 || !is_common) return std::nullopt;
  return lanes_from_column(number, 0, columns);
}

Value SeenColumns::load(const Type& type, const Address& row, int64_t start) {
  const auto here = std::ranges::find(held_, Vector{type.lanes, start}, &Column::vector);
  POOLJIT_CHECK(here != held_.end(), "a vector of columns that are not held");
  const Value seen = here->mask == no_value ? mask(type, *here) : here->mask;
  const Value outside = b_.vconst_splat(type, outside_);
  const Address address = plus(row, start * bytes(type.dtype));
  if (type.lanes > 1) return b_.load(type, address, seen, outside);
  const Value inside = b_.load(type, {b_.ptradd(address, here->begin), {}, 0});
  return b_.select(seen, inside, outside);
}

SeenColumns::Column SeenColumns::lanes_from_column(const Type& number, int64_t start, int64_t most) {
  const Value before = b_.imul(b_.iadd(first_, b_.iconst(start)), b_.iconst(-1));
  const Value left = b_.iadd(visible_, before);
  const Value zero = b_.iconst(0), limit = b_.iconst(most);
  const Value begin = b_.imin(b_.imax(before, zero), limit);
  const Value end = b_.imin(b_.imax(left, zero), limit);
  const Value before_begin = b_.splat(number, b_.iadd(begin, b_.iconst(-1)));
  return {{number.lanes, start}, start, before_begin, b_.splat(number, end)};
}

SeenColumns::Column SeenColumns::one_lane(const Type& type, int64_t start) {
  const Value position = b_.iadd(first_, b_.iconst(start));
  const Value before = b_.imul(position, b_.iconst(-1));  // columns from here to the image
  const Value left = b_.iadd(visible_, before);           // ... to its end
  const Value zero = b_.iconst(0);
  const Value one = b_.iconst(1);
  const Value to_last = b_.iadd(left, b_.iconst(-1));
  const Value moved = b_.imin(b_.imax(before, zero), to_last);
  const Value inside_by = b_.imin(b_.iadd(position, one), left);
  const Value is_seen = b_.imax(b_.imin(inside_by, one), zero);
  return {{type.lanes, start}, start, b_.imul(moved, b_.iconst(bytes(type.dtype))), is_seen};
}

Value SeenColumns::mask(const Type& type, const Column& column) {
  const Type number = Type::vec(signed_of(type.dtype), type.lanes);
  if (column.stored)
    return b_.cmp(Predicate::gt, b_.vconst_splat(number, 0), b_.load(number, *column.stored));
  if (type.lanes == 1) return b_.cmp(Predicate::gt, b_.splat(number, column.end), b_.vconst_splat(number, 0));
  const LaneList list = lanes_from(column.vector.start - column.origin, type.lanes);
  const Value lanes = b_.vconst(number, {list.begin(), list.end()});
  const Value is_behind = b_.cmp(Predicate::gt, lanes, column.begin);
  return b_.binary(Op::and_, is_behind, b_.cmp(Predicate::gt, column.end, lanes));
}

}  // namespace pooljit::ir
