// Names: the name in the new Program of each value of the Program that a pass reads. A value that the pass
// keeps has its own name; one that it computes otherwise has the name of its replacement.
#pragma once

#include <numeric>
#include <vector>

#include "ir/program.h"

namespace pooljit::ir {

class NewNames {
 public:
  explicit NewNames(const Program& program) : now_(program.types.size()) {
    std::iota(now_.begin(), now_.end(), 0);
  }

  Value of(Value value) const { return value == no_value ? no_value : now_[static_cast<size_t>(value)]; }
  void replace(Value value, Value by) { now_[static_cast<size_t>(value)] = by; }

  void rename_args(Inst& inst) const {
    for (Value& arg : inst.args) arg = of(arg);
  }
  // Also the base of the address; its loop terms are counters, which no pass replaces.
  void rename_operands(Inst& inst) const {
    rename_args(inst);
    inst.addr.base = of(inst.addr.base);
  }

 private:
  std::vector<Value> now_;
};

}  // namespace pooljit::ir
