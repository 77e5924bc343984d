// The ops that compute lanes, as LLVM IR: arithmetic, bits, masks, constants. No control flow, no memory.
//
// Exactness is the point: no fast-math flag is ever set, and each op is spelled so that LLVM's own semantics
// give ir/ops.def's bits (max is fcmp + select, not llvm.maxnum; cvt clamps by integer min and max).
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "ir/program.h"

namespace pooljit::jit {

llvm::Type* lane_type(llvm::LLVMContext& context, ir::DType dtype);
llvm::Type* value_type(llvm::LLVMContext& context, const ir::Type& type);

// An all-ones or arbitrary constant mask, e.g. of a vmask or for an access that is not masked.
llvm::Constant* constant_mask(llvm::LLVMContext& context, const std::vector<int64_t>& lanes);

// The value of `inst`, whose operands have the IR types `from` and the LLVM values `args`. Null if the op is
// not a lane op.
llvm::Value* lane_op(llvm::IRBuilder<>& build, const ir::Inst& inst, const ir::Type& result,
                     const std::vector<ir::Type>& from, const std::vector<llvm::Value*>& args);

// Whether a mask is a constant with lanes off between lanes that are on.
bool has_gap(const llvm::Value* mask);
// The same mask by way of an instruction that LLVM knows nothing of.
llvm::Value* opaque(llvm::IRBuilder<>& build, llvm::Value* mask);

}  // namespace pooljit::jit
