// RunningWindow: makes all outputs along one dimension of stride 1, in order, by the algorithm of van Herk
// and of Gil and Werman. The cost of an output does not grow with the kernel. Positions are cut into blocks
// as long as the kernel. A window is the end of one block and the beginning of the next: scratch memory holds
// all ends of the block, and the beginning grows while the window moves on.
#pragma once

#include <utility>

#include "ir/schedules/windows/held_vectors.h"

namespace pooljit::ir {

class RunningWindow {
 public:
  // Vectors that are needed at once, for each vector done side by side.
  static constexpr size_t vectors() { return 3; }

  // ends: room for as many columns as the kernel has.
  RunningWindow(int64_t kernel, Builder& builder, Join join, ScratchLine ends)
      : kernel_(kernel), b_(builder), join_(std::move(join)), ends_(std::move(ends)) {}

  // outputs and blocks: index values. load is asked for positions 0 .. outputs + kernel - 2. nothing: a
  // column that changes no column it is joined with.
  void emit(Value outputs, Value blocks, const Bundle& nothing, const LoadBundle& load,
            const StoreBundle& store);

 private:
  Bundle find_ends(const Position& block, const LoadBundle& load);

  const int64_t kernel_;
  Builder& b_;
  const Join join_;
  const ScratchLine ends_;
};

}  // namespace pooljit::ir
