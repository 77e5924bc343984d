// Transposes a matrix that lies in scratch memory. Small tiles of it go through registers: as many rows as a
// vector has elements, by the columns that 16 bytes hold.
#pragma once

#include "ir/builder.h"

namespace pooljit::ir {

// Element (row, column) goes from `from + row * row_bytes + column * bytes(dtype)` to `to + column *
// column_bytes` and the row's place: rows lie together in blocks of so many, `block_bytes` from one block to
// the next. A last block may have fewer.
struct Transposition {
  DType dtype = DType::f32;
  int64_t rows = 0, columns = 0;
  Address from;
  int64_t row_bytes = 0;
  Address to;
  int64_t column_bytes = 0;
  int64_t block = 0, block_bytes = 0;
};

// Vector registers that it takes at most.
int64_t transpose_registers(Isa isa, DType dtype);

void transpose(Builder& builder, const Transposition& matrix);

}  // namespace pooljit::ir
