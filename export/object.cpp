#include "export/object.h"

#include <algorithm>

#include "frontend/check.h"
#include "ir/check.h"
#include "jit/object/references.h"
#include "jit/xbyak/entry_code.h"
#include "export/info.h"
#include "export/linked.h"

namespace pooljit::runtime {
namespace {

using jit::ElfObject;
using jit::SectionId;

constexpr size_t cache_line = 64;  // also what vectors want to be aligned to

// Appends one version of the code; its bytes are the JIT's own, apart from where its constants lie.
class BodyWriter {
 public:
  BodyWriter(ElfObject& object, std::vector<jit::CodeFrame>& frames) : object_(object), frames_(frames) {}

  jit::ExportedBody add(const std::string& symbol, const Code& code) {
    const auto machine = code.machine();
    POOLJIT_CHECK(machine, "exported code is machine code");
    const jit::CodeBlob& blob = *machine->blob;
    const size_t constants = blob.image.size() - blob.code.size();
    const size_t pool =
        constants == 0 ? 0 : object_.append(SectionId::rodata, blob.image.data(), constants, cache_line);
    const size_t text = object_.append(SectionId::text, blob.code.data(), blob.code.size(), cache_line);
    for (const jit::ConstantReference& reference : constant_references(blob))
      object_.relocate(SectionId::text,
                       {text + reference.field, ElfObject::RelocationKind::relative_4, SectionId::rodata,
                        static_cast<int64_t>(pool + reference.target) -
                            static_cast<int64_t>(reference.next - reference.field)});
    object_.add_symbol({symbol, SectionId::text, text, blob.code.size(), false});
    frames_.push_back({text, blob.code.size(), blob.frame});
    jit::ExportedBody body{
        text, {machine->params.begin(), machine->params.end()}, {}, code.info.output_alignment};
    for (const std::vector<int64_t>& table : *machine->tables)
      body.tables.push_back(
          object_.append(SectionId::rodata, table.data(), table.size() * sizeof table[0], sizeof table[0]));
    return body;
  }

 private:
  ElfObject& object_;
  std::vector<jit::CodeFrame>& frames_;
};

jit::ExportedFunction add_bodies(const ExportedKernel& kernel, ElfObject& object,
                                 std::vector<jit::CodeFrame>& frames) {
  BodyWriter bodies(object, frames);
  const ir::PoolNest nest = make_nest(kernel.spec);
  std::vector<jit::ExportedFunction::Written> written;
  for (size_t i = 0; i < pools_of(nest).size(); ++i) {
    const ir::MemberPlace place = nest.member_place(i);
    written.push_back({.output = static_cast<int>(place.output),
                       .output_bytes = place.offset * ir::bytes(pools_of(nest)[i].output.dtype),
                       .indices = std::max(place.indices, 0)});
  }
  jit::ExportedFunction function{kernel.name,
                                 static_cast<int>(kernel.outputs.size()),
                                 static_cast<int>(kernel.indices.size()),
                                 std::move(written),
                                 kernel.has_batch(),
                                 static_cast<int>(kernel.operands.size()),
                                 kernel.scratch_bytes,
                                 frontend::largest_batch(kernel.spec),
                                 {}};
  for (const ExportedCode& exported : kernel.codes) {
    jit::ExportedIsa isa{exported.isa, exported.code->info.tasks, 0, {}};
    for (const Code* version : exported.code->versions()) {
      isa.scratch_bytes = std::max(isa.scratch_bytes, version->info.scratch_bytes);
      const char* const ending = version->info.output_alignment > 1 ? ".body.aligned" : ".body";
      isa.bodies.push_back(
          bodies.add(kernel.name + "." + std::string(ir::info(exported.isa).text) + ending, *version));
    }
    function.isas.push_back(std::move(isa));
  }
  return function;
}

void add_frames(const std::vector<jit::CodeFrame>& frames, ElfObject& object) {
  std::vector<jit::FrameOfFunction> functions;
  for (const jit::CodeFrame& frame : frames)
    functions.push_back({frame.begin, frame.bytes, frame.instructions});
  const jit::FrameTable table = frame_table(functions);
  object.append(SectionId::eh_frame, table.bytes.data(), table.bytes.size(), 8);
  for (size_t i = 0; i < functions.size(); ++i)
    object.relocate(SectionId::eh_frame, {table.begins[i], ElfObject::RelocationKind::relative_4,
                                          SectionId::text, static_cast<int64_t>(functions[i].begin)});
}

}  // namespace

ElfObject make_object(std::span<const ExportedKernel> kernels, bool with_info) {
  ElfObject object;
  std::vector<jit::CodeFrame> frames;
  jit::EntryWriter entries(object);
  for (const ExportedKernel& kernel : kernels) {
    const jit::ExportedFunction function = add_bodies(kernel, object, frames);
    kernel.is_free() ? append_linked(kernel, function, object) : entries.add(function, frames);
    if (with_info) append_info(kernel, object);
  }
  add_frames(frames, object);
  return object;
}

}  // namespace pooljit::runtime
