// max_unpool: zero fill, then each value goes to the place that its index names. Its gradient gives each
// value the element of that place. Indices come from anywhere, so addresses depend on data: this is no
// Program but a routine. It looks at all indices before anything is written, and it is split by planes of one
// (n, c), so that threads never write the same element.
#pragma once

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "runtime/code.h"

namespace pooljit::runtime {

// Of a spec that is_unpool(). Where two values of a plane have one index, the last one in row-major order
// stands. Code::check refuses an index that names no place of its plane ("run.index_range"); indices must not
// change between it and the end of Code::run.
std::shared_ptr<Code> make_unpool(const frontend::PoolSpec& spec);

}  // namespace pooljit::runtime
