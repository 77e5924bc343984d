// The words that code for all extents reads of one size. Making them takes a few microseconds, and as many
// words of memory as the dimensions have unlike outputs: few, except in adaptive pooling.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/error.h"
#include "ir/nest.h"
#include "ir/program.h"

namespace pooljit::ir {

// For Param::Role::size of code for `general`; sized: the layer at the size, with any strides that keep the
// innermost ones. "general.window": its windows have more taps than the code is for.
Result<std::vector<int64_t>> size_words(const PoolNest& general, const PoolNest& sized);

// How many words each size has before its tables.
int size_word_count(const PoolNest& general);

// How many tasks a dimension of a Program has for a layer of this size and batch.
int64_t task_count(const TaskDim& task, const PoolNest& sized, int64_t batch);

// Which word of code for `general` says how many tasks of TaskDim::size_extent there are.
int rows_word(const PoolNest& general);

}  // namespace pooljit::ir
