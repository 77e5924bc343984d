// RunningWindow: all outputs along one dimension of stride 1, in order, by the algorithm of van Herk and of
// Gil and Werman: what an output costs does not grow with the kernel. Positions are cut into blocks as long
// as the kernel. A window is the end of a block, of which scratch memory holds all the ends, and the
// beginning of the next, which grows while the window moves on.
#pragma once

#include <functional>

#include "ir/schedules/windows/held_vectors.h"
#include "ir/schedules/windows/rolling_window.h"

namespace pooljit::ir {

class RunningWindow {
 public:
  using Load = std::function<Bundle(const Position& position)>;
  using Store = std::function<void(const Position& output, const Bundle&)>;

  // ends: room for as many columns as the kernel has.
  RunningWindow(int64_t kernel, Builder& builder, RollingWindow::Combine join, ScratchLine ends)
      : kernel_(kernel), b_(builder), join_(std::move(join)), ends_(std::move(ends)) {}

  // outputs and blocks of them, as index values. load is asked for positions 0 .. outputs + kernel - 2;
  // nothing: a column that changes none that it is joined with.
  void emit(Value outputs, Value blocks, const Bundle& nothing, const Load& load, const Store& store);

 private:
  Bundle find_ends(const Position& block, const Load& load);

  const int64_t kernel_;
  Builder& b_;
  const RollingWindow::Combine join_;
  const ScratchLine ends_;
};

}  // namespace pooljit::ir
