// SeenColumns: in code for all sizes, loads the vectors of a tile whose windows may reach beyond the ends
// of the row. Vectors are masked; a single lane is loaded from the nearest column inside the image.
#pragma once

#include <compare>
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

  // A vector that is loaded, which begins so many columns after the tile's origin.
  struct Vector {
    int lanes = 1;
    int64_t start = 0;
    auto operator<=>(const Vector&) const = default;  // NOLINT(modernize-use-nullptr): there is none
  };
  // Computes what the loads of such vectors share, before the loops that load them: masks. They stay in
  // registers if there are at most `registers` of them, else in scratch memory, from `scratch` on. Vectors of
  // as many lanes stand side by side.
  void hold(DType dtype, const std::vector<Vector>& vectors, size_t registers, const Address& scratch);
  // The vector that begins `start` columns after the tile's origin, where `row` stands.
  Value load(const Type& type, const Address& row, int64_t start);

 private:
  // Masks or address for the columns of a vector. Several lanes: `begin` and `end` are vectors of numbers
  // that count from a column `origin`; numbers greater than `begin`, up to `end`, are inside the image. One
  // lane: `begin` is the distance from the nearest column inside, in bytes; `end` is 1 if the lane itself is
  // inside, else 0.
  struct Column {
    Vector vector;
    int64_t origin = 0;
    Value begin = no_value, end = no_value;
    Value mask = no_value;
    std::optional<Address> stored = {};
  };
  std::optional<Column> shared_columns(const Type& number, int64_t columns);
  Column lanes_from_column(const Type& number, int64_t start, int64_t most);
  Column one_lane(const Type& type, int64_t start);
  Value mask(const Type& type, const Column& column);

  Builder& b_;
  const Value first_, visible_;
  const int64_t outside_;
  std::vector<Column> held_;
};

}  // namespace pooljit::ir
