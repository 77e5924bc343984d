// SeenColumns: in code for all sizes, the vectors of a tile whose windows may reach over the ends of the row,
// loaded without what lies outside the image: masked, or, of one lane, from the nearest column inside.
#pragma once

#include <optional>
#include <vector>

#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

class SeenColumns {
 public:
  // first: the column of the tile's origin; visible: how many the image has; outside: the bits of what stands
  // for an element elsewhere.
  SeenColumns(Builder& builder, Value first, Value visible, int64_t outside)
      : b_(builder), first_(first), visible_(visible), outside_(outside) {}

  // What loads of such vectors share is computed here, before the loops that load them: masks in registers,
  // if there are no more of them than these hold, else in scratch memory, from this place on.
  void hold(const Type& type, const std::vector<int64_t>& starts, size_t registers, const Address& scratch);
  // The vector that begins so many columns behind the tile's origin, where `row` stands.
  Value load(const Type& type, const Address& row, int64_t start);

 private:
  // Of the columns from `start` on. Of several lanes: those behind `begin` lie inside the image, up to `end`,
  // vectors of numbers that count from a column `origin`. Of one: how far its place is from the nearest
  // inside, in bytes; end: 1 if that is itself, else 0.
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
