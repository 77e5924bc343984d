// Columns: what the positions along a dimension stand for while they are reduced, in registers or in scratch
// memory.
#pragma once

#include <functional>
#include <utility>

#include "ir/schedules/place.h"

namespace pooljit::ir {

// One Value for each of the vectors that are done side by side.
using Column = boost::container::small_vector<Value, 4>;

// Columns in scratch memory.
class ScratchLine {
 public:
  ScratchLine(Builder& builder, Type type, size_t vectors, Address first)
      : b_(builder), type_(type), vectors_(vectors), first_(std::move(first)) {}

  int64_t column_bytes() const { return static_cast<int64_t>(vectors_) * type_.vector_bytes(); }
  // Beginning so many bytes further on.
  ScratchLine from(Address first) const { return {b_, type_, vectors_, std::move(first)}; }
  const Address& first() const { return first_; }
  // bytes: from position to position.
  Column load(const Place& place, int64_t bytes) const;
  void store(const Place& place, int64_t bytes, const Column& column) const;
  Column load(const Place& place) const { return load(place, column_bytes()); }
  void store(const Place& place, const Column& column) const { store(place, column_bytes(), column); }

 private:
  Address further(Address address, size_t vectors) const;

  Builder& b_;
  Type type_;
  size_t vectors_;
  Address first_;
};

}  // namespace pooljit::ir
