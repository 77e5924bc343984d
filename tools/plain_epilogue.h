// An epilogue as it is done without fusion: a pass over what the plain loop (tools/plain_loop.h) left, row by
// row, each step a loop. Compiled like the plain loop, for the building machine, so it uses plain types; see
// there. Floats only, which is what the plain loop leaves without conversions.
#pragma once

#include <cstdint>

namespace pooljit::tools {

enum class PlainStepKind : uint8_t {
#define STEP(name, text, arguments, numbers, dtype, operands, equation) name,
#include "ir/epilogue.def"
#undef STEP
};

struct PlainStep {
  PlainStepKind kind;
  double a, b;                 // numbers of the spec
  const void *first, *second;  // operands
};

struct PlainEpilogue {
  bool is_double = false;  // of the tensors and arrays; else float
  bool channels_last = false;
  int64_t channels = 1, rows = 1;  // rows: planes (channels first) or positions (channels last)
  int64_t row = 1;                 // elements of one
  int steps = 0;
  PlainStep step[4];
};

// Rows begin .. end-1 of the packed tensor, in place.
void run_plain_epilogue(const PlainEpilogue& epilogue, void* output, int64_t begin, int64_t end);

}  // namespace pooljit::tools
