// Disassembly of a blob, with Zydis. Columns: offset from the entry, instruction in Intel syntax, and at the
// first instruction of each Program line that line. Targets and constants are offsets too, so that a listing
// does not depend on where the code lies. Constants behind the code are counted, not disassembled.
#include <Zydis/Zydis.h>

#include "ir/append.h"
#include "ir/text.h"
#include "jit/backend.h"

namespace pooljit::jit {

namespace {

struct Decoded {
  std::string text;
  size_t length = 1;
};

Decoded decode(std::span<const uint8_t> code, size_t offset) {
  ZydisDisassembledInstruction instruction;
  const std::span<const uint8_t> rest = code.subspan(offset);
  if (!ZYAN_SUCCESS(
          ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, offset, rest.data(), rest.size(), &instruction)))
    return {fmt::format("db 0x{:02x}", rest[0])};
  return {instruction.text, instruction.info.length};
}

std::string source(const ir::Program& program, int32_t inst) {
  return inst < 0 ? "" : ir::print(program, program.insts[static_cast<size_t>(inst)]);
}

}  // namespace

std::string listing(const CodeBlob& blob, const ir::Program& program) {
  std::string out;
  size_t line = 0;
  for (size_t offset = 0; offset < blob.code.size();) {
    const Decoded decoded = decode(blob.code, offset);
    std::string comment;
    for (; line < blob.lines.size() && blob.lines[line].offset <= offset; ++line)
      comment = source(program, blob.lines[line].inst);
    if (comment.empty())
      ir::append(out, "{:6x}  {}\n", offset, decoded.text);
    else
      ir::append(out, "{:6x}  {:<56}; {}\n", offset, decoded.text, comment);
    offset += decoded.length;
  }
  ir::append(out, "; {} bytes of code, {} of constants\n", blob.code.size(), blob.bytes - blob.code.size());
  return out;
}

}  // namespace pooljit::jit
