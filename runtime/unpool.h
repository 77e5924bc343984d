// max_unpool: zero fill, then each value goes to the place that its index names. Indices come from anywhere,
// so addresses depend on data: this is no Program but a routine, checked before anything is written, and
// split by planes of one (n, c), so that threads never write the same element.
#pragma once

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "runtime/code.h"

namespace pooljit::runtime {

// Of a spec of direction unpool. Where two values of a plane have one index, the last one in row-major order
// stands. Code::check refuses an index that names no place of its plane ("run.index_range").
std::shared_ptr<Code> make_unpool(const frontend::PoolSpec& spec);

}  // namespace pooljit::runtime
