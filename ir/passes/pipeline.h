// The passes from a lowered Program to one that an ISA's own back end takes, as one flat list. Each pass is a
// file with one function Program -> Program. Values whose instruction went leave gaps in the names; cleanup,
// the last one, renumbers (ir/builder.h).
#pragma once

#include <utility>

#include "ir/error.h"
#include "ir/program.h"

namespace pooljit::ir {

// affine -> affine: stores of whole vectors to the output become non-temporal, if the output's alignment to
// such a vector means that of them all. Lowering does this for stores=streamed.
Program stream_stores(Program program);

// affine -> addressed: no address has loop terms; pointers are carried through the loops instead.
Program address(Program program);

// affine or addressed -> legal: each instruction is one that program.isa has (ir/passes/legal.h), and no
// address has loop terms; the work of `address` is done in the same walk. Refused with "legal.mask": the ISA
// cannot mask accesses of such narrow elements.
Result<Program> legalize_isa(Program program);

// Removes what nothing depends on: pure instructions, carried values, loops that never run.
Program cleanup(Program program);

// The passes in order: from a lowered Program, of stage affine, to the stage that a back end consumes.
// Refused with what a pass refuses.
Result<Program> run_passes(Program affine, Stage stage);
inline Result<Program> legalize(Program affine) { return run_passes(std::move(affine), Stage::legal); }

// The Program that lowering or a pass made, after a look at it by the verifier (ir/verify.h) in every build
// of the tests. A fault is a bug of ours: it stops with the pass and the Program.
Program verified(const char* pass, Program program);

}  // namespace pooljit::ir
