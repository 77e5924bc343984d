// Program: the vector IR, the meeting point of lowering, passes, interpreter and back ends.
//
// A flat list of instructions in SSA form with structured loops; no branches, no phis. The ops and their
// meaning are in ir/ops.def. Addresses are [base + sum(iv * bytes) + bytes]. A Program is plain data:
// copyable, comparable, printable (ir/text.h) and checked by ir/verify.h.
//
// Three legality stages, each a rule set of the verifier:
// - affine: as lowered. Addresses may have loop terms, vectors any lane count that fits. LLVM consumes it.
// - addressed: no address has terms; pointers are carried through loops instead.
// - legal: addressed, and each instruction is one that the ISA has. Xbyak consumes it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/inst_list.h"
#include "ir/isa.h"

namespace pooljit::ir {

// Scratch memory: kernels ask for no more, in whole cache lines.
inline constexpr int64_t most_scratch_bytes = int64_t{256} << 10;
inline constexpr int64_t scratch_alignment = 64;

// Words of a kernel's argument block; it is on the stack, so that a call allocates nothing. Three buffers,
// tables of runs and divisors, and begin and count per task dimension take half of it; several pools of one
// tensor may need more.
inline constexpr size_t most_params = 64;

// Tensors that one Program makes: those of several pools of one input, and a copy of that.
inline constexpr int most_member_outputs = 9;

// The meaning of a word of the argument block, which the caller fills in.
struct Param {
  enum class Role : uint8_t {
    input,    // pointer to the first element of the input view
    output,   // ... of the output view; of the member of this number, where the nest has members
    indices,  // ... of the index view, likewise
    scratch,  // pointer to Program::scratch_bytes that are this call's alone, aligned to scratch_alignment
    operand,  // ... of what the caller gives for the epilogue, by its number
    table,    // pointer to Program::tables[number]
    size,   // pointer to the words made for the extents of this call (ir/general/size_words.h), of the member
            // of this number; where one Program serves all extents
    begin,  // first task of Program::tasks[number]
    count,  // how many tasks of it, >= 0
  };
  Role role = Role::input;
  int number = 0;
  bool operator==(const Param&) const = default;
};

// A dimension that the caller may split among threads: the kernel does tasks begin .. begin+count-1 of each.
// Different tasks write different bytes.
struct TaskDim {
  std::string name;  // "n", "c", "oh"
  // How many tasks there are; batch_extent: as many as the batch at run time; size_extent: as many as the
  // first dimension's outputs at run time, or, of a gradient, as the periods of these; size_outputs: as many
  // as the outputs.
  int64_t extent = 0;
  static constexpr int64_t batch_extent = -1;
  static constexpr int64_t size_extent = -2;
  static constexpr int64_t size_outputs = -3;
  bool operator==(const TaskDim&) const = default;
};

// Of code for all extents: the words of one size, of each pool (Param::Role::size).
using SizeWords = std::span<const std::vector<int64_t>>;

enum class Stage : uint8_t { affine, addressed, legal };

struct Program {
  std::string name;  // the schedule that made it, for people
  Stage stage = Stage::affine;
  Isa isa = least_isa;
  std::vector<Param> params;  // by slot
  std::vector<TaskDim> tasks;
  std::vector<std::vector<int64_t>> tables;  // constant, row-major
  int64_t scratch_bytes = 0;  // memory that a call also needs; its contents at first are unknown
  std::vector<Type> types;    // by Value
  InstList insts;             // the last one is ret
  bool operator==(const Program&) const = default;

  const Type& type(Value value) const { return types[static_cast<size_t>(value)]; }
};

// Bytes that the output has to be aligned to, for the non-temporal stores of the Program; 1 if it has none.
int64_t output_alignment(const Program& program);

}  // namespace pooljit::ir
