// RollAnySize: all outputs along one dimension with a RollingWindow, in code for all sizes. Outputs in the
// middle read positions of the input as they are; the others first test for each position whether it is
// inside the image. Sums and maxima join positions in the same order as RollingOutputs in code for one
// size.
#pragma once

#include <functional>

#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/windows/rolling_outputs.h"

namespace pooljit::ir {

// The words of a dimension (SizeLayout::DimField), as they were read.
struct DimOfSize {
  Value first, visible, padded, outputs, seen_begin, seen_end, roll_begin, roll_pairs;
};
DimOfSize read_dim(Lowering& low, size_t dim);

// The factor of an average's divisor, of the window whose first tap is at that position.
Value divisor_taps_at(Builder& builder, const PoolNest& nest, const NestDim& dim, const DimOfSize& size,
                      Value first);

// 1 from `count` on, else 0.
Value reaches(Builder& builder, Value iv, Value count);
// iv, and so many more from `count` on.
Value skipping(Builder& builder, Value iv, Value count, Value more);

class RollAnySize {
 public:
  struct Steps {
    Bundle nothing;  // the value of a vector before its first tap
    Join join;
    std::function<Bundle(const Cursor& at)> load;                        // at a position of the input
    std::function<void(const Cursor& at, const Bundle& windows)> store;  // at an output
  };
  RollAnySize(const PoolNest& nest, size_t dim, const DimOfSize& size, const ReductionFacts& facts,
              Builder& builder, Lowering& low)
      : nest_(nest), dim_(dim), size_(size), facts_(facts), b_(builder), low_(low) {}

  // cursor: at position 0 of the dimension, whose window is not opened.
  void emit(Cursor cursor, const Steps& steps);

 private:
  using Stage = RollingOutputs::Stage;
  Stage one_by_one(const Cursor& cursor, const Steps& steps, Value begin, Value end);
  Stage pairs(const Cursor& cursor, const Steps& steps);
  void store_empty(const Cursor& cursor, const Steps& steps);
  Bundle load_looked_at(const Cursor& cursor, Value first, const Position& position, const Steps& steps);
  Value where_seen(Value position, Value sum);

  const PoolNest& nest_;
  const size_t dim_;
  const DimOfSize size_;
  const ReductionFacts& facts_;
  Builder& b_;
  Lowering& low_;
};

}  // namespace pooljit::ir
