// The functions of an exported kernel (`pooljit export`) that a C program calls. They choose a body by the
// processor, take their share of the tasks and enter the body with its argument block. They call nothing
// else, and keep one word: the ISA that the processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/isa.h"
#include "ir/program.h"
#include "jit/object/call_frames.h"
#include "jit/object/elf_object.h"

namespace pooljit::jit {

// Return values of entries. The header that comes with them says the same.
enum class EntryCode : uint8_t { ok = 0, invalid = 1, no_isa = 2 };

// Machine code of a kernel, in the object already.
struct ExportedBody {
  size_t text_offset = 0;
  std::vector<ir::Param> params;
  std::vector<size_t> tables;  // where each lies in .rodata
  int64_t output_alignment = 1;
};

// The bodies of one ISA: those before the last are taken only where the output is aligned for them.
struct ExportedIsa {
  ir::Isa isa = ir::least_isa;
  std::vector<ir::TaskDim> tasks;
  int64_t scratch_bytes = 0;
  std::vector<ExportedBody> bodies;
};

// int NAME(input, output..., [indices...], [operand...], [batch])
// int NAME_part(..., int part, int parts)
// int NAME_part_with(..., int part, int parts, void* scratch)
// int NAME_part_with_ISA(the same): without asking the processor
struct ExportedFunction {
  std::string name;
  int outputs = 1, indices = 0;
  // Where each of several pools writes: into which of these, and how many bytes behind its first element.
  struct Written {
    int output = 0;
    int64_t output_bytes = 0;
    int indices = 0;
  };
  std::vector<Written> written;  // by pool
  bool has_batch = false;
  int operands = 0;
  int64_t scratch_bytes = 0;  // of the ISA that wants most
  int64_t largest_batch = std::numeric_limits<int64_t>::max();
  std::vector<ExportedIsa> isas;  // in the order of ir/isa.def
};

struct CodeFrame {
  size_t begin = 0, bytes = 0;
  std::vector<uint8_t> instructions;
};

// Writes entries into .text of an object. One for an object: they share the word in .bss.
class EntryWriter {
 public:
  explicit EntryWriter(ElfObject& object);

  // Appends the frames of what it wrote.
  void add(const ExportedFunction& function, std::vector<CodeFrame>& frames);

 private:
  ElfObject& object_;
  size_t isa_word_ = 0;       // in .bss
  size_t detect_ = SIZE_MAX;  // in .text
};

}  // namespace pooljit::jit
