#include "ir/schedules/windows/running_window.h"

namespace pooljit::ir {

void RunningWindow::emit(Value outputs, Value blocks, const Bundle& nothing, const LoadBundle& load,
                         const StoreBundle& store) {
  const Value number = b_.begin_loop(blocks).iv;
  const Position block = Position{}.further(number, kernel_);
  store(block, find_ends(block, load));
  const Value last = b_.iadd(outputs, b_.iconst(-1));
  const Value left = b_.iadd(last, b_.imul(number, b_.iconst(-kernel_)));
  const Builder::Loop others =
      b_.begin_loop(b_.imin(b_.iconst(kernel_ - 1), left), Values(nothing.begin(), nothing.end()));
  Bundle beginning(others.carried.begin(), others.carried.end());
  beginning = joined(beginning, load(block.further(kernel_).further(others.iv, 1)), join_);
  store(block.further(1).further(others.iv, 1),
        joined(ends_.load(Position{1}.further(others.iv, 1)), beginning, join_));
  b_.end_loop(Values(beginning.begin(), beginning.end()));
  b_.end_loop();
}

// All ends of a block but the whole, which it returns.
Bundle RunningWindow::find_ends(const Position& block, const LoadBundle& load) {
  Bundle end = load(block.further(kernel_ - 1));
  if (kernel_ == 1) return end;
  ends_.store({kernel_ - 1}, end);
  if (kernel_ > 2) {
    const Builder::Loop loop = b_.begin_loop(b_.iconst(kernel_ - 2), Values(end.begin(), end.end()));
    end = joined(load(block.further(kernel_ - 2).further(loop.iv, -1)),
                 Bundle(loop.carried.begin(), loop.carried.end()), join_);
    ends_.store(Position{kernel_ - 2}.further(loop.iv, -1), end);
    const Values last = b_.end_loop(Values(end.begin(), end.end()));
    end.assign(last.begin(), last.end());
  }
  return joined(load(block), end, join_);
}

}  // namespace pooljit::ir
