// The generated matrix: specs that combine every choice there is, made from the tables (reductions.def,
// dtype.def) and the axes (tools/fuzz/axes.cpp). Nothing is listed by hand, so a new row of a table is in the
// matrix at once.
#pragma once

#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "tools/fuzz/random_spec.h"

namespace pooljit::tests {

struct MatrixSpec {
  fuzz::Combination combination;
  frontend::PoolSpec spec;
};

// Valid, different specs of small tensors (all engines run all of them in a minute), the same ones each time;
// every pair of settings that can stand together does so in one of them (matrix_test checks it).
std::vector<MatrixSpec> matrix(size_t count = 6000);

// Those of the matrix that add something: a spec with a pair of settings that fewer than `times` specs before
// it have.
std::vector<MatrixSpec> pairs_of_matrix(int times);

// The canonical texts of matrix().
std::vector<std::string> matrix_specs(size_t count = 6000);

// For what is slow, as symbolic runs are: the part of the matrix, in blocks that run side by side.
inline constexpr size_t symbolic_specs = 600, symbolic_blocks = 6;
// Elements of the output, of all batches.
int64_t output_count(const frontend::PoolSpec& spec);

// The matrix has small tensors only; these have rows of up to 3000 columns, windows of up to 31x40 and
// padding of any length.
std::vector<std::string> long_row_specs(size_t count = 240);

// Two to four pools of one small tensor.
std::vector<std::string> pools_specs(size_t count = 300);

}  // namespace pooljit::tests
