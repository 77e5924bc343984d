// Which constants of a Program have a register, and for how long: a part of the register map.
#pragma once

#include <boost/container/small_vector.hpp>
#include <vector>

#include "jit/xbyak/register_map.h"

namespace pooljit::jit {

class ConstantPlacer {
 public:
  // Collects the uses of constants.
  explicit ConstantPlacer(RegisterMap& map);

  // The uses (in map_.constant_uses_, ascending) that need a register for their instruction.
  std::vector<size_t> temporaries(RegClass cls) const;
  // Gives the constants of a class the registers that the values of that class have left.
  void place(RegClass cls, int registers);
  // After all classes: the pool holds what is read from memory.
  void finish();

 private:
  using Uses = boost::container::small_vector<size_t, 8>;
  struct Constant {
    RegClass cls = RegClass::vec;
    Uses uses;  // in map_.constant_uses_
    float weight = 0;
  };

  void add_use(int inst, int arg, int constant);
  void place_group(const Constant& constant, const Uses& uses, int depth, int registers);
  bool clears(const ir::Inst& inst, int arg) const;
  bool place_span(const Constant& constant, const Uses& uses, const Range& span, int registers);
  int inst_of(size_t use) const { return map_.constant_uses_[use].inst; }

  RegisterMap& map_;
  const Liveness& live_;
  std::vector<Constant> constants_;  // by number in the pool
};

}  // namespace pooljit::jit
