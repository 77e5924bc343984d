// The xbyak back end: legal Program -> register map -> machine code. A kernel is one read-only mapping: its
// constants, then its code.
#include <algorithm>
#include <memory>

#include "ir/check.h"
#include "jit/code_image.h"
#include "jit/emitters.h"
#include "jit/xbyak/isa_emitters.h"
#include "jit/xbyak/register_map.h"

namespace pooljit::jit {

namespace {

// Room for a first try; more only for Programs of unusual instructions.
constexpr size_t bytes_per_inst = 64, bytes_per_kernel = 4096;

struct Written {
  std::vector<CodeBlob::Line> lines;
  std::vector<uint8_t> frame;
  size_t bytes = 0;  // constants and code
};

std::unique_ptr<Emitter> make_emitter(const ir::Program& program, const RegisterMap& map,
                                      Assembler& assembler) {
  using Make = std::unique_ptr<Emitter> (*)(const ir::Program&, const RegisterMap&, Assembler&);
  static constexpr Make makers[] = {
#define ISA(name, ...) make_##name##_emitter,
#include "ir/isa.def"
#undef ISA
  };
  return makers[static_cast<int>(program.isa)](program, map, assembler);
}

// Throws Xbyak::Error with ERR_CODE_IS_TOO_BIG if the buffer is too small.
Written write_kernel(const ir::Program& program, const RegisterMap& map, size_t pool_bytes, uint8_t* buffer,
                     size_t size) {
  Assembler assembler(size, buffer);
  std::fill_n(buffer, pool_bytes,
              uint8_t{0});  // between constants too: the same Program gives the same bytes
  map.pool().write(buffer);
  assembler.setSize(pool_bytes);
  const std::unique_ptr<Emitter> emitter = make_emitter(program, map, assembler);
  emitter->emit_kernel();
  return {std::move(emitter->lines()), emitter->take_frame(), assembler.getSize()};
}

}  // namespace

ir::Result<CodeBlob> emit_xbyak(const ir::Program& program, FramePointer frame) {
  ir::Result<RegisterMap> map = RegisterMap::make(program, frame);
  if (!map) return tl::unexpected(map.error());
  const size_t pool_bytes = map->pool().lay_out();
  for (size_t size = pool_bytes + bytes_per_kernel + bytes_per_inst * program.insts.size();; size *= 2) {
    const std::unique_ptr<uint8_t[]> room(new uint8_t[size + most_vector_bytes]);
    uint8_t* const buffer = Xbyak::CodeArray::getAlignedAddress(room.get(), most_vector_bytes);
    try {
      Written kernel = write_kernel(program, *map, pool_bytes, buffer, size);
      return publish({{buffer, kernel.bytes}, pool_bytes, std::move(kernel.lines), std::move(kernel.frame)});
    } catch (const Xbyak::Error& error) {
      POOLJIT_CHECK(static_cast<int>(error) == Xbyak::ERR_CODE_IS_TOO_BIG, error.what());
    }
  }
}

}  // namespace pooljit::jit
