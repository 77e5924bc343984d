// Partial results of the positions along a dimension: bundles of vectors, held in registers (HeldStates)
// or in scratch memory (ScratchLine).
#pragma once

#include <boost/container/small_vector.hpp>
#include <utility>

#include "ir/reductions/reducer.h"
#include "ir/schedules/windows/scan.h"

namespace pooljit::ir {

// Bundles of states whose lanes are not moved, as keys or as values.
class HeldStates {
 public:
  using States = boost::container::small_vector<State, 4>;

  HeldStates(Reducer& reducer, bool as_keys) : reducer_(reducer), as_keys_(as_keys) {}
  Bundle bundle(const States& states) const;
  States states(const Bundle& bundle, size_t count) const;
  Value join(Value earlier, Value later) const { return reducer_.join_held(earlier, later, as_keys_); }

 private:
  Reducer& reducer_;
  bool as_keys_;
};

// A line of bundles in scratch memory, one for each position.
class ScratchLine {
 public:
  ScratchLine(Builder& builder, Type type, size_t vectors, Address first)
      : b_(builder), type_(type), vectors_(vectors), first_(std::move(first)) {}

  int64_t position_bytes() const { return static_cast<int64_t>(vectors_) * type_.vector_bytes(); }
  // The same line, beginning at `first`.
  ScratchLine from(Address first) const { return {b_, type_, vectors_, std::move(first)}; }
  const Address& first() const { return first_; }
  // bytes: distance from position to position.
  Bundle load(const Position& position, int64_t bytes) const;
  void store(const Position& position, int64_t bytes, const Bundle& bundle) const;
  Bundle load(const Position& position) const { return load(position, position_bytes()); }
  void store(const Position& position, const Bundle& bundle) const {
    store(position, position_bytes(), bundle);
  }

 private:
  Address further(Address address, size_t vectors) const;

  Builder& b_;
  Type type_;
  size_t vectors_;
  Address first_;
};

}  // namespace pooljit::ir
