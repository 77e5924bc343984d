// Where the words of a size lie that Lowering reads and ir/general/size_words.h makes: for each view its
// strides, for each dimension its runs; behind these the run tables.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/nest.h"

namespace pooljit::ir {

class SizeLayout {
 public:
  // The views by number.
  static constexpr int input = 0, output = 1, indices = 2, first_operand = 3;
  // What an index adds per position is `weight`; `carry` is what is added for each time that a tap's offset
  // reaches as far as the next position of the dimension (Lowering::plane_offset).
  enum DimField { runs, table, weight, carry, dim_fields };

  explicit SizeLayout(const PoolNest& nest)
      : rank_(static_cast<int>(nest.dims.size())),
        views_(first_operand + static_cast<int>(operand_views(nest).size())) {}

  int views() const { return views_; }
  // Strides, in bytes.
  int batch(int view) const { return view * (rank_ + 2); }
  int channel(int view) const { return batch(view) + 1; }
  int position(int view, size_t dim) const { return batch(view) + 2 + static_cast<int>(dim); }
  // table: the byte where the first run's row begins.
  int of_dim(size_t dim, DimField field) const {
    return batch(views_) + static_cast<int>(dim) * dim_fields + field;
  }
  // What an index adds per batch.
  int index_batch() const { return of_dim(static_cast<size_t>(rank_), runs); }
  int words() const { return index_batch() + 1; }

 private:
  int rank_, views_;
};

// What a tap's offset counts per position in code for all sizes: the plane of the stand-ins, whose rows are
// powers of two long.
inline std::vector<int64_t> stand_in_weights(const PoolNest& nest) {
  std::vector<int64_t> weights(nest.dims.size(), 1);
  for (size_t i = weights.size() - 1; i-- > 0;) weights[i] = weights[i + 1] * nest.dims[i + 1].input;
  return weights;
}

}  // namespace pooljit::ir
