// The operations on data in the bytes of code, and whether an output may be made of them.
#pragma once

#include "runtime/code.h"
#include "runtime/proof/member.h"
#include "runtime/proof/verify.h"

namespace pooljit::runtime {

// True if floats are compared as integer keys (ir/reductions/float_keys.h): the Program of the code, which
// may make other members too, says so.
bool compares_keys(const Code& code, const Member& member, ir::Isa isa);

// Reads the bytes into proof.code; what is wrong with them is its failure. Where they make several pools,
// what one of them does with data is not told from what others do: that is left. by_keys: compares_keys().
void inspect(const Code& code, bool by_keys, Proof& proof);

}  // namespace pooljit::runtime
