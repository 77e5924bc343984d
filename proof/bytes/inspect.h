// Reads machine code and shows, for every input, the facts that the proof by probing rests on
// (docs/notes/proof.md):
//   - control flow follows counters: branches are direct, to instructions of the code, and their flags
//     depend on arguments, constants and constant tables only;
//   - so does every address, and what masks stores;
//   - it writes to outputs and its stack only, calls nothing, and returns with the stack and the registers
//     that it has to keep as it found them;
//   - each instruction that touches data is one that proof/bytes/data_ops.def knows.
// An abstract interpretation of the bytes themselves: it trusts the decoder (Zydis), not the back end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/error.h"
#include "jit/backend.h"

namespace pooljit::jit {

struct CodeFacts {
  int64_t instructions = 0;  // that can be reached
  int64_t branches = 0, addresses = 0;
  bool computes = false;  // data is added, multiplied or divided, or its root is taken
  bool products = false;  // data is multiplied with other data, or divided by it, operands of steps aside:
  std::string product;    // where first
  bool squares = false;   // data is multiplied with itself
  bool may_be_called = false;  // indirectly, also where the CPU wants endbr64
};

// `params` are those of the Program that the code was made of. Errors: "prove.code", naming the instruction.
ir::Result<CodeFacts> inspect(const CodeBlob& blob, std::span<const ir::Param> params);

}  // namespace pooljit::jit
