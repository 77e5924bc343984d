// Shared by reductions by addition: the accumulator and its type.
//
// Floats accumulate in float32, float64 in float64. Integers accumulate exactly: in int32, in int64 where the
// window could overflow it, and int64 itself in two digits.
#pragma once

#include "ir/reductions/reducer.h"

namespace pooljit::ir {

// Sums of int64 have two digits.
inline bool is_wide_sum(const PoolNest& nest) { return nest.input.dtype == DType::i64; }

// Size class of the sums in an accumulator.
ReductionFacts accumulated_facts(const PoolNest& nest, DType sum);

class SumReducer : public Reducer {
 public:
  SumReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts, DType sum);

  State start(const std::vector<int64_t>& first_tap) override;
  State accumulate(const State& state, Value loaded, const TapOffset& tap) override;
  State combine(const State& a, const State& b) override;

 protected:
  // The sum as a float; exact where the accumulator's values are numbers of that type.
  Value as_float(DType dtype, const State& state);
  // A sum of int64 is high * 2^32 + low, as the state {high, low}.
  bool is_wide() const { return is_wide_sum(nest_); }

  Builder& b_;
  const PoolNest& nest_;
  const DType sum_;
};

// The narrowest accumulator that is exact (integers) or that semantics asks for (floats). Fails where even
// int64 may overflow.
Result<DType> accumulator(const PoolNest& nest);

// The divisor of each lane; empty if they are not all known.
std::vector<int64_t> known_counts(const PoolNest& nest, const Builder& builder, const Divisor& divisor);

}  // namespace pooljit::ir
