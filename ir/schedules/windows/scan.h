// Shared by the algorithms for windows along one dimension. They make windows from the results of `load`,
// joined by `join`. Along memory, whole bundles at a time:
//   - RollingOutputs: partial windows are held in registers; a loop, with straight-line code at the
//     ends;
//   - RunningWindow: van Herk, a block of ends in scratch memory; three joins an output, whatever the
//     kernel;
//   - shared_rows: a group of outputs at once; what they have in common is reduced once.
//
// Across the lanes of a row:
//   - ColumnPasses: doublings in scratch memory, pass after pass over the whole row;
//   - TrailingWindows: doublings in registers, vector after vector;
//   - ColumnWindows: a few vectors, in straight-line code.
#pragma once

#include <functional>

#include "ir/program.h"
#include "ir/schedules/windows/position.h"

namespace pooljit::ir {

// The vectors at one position that are done side by side.
using Bundle = Values;

// Reduces two columns or two reductions of columns. The taps of `later` come later.
using Join = std::function<Value(Value earlier, Value later)>;
// Loads what a position along the dimension stands for.
using LoadBundle = std::function<Bundle(const Position& input)>;
// Stores the windows of an output position.
using StoreBundle = std::function<void(const Position& output, const Bundle& windows)>;

// Two bundles, joined vector by vector.
inline Bundle joined(const Bundle& earlier, const Bundle& later, const Join& join) {
  Bundle both;
  for (size_t i = 0; i < earlier.size(); ++i) both.push_back(join(earlier[i], later[i]));
  return both;
}

}  // namespace pooljit::ir
