// The table of back ends, from jit/backends.def.
#include "ir/check.h"
#include "jit/backend.h"
#include "jit/emitters.h"
#include "jit/fork_gate.h"

namespace pooljit::jit {

namespace {

constexpr BackendInfo backend_table[] = {
#define BACKEND(name, text, stage, note) {BackendId::name, text, ir::Stage::stage},
#include "jit/backends.def"
#undef BACKEND
};

using Emitter = ir::Result<CodeBlob> (*)(const ir::Program&, FramePointer);

constexpr Emitter emitter_table[] = {
#define BACKEND(name, text, stage, note) emit_##name,
#include "jit/backends.def"
#undef BACKEND
};

}  // namespace

std::span<const BackendInfo> backends() { return backend_table; }

ir::Result<void> find([[maybe_unused]] BackendId backend) {
#ifdef POOLJIT_WITH_LLVM
  const HoldForks hold;
  if (backend == BackendId::llvm) return find_llvm();
#endif
  return {};
}

ir::Result<CodeBlob> emit(BackendId backend, const ir::Program& program, FramePointer frame) {
  const HoldForks hold;
  const auto row = static_cast<size_t>(backend);
  POOLJIT_CHECK(program.stage == backend_table[row].consumes, program.name);
  auto blob = emitter_table[row](program, frame);
  if (blob) blob->isa = program.isa;
  return blob;
}

}  // namespace pooljit::jit
