// RowVectors: how vectors cover a row, in code for all sizes. Words of the size say it for the window of
// each output along the innermost dimension, and for a whole row of the image.
#pragma once

#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

// Index values.
struct RowVectors {
  Value groups = no_value;   // of SizeLayout::vectors_of_group whole vectors
  Value singles = no_value;  // other whole vectors
  Value rest = no_value;     // taps behind them
  Value any = no_value;      // 1 if there are whole vectors, else 0
};

// Vectors of so many lanes; number: of the output, or, of a whole row, how many outputs there are.
inline RowVectors row_vectors(Builder& builder, Lowering& low, int lanes, Value number) {
  constexpr int64_t word_bytes = sizeof(int64_t);
  const Value table = low.word(low.layout().tiles(lanes, SizeLayout::window_rows));
  const Value at = builder.imul(number, builder.iconst(SizeLayout::row_vector_fields * word_bytes));
  const Address first{builder.ptradd({builder.param(Param::Role::size), {}, 0}, table), {}, 0};
  const Address row{builder.ptradd(first, at), {}, 0};
  const auto field = [&](int which) { return builder.iload(plus(row, which * word_bytes)); };
  RowVectors vectors;
  vectors.groups = field(SizeLayout::groups);
  vectors.singles = field(SizeLayout::singles);
  vectors.rest = field(SizeLayout::rest);
  vectors.any = builder.imin(builder.iadd(vectors.groups, vectors.singles), builder.iconst(1));
  return vectors;
}

}  // namespace pooljit::ir
