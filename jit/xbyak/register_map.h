// Register map: where each value of a legal Program lies. It decides; the emitter only writes down.
//
// Vectors and masks never spill: a Program that needs more of them than the ISA has is refused. Pointers and
// indices of the outer, rarely used kind may lie on the stack. Constants get the remaining registers, loaded
// before the outermost loop that they can be kept through. The others are memory operands, or are loaded
// where they are used.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/error.h"
#include "jit/backend.h"
#include "jit/xbyak/busy_registers.h"
#include "jit/xbyak/constants.h"
#include "jit/xbyak/liveness.h"

namespace pooljit::jit {

class ConstantPlacer;

struct Place {
  enum class Kind : uint8_t {
    none,
    reg,        // `number` is the register of the value's class
    stack,      // slot `number`
    constant,   // `number` in the pool
    immediate,  // the number of the iconst at instruction `number`; 0 if that is negative
    folded,     // a load that is its reader's memory operand
  };
  Kind kind = Kind::none;
  int number = 0;
};

// Registers of the general class by hardware number.
inline constexpr int frame_register = 5;           // rbp: holds no value where the frame pointer is kept
inline constexpr int scratch_register = 0;         // rax: never holds a value
inline constexpr int second_scratch_register = 2;  // rdx: kept free only where something lies on the stack
inline constexpr int argument_register = 7;        // rdi: the argument block, until the params are read

class RegisterMap {
 public:
  static ir::Result<RegisterMap> make(const ir::Program& program, FramePointer frame = FramePointer::free);
  // Registers of a class of vectors or masks that the values of a legal Program and its constants of one
  // instruction take at once, whether or not the ISA has as many.
  static int needed(const ir::Program& program, RegClass cls);

  Place place(ir::Value value) const { return places_[static_cast<size_t>(value)]; }
  // Where an instruction uses a constant: as operand `arg`, or as the one that a shuffle needs besides its
  // operands. Its register may be for this instruction alone.
  static constexpr int implied = -1;
  struct ConstantUse {
    int inst;
    int arg;
    int constant;
    int reg;         // -1: none
    bool temporary;  // its register is for this instruction only, and to be loaded
    bool memory;     // without a register, it is a memory operand
  };
  // In the order of the instructions, and of the operands of each.
  std::span<const ConstantUse> constant_uses() const { return constant_uses_; }
  // The register or stack slot that counts down in the loop that begins at instruction `begin`.
  Place countdown(int begin) const;

  // A constant to be loaded into a register of its own before instruction `before`.
  struct Load {
    int before;
    int constant;
    int reg;
  };
  const std::vector<Load>& loads() const { return loads_; }  // by `before`

  const Liveness& liveness() const { return live_; }
  ConstantPool& pool() { return pool_; }
  const ConstantPool& pool() const { return pool_; }
  int stack_slots() const { return stack_slots_; }
  bool keeps_frame_pointer() const { return frame_ == FramePointer::kept; }
  uint32_t used_gprs() const { return used_gprs_; }  // a bit each

 private:
  friend class ConstantPlacer;
  RegisterMap(const ir::Program& program, FramePointer frame)
      : program_(program), frame_(frame), live_(program) {}

  ir::Result<void> place_vectors(RegClass cls, ConstantPlacer& constants);
  int take_registers(RegClass cls, const ConstantPlacer& constants);
  std::vector<size_t> webs_by_begin(RegClass cls) const;
  bool needs_stack() const;
  bool place_gprs(bool with_stack);
  void place_values();
  BusyRegisters& busy(RegClass cls) { return busy_[static_cast<size_t>(cls)]; }

  const ir::Program& program_;
  FramePointer frame_;
  Liveness live_;
  ConstantPool pool_;
  std::vector<int> constant_of_;            // number in the pool, by value; -1: not a constant
  std::vector<Place> web_places_;           // by web
  std::vector<Place> places_;               // by value
  std::array<BusyRegisters, 4> busy_ = {};  // by class
  std::vector<ConstantUse> constant_uses_;  // in the order of the instructions
  std::vector<Load> loads_;
  int stack_slots_ = 0;
  uint32_t used_gprs_ = 0;
};

}  // namespace pooljit::jit
