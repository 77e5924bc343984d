// A back end turns a Program into bytes: emit(Program) -> CodeBlob. To add one: a row in jit/backends.def and
// a folder here.
//
// The kernel's ABI, the same for every back end: System V, void kernel(const uint64_t* args), args[i] the
// word that Program::params[i] asks for. It keeps what the ABI wants kept, touches only its buffers and its
// own stack frame, ends with vzeroupper, never calls out and never throws.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/program.h"

namespace pooljit::jit {

using KernelFunction = void (*)(const uint64_t* args);

// Executable code, and everything that must live as long as the code. Cheap to copy; the last copy frees the
// code.
struct CodeBlob {
  KernelFunction entry = nullptr;
  ir::Isa isa{};                  // a proof refuses instructions that it does not promise
  std::span<const uint8_t> code;  // instructions only
  size_t bytes = 0;               // code and its constants
  // Constants and code as they lie in memory, position-independent: the code reads nothing else but what its
  // arguments point to.
  std::span<const uint8_t> image;
  std::vector<uint8_t> frame;  // how its stack frame is unwound (jit/object/call_frames.h)
  // Offset of the first instruction made from insts[inst] of the Program that the back end consumed;
  // ascending offsets.
  struct Line {
    uint32_t offset;
    int32_t inst;  // -1: prologue, epilogue
  };
  std::vector<Line> lines;
  std::shared_ptr<void> owner;
};

enum class BackendId : uint8_t {
#define BACKEND(name, text, stage, note) name,
#include "jit/backends.def"
#undef BACKEND
};

struct BackendInfo {
  BackendId id;
  std::string_view text;
  ir::Stage consumes;  // the stage of the Program that emit() wants
};

// The back ends of this build; LLVM is missing where the library was built without it.
std::span<const BackendInfo> backends();

// Whether emit() can use the back end. LLVM's is a library of its own, libpooljit-llvm.so, which this loads,
// once for the process; a kernel that Xbyak makes never does. Fails with "backend.missing".
ir::Result<void> find(BackendId backend);

// Whether rbp leads to the caller's frame at every instruction behind the first three, for profilers that
// follow frame pointers (perf record -g); else it is a register like others.
enum class FramePointer : uint8_t { free, kept };

// The program must have the stage that the back end consumes; POOLJIT_CHECKed. Fails with "jit.memory",
// "jit.executable" (no executable memory), "schedule.registers" (the Program needs more vector registers than
// there are) or "jit.llvm".
ir::Result<CodeBlob> emit(BackendId backend, const ir::Program& program,
                          FramePointer frame = FramePointer::free);

// Disassembly of a blob with the Program line of each instruction beside it (`pooljit show --stage asm`).
std::string listing(const CodeBlob& blob, const ir::Program& program);

}  // namespace pooljit::jit
