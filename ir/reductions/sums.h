// What reductions by addition share: the accumulator and its type.
//
// Floats accumulate in float32, float64 in float64. Integers accumulate exactly: in int32, in int64 where the
// window could overflow it, and int64 itself in two digits.
#pragma once

#include "ir/reductions/reducer.h"

namespace pooljit::ir {

class SumReducer : public Reducer {
 public:
  SumReducer(const PoolNest& nest, Builder& builder, DType sum);

  int working_bytes() const override;
  int extra_registers() const override;
  int64_t identity() const override { return 0; }
  bool is_split() const override { return is_float(sum_); }
  // Two digits are two states, which rows_first does not hold.
  bool any_order() const override { return !is_wide(); }
  State start(const std::vector<int64_t>& first_tap) override;
  State accumulate(const State& state, Value loaded, const TapOffset& tap) override;
  State combine(const State& a, const State& b) override;

 protected:
  // The sum as a float; exact where the accumulator's values are numbers of that type.
  Value as_float(DType dtype, const State& state);
  // A sum of int64 is high * 2^32 + low, as the state {high, low}.
  bool is_wide() const { return nest_.input.dtype == DType::i64; }

  Builder& b_;
  const PoolNest& nest_;
  const DType sum_;
};

// The narrowest accumulator that is exact (integers) or that semantics asks for (floats). Fails where even
// int64 may overflow.
Result<DType> accumulator(const PoolNest& nest);

}  // namespace pooljit::ir
