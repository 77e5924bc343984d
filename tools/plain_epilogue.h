// An epilogue as it is done without fusion: a pass over what the plain loop (tools/plain_loop.h) left, row by
// row, each part of a step a loop. Compiled like the plain loop, for the building machine, so it uses plain
// types; see there. Floats only, which is what the plain loop leaves without conversions.
#pragma once

#include <cstdint>

namespace pooljit::tools {

enum class PlainPartKind : uint8_t {
#define PART(name, ...) name,
#include "ir/epilogue.def"
#undef PART
};

// A part of a step, with a number of the spec or an operand.
struct PlainPart {
  PlainPartKind kind;
  double number = 0;
  const void* operand = nullptr;
  bool is_tensor = false;  // the operand: laid out like the output, not a number per channel
};

struct PlainEpilogue {
  bool is_double = false;  // of the tensors and arrays; else float
  bool channels_last = false;
  int64_t channels = 1, rows = 1;  // rows: planes (channels first) or positions (channels last)
  int64_t row = 1;                 // elements of one
  int parts = 0;
  PlainPart part[12];  // of four steps
};

// Rows begin .. end-1 of the packed tensor, in place.
void run_plain_epilogue(const PlainEpilogue& epilogue, void* output, int64_t begin, int64_t end);

}  // namespace pooljit::tools
