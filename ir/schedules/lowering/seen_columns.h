// SeenColumns: in code for all sizes, loads the vectors of a tile whose windows may reach beyond the ends
// of the row. Vectors are masked; a single lane is loaded from the nearest column inside the image.
#pragma once

#include <optional>
#include <vector>

#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

class SeenColumns {
 public:
  // first: the column of the tile's origin; visible: how many columns the image has; outside: the bits of the
  // value that stands for an element outside.
  SeenColumns(Builder& builder, Value first, Value visible, int64_t outside)
      : b_(builder), first_(first), visible_(visible), outside_(outside) {}

  // Computes what the loads of such vectors share, before the loops that load them: masks. They stay in
  // registers if there are at most `registers` of them, else in scratch memory, from `scratch` on.
  void hold(const Type& type, const std::vector<int64_t>& starts, size_t registers, const Address& scratch);
  // The vector that begins `start` columns after the tile's origin, where `row` stands.
  Value load(const Type& type, const Address& row, int64_t start);

 private:
  // Masks or address for the columns from `start` on. Several lanes: `begin` and `end` are vectors of numbers
  // that count from a column `origin`; numbers greater than `begin`, up to `end`, are inside the image. One
  // lane: `begin` is the distance from the nearest column inside, in bytes; `end` is 1 if the lane itself is
  // inside, else 0.
  struct Column {
    int64_t start = 0, origin = 0;
    Value begin = no_value, end = no_value;
    Value mask = no_value;
    std::optional<Address> stored = {};
  };
  Column lanes_from_column(const Type& number, int64_t start, int64_t most);
  Column one_lane(const Type& type, int64_t start);
  Value mask(const Type& type, const Column& column);

  Builder& b_;
  const Value first_, visible_;
  const int64_t outside_;
  std::vector<Column> held_;
};

}  // namespace pooljit::ir
