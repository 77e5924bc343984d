// The last step of every back end: a position-independent image of a kernel is put into executable memory,
// with the unwind table of its one function. The process's unwinder is told of that table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/error.h"
#include "jit/backend.h"

namespace pooljit::jit {

struct CodeImage {
  std::span<const uint8_t> bytes;  // constants, then from code_offset on instructions only
  size_t code_offset = 0;
  std::vector<CodeBlob::Line> lines;
  std::vector<uint8_t> frame;  // call frame instructions (jit/object/call_frames.h)
};

// Fails with "jit.memory" and "jit.executable".
ir::Result<CodeBlob> publish(CodeImage image);

}  // namespace pooljit::jit
