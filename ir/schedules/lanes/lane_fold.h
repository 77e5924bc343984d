// Lane fold: reduces the lanes of several vectors into one. Lane i of the result is the reduction of all
// lanes of vector i. Two vectors are folded at a time: one join reduces half of the lanes of both with the
// other half.
#pragma once

#include <functional>
#include <vector>

#include "ir/builder.h"

namespace pooljit::ir {

class LaneFold {
 public:
  // Joins two vectors lane by lane; in which order does not matter.
  using Join = std::function<Value(Value, Value)>;
  LaneFold(Builder& builder, Join join) : b_(builder), join_(std::move(join)) {}

  // All of one type, whose lanes are a power of two.
  void add(Value vector);
  // The result has as many lanes as the next power of two from the number of vectors on. Lanes beyond the
  // number of vectors are anything.
  Value finish();

 private:
  // Lane p * vectors + v is part p of the fold of vector v.
  struct Folded {
    Value value;
    int vectors;
  };
  Folded merge(const Folded& a, const Folded& b);

  Builder& b_;
  const Join join_;
  std::vector<Folded> folded_;  // of ever fewer vectors
};

}  // namespace pooljit::ir
