// Emitter: writes a legal Program as machine code, with the places that the register map gives. The code that
// all ISAs share is here: control flow, index arithmetic, addresses, arithmetic and conversions. Functions
// that differ, mostly for masks, are virtual: jit/xbyak/avx2.cpp, jit/xbyak/avx512.cpp.
#pragma once

#include <xbyak/xbyak.h>

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "ir/passes/shuffle_forms.h"
#include "ir/program.h"
#include "jit/backend.h"
#include "jit/object/call_frames.h"
#include "jit/xbyak/register_map.h"

namespace pooljit::jit {

using Assembler = Xbyak::CodeGenerator;

inline constexpr Place zero_place{Place::Kind::immediate, -1};

// A register of 16, 32 or 64 bytes; smaller vectors lie in 16.
Xbyak::Xmm vector_register(int number, int bytes);

// A vector operand: a register or memory.
class Source {
 public:
  Source(const Xbyak::Xmm& reg) : operand_(reg) {}
  Source(const Xbyak::Address& memory) : operand_(memory) {}
  operator const Xbyak::Operand&() const {
    if (const auto* memory = std::get_if<Xbyak::Address>(&operand_)) return *memory;
    return reg();
  }
  bool is_memory() const { return std::holds_alternative<Xbyak::Address>(operand_); }
  const Xbyak::Xmm& reg() const { return *std::get_if<Xbyak::Xmm>(&operand_); }

 private:
  std::variant<Xbyak::Xmm, Xbyak::Address> operand_;
};

class Emitter {
 public:
  // The pool's constants lie at `pool`, from where the code reaches them.
  Emitter(const ir::Program& program, const RegisterMap& map, Assembler& assembler, const uint8_t* pool);
  virtual ~Emitter() = default;

  // Throws Xbyak::Error if the buffer is full.
  void emit_kernel();
  std::vector<CodeBlob::Line>& lines() { return lines_; }
  std::vector<uint8_t> take_frame() { return frame_.take(); }

 protected:
  // --- per ISA
  virtual void masked_load(const ir::Inst& load, const Xbyak::Address& from) = 0;
  virtual void masked_store(const ir::Inst& store, const Xbyak::Address& to) = 0;
  virtual void splat(const ir::Type& type, const Xbyak::Xmm& result, const Xbyak::Reg64& value) = 0;
  virtual void compare(const ir::Inst& inst) = 0;
  virtual void select(const ir::Inst& inst) = 0;
  virtual void mask_logic(const ir::Inst& inst) = 0;
  virtual void integer_logic(ir::Op op, const Xbyak::Xmm& to, const Xbyak::Xmm& a, const Source& b) = 0;
  virtual void blend(const ir::Inst& inst, const ir::ShuffleForm& form) = 0;
  virtual void extract(const Xbyak::Xmm& to, const Xbyak::Xmm& from, const ir::ShuffleForm& form) = 0;
  virtual void insert(const Xbyak::Xmm& to, const Xbyak::Xmm& a, const Source& b,
                      const ir::ShuffleForm& form) = 0;
  virtual void load_constant_idiom(const Constant& constant, int reg) = 0;  // mask bits, zeros, ones
  virtual void swap_vectors(int a, int b) = 0;
  virtual void move_mask(int to, int from) = 0;
  virtual void swap_masks(int a, int b) = 0;

  // --- operands of the current instruction
  Place place_of(int arg) const;
  Xbyak::Xmm result(const ir::Inst& inst) const;
  Source source(const ir::Inst& inst, int arg);
  Xbyak::Xmm source_register(const ir::Inst& inst, int arg);
  Source implied_source(int bytes);
  Source constant_in_memory(int constant, int bytes);
  Xbyak::Address address_of(const ir::Address& address, int bytes);
  const ir::Type& type(ir::Value value) const { return program_.type(value); }
  void load_constant(int constant, int reg);
  void splat_unit(int width, const Xbyak::Xmm& to, const Xbyak::Xmm& from);

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
  void load_constants_before(int inst);
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
  Xbyak::Address slot(Place place) const;
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
  Xbyak::Xmm index_register(const Xbyak::Xmm& to);
  void index_register_in(const Xbyak::Xmm& to);

  const uint8_t* const pool_;
  int at_ = 0;  // the current instruction
  std::span<const RegisterMap::ConstantUse> constants_;  // that it uses
  size_t next_load_ = 0;
  size_t code_begin_ = 0;
  std::vector<OpenLoop> loops_;
  std::vector<Transfer> moves_;
  std::vector<CodeBlob::Line> lines_;
  FrameWriter frame_;
};

}  // namespace pooljit::jit
