// Columns: what the positions along a dimension stand for while they are reduced, in registers or in scratch
// memory.
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <utility>

#include "ir/reductions/reducer.h"
#include "ir/schedules/windows/position.h"

namespace pooljit::ir {

// What the vectors that are done side by side hold, one after the other.
using Column = Values;

// Two columns, joined vector by vector.
template <typename Join>
Column joined(const Column& earlier, const Column& later, const Join& join) {
  Column both;
  for (size_t i = 0; i < earlier.size(); ++i) both.push_back(join(earlier[i], later[i]));
  return both;
}

// Columns of states whose lanes stay where they are, as keys or values.
class StateColumns {
 public:
  using States = boost::container::small_vector<State, 4>;

  StateColumns(Reducer& reducer, bool as_keys) : reducer_(reducer), as_keys_(as_keys) {}
  Column column(const States& states) const;
  States states(const Column& column, size_t count) const;
  Value join(Value earlier, Value later) const { return reducer_.join_held(earlier, later, as_keys_); }

 private:
  Reducer& reducer_;
  bool as_keys_;
};

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
