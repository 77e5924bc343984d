// benchdnn's --attr-post-ops: operations on a pooling's results, as steps of an epilogue.
#pragma once

#include "frontend/printer.h"
#include "frontend/text.h"
#include "frontend/values.h"

namespace pooljit::frontend {

// benchdnn's name of a dtype ("f32") and back; empty if there is none.
std::optional<ir::DType> benchdnn_dtype(std::string_view name);
std::string_view benchdnn_dtype_name(ir::DType dtype);

// "relu+clip:0:6+add:f32:per_oc", into a spec that is complete otherwise. Errors name the post-op:
// spec.benchdnn where it is malformed, spec.unsupported_option where no step does what it says.
Broken read_post_ops(const Word& word, PoolSpec& spec);

// False if a step has no post-op.
bool print_post_ops(Printer& out, const PoolSpec& spec);

}  // namespace pooljit::frontend
