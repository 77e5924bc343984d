// NarrowRow: takes the taps of a window's row, with indices, in lanes of bytes, where offsets need 16 or 32
// bits. A lane remembers the number of the vector that its best tap is in. At the end of the row lanes are
// widened, and numbers become offsets. window_rows uses it for schedules with more lanes than a vector has
// offsets.
#pragma once

#include <functional>
#include <vector>

#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

class NarrowRow {
 public:
  // Vectors of a row that can be numbered.
  static constexpr int64_t most_vectors = 256;
  // True if so many lanes are more than a vector has offsets.
  static bool suits(const PoolNest& nest, const ReductionFacts& facts, Isa isa, int lanes);

  // load: the taps of a slice; vector_bytes: from one vector of the row to the next; index_step: from one tap
  // to the next.
  using Load = std::function<Value(const Address& row, const Slice& slice)>;
  NarrowRow(const PoolNest& nest, Builder& builder, Reducer& reducer, int lanes, int64_t vector_bytes,
            int64_t index_step, Load load)
      : b_(builder),
        reducer_(reducer),
        better_(nest.is_maximum() ? Op::max : Op::min),
        dtype_(nest.input.dtype),
        lanes_(lanes),
        vector_bytes_(vector_bytes),
        index_step_(index_step),
        load_(std::move(load)) {}

  // The lanes of each state outside of a row: a narrow vector is several of them.
  std::vector<int> wide_lanes() const;
  // The states after a row, cut so; empty states begin with it.
  Lowering::States take(const Lowering::States& wide, const WindowRow& cut, const TapAt& row);

 private:
  int offset_lanes() const;  // of a vector of offsets
  Lowering::States groups_of(const WindowRow& cut, const Address& row);
  State taken(const State& state, Value taps, Value number);
  Value numbers(int64_t number) { return b_.vconst_splat(Type::vec(DType::u8, lanes_), number); }
  // The offsets of a part of the lanes: of a vector that begins at this tap.
  TapOffset offset(const TapOffset& row, int part, int64_t begin, Value number);

  Builder& b_;
  Reducer& reducer_;
  const Op better_;
  const DType dtype_;
  const int lanes_;
  const int64_t vector_bytes_, index_step_;
  const Load load_;
};

}  // namespace pooljit::ir
