// Emitter: writes a legal Program as machine code, with the places that the register map gives. The code that
// all ISAs share is here: control flow, index arithmetic, addresses, arithmetic and conversions. Functions
// that differ, mostly for masks, are virtual: jit/xbyak/avx2.cpp, jit/xbyak/avx512.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/passes/shuffle_forms.h"
#include "ir/program.h"
#include "jit/backend.h"
#include "jit/object/call_frames.h"
#include "jit/xbyak/assembler.h"
#include "jit/xbyak/register_map.h"

namespace pooljit::jit {

inline constexpr Place zero_place{Place::Kind::immediate, -1};

class Emitter {
 public:
  // The pool's constants lie at the beginning of the assembler's buffer.
  Emitter(const ir::Program& program, const RegisterMap& map, Assembler& assembler);
  virtual ~Emitter() = default;

  // Throws Xbyak::Error if the buffer is full.
  void emit_kernel();
  std::vector<CodeBlob::Line>& lines() { return lines_; }
  std::vector<uint8_t> take_frame() { return frame_.take(); }

 protected:
  // --- per ISA
  virtual void masked_load(const ir::Inst& load, const MemoryOperand& from) = 0;
  virtual void masked_store(const ir::Inst& store, const MemoryOperand& to) = 0;
  virtual void splat(const ir::Type& type, Vec result, const Xbyak::Reg64& value) = 0;
  virtual void compare(const ir::Inst& inst) = 0;
  virtual void select(const ir::Inst& inst) = 0;
  virtual void mask_logic(const ir::Inst& inst) = 0;
  virtual void integer_logic(ir::Op op, Vec to, Vec a, const Source& b) = 0;
  virtual void blend(const ir::Inst& inst, const ir::ShuffleForm& form) = 0;
  virtual void extract(Vec to, Vec from, const ir::ShuffleForm& form) = 0;
  virtual void insert(Vec to, Vec a, const Source& b, const ir::ShuffleForm& form) = 0;
  virtual void load_constant_idiom(const Constant& constant, int reg) = 0;  // mask bits, zeros, ones
  virtual void swap_vectors(int a, int b) = 0;
  virtual void move_mask(int to, int from) = 0;
  virtual void swap_masks(int a, int b) = 0;

  // --- operands of the current instruction
  Place place_of(int arg) const;
  Vec result(const ir::Inst& inst) const;
  Source source(const ir::Inst& inst, int arg);
  Vec source_register(const ir::Inst& inst, int arg);
  Source implied_source(int bytes);
  MemoryOperand constant_in_memory(int constant, int bytes);
  MemoryOperand address_of(const ir::Address& address, int bytes);
  const ir::Type& type(ir::Value value) const { return program_.type(value); }
  void load_constant(int constant, int reg);
  void splat_unit(int width, Vec to, Vec from);

  const ir::Program& program_;
  const RegisterMap& map_;
  Assembler& a_;

 private:
  struct OpenLoop {
    int begin = 0;
    size_t body = 0;  // offset in the buffer
    size_t skip = 0;  // where the distance of the jump over it belongs; 0: none
  };
  struct Transfer {
    Place to, from;
    RegClass cls;
  };

  // --- control (emitter.cpp)
  void prologue();
  void epilogue();
  void move_stack(int64_t bytes);
  void emit(const ir::Inst& inst);
  void begin_loop(const ir::Inst& inst);
  void end_loop(const ir::Inst& inst);
  void count_up(Place counter, Place trip);
  size_t jump_forward(uint8_t condition);
  void jump_back(uint8_t condition, size_t target);
  void land(size_t jump);

  // --- moves (moves.cpp)
  void move_all(std::vector<Transfer>& moves);
  void move_one(const Transfer& move);
  void swap_one(const Transfer& move);
  void move_gpr(Place to, Place from);
  void swap_gpr(Place a, Place b);
  RegClass class_of(ir::Value value) const;

  // --- index ops and addresses (index_ops.cpp)
  void index_op(const ir::Inst& inst);
  void two_operand(ir::Op op, const Xbyak::Reg64& to, const Xbyak::Reg64& other);
  void iload(const ir::Inst& inst);
  void ptradd(const ir::Inst& inst);
  void param(const ir::Inst& inst);
  Xbyak::Reg64 read(Place place, const Xbyak::Reg64& scratch);
  Xbyak::Reg64 target(Place place) const;
  void commit(Place place, const Xbyak::Reg64& value);
  static MemoryOperand slot(Place place);
  int64_t immediate(Place place) const;

  // --- vectors (vector_ops.cpp, shuffles.cpp)
  void load(const ir::Inst& inst);
  void store(const ir::Inst& inst);
  void three_operand(const ir::Inst& inst);
  void propagate(const ir::Inst& inst);
  void fma(const ir::Inst& inst);
  void shift(const ir::Inst& inst);
  void sqrt(const ir::Inst& inst);
  void convert(const ir::Inst& inst);
  void shuffle(const ir::Inst& inst);
  void shuffle_one(const ir::Inst& inst, const ir::ShuffleForm& form, int bytes);
  void shuffle_two(const ir::Inst& inst, const ir::ShuffleForm& form, int bytes);
  Vec index_register(Vec to);
  void index_register_in(Vec to);

  int at_ = 0;                                           // the current instruction
  std::span<const RegisterMap::ConstantUse> constants_;  // that it uses
  bool streams_ = false;                                 // a store went past the caches
  size_t code_begin_ = 0;
  std::vector<OpenLoop> loops_;
  std::vector<Transfer> moves_;
  std::vector<CodeBlob::Line> lines_;
  FrameWriter frame_;
};

}  // namespace pooljit::jit
