#include "export/source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "jit/object/elf_object.h"

namespace pooljit::runtime {
namespace {

using jit::ElfObject;
using jit::SectionId;

constexpr const char* directives[jit::section_count] = {".text", ".section .rodata,\"a\",@progbits",
                                                        ".section .data.rel.ro,\"aw\",@progbits", ".bss",
                                                        ".section .eh_frame,\"a\",@unwind"};

// One section: labels where symbols begin, bytes, and a directive for each field that the linker fills in.
class SectionText {
 public:
  SectionText(const ElfObject& object, SectionId id) : id_(id), section_(object.section(id)) {
    for (const ElfObject::Symbol& symbol : object.symbols())
      if (symbol.section == id) symbols_.emplace(symbol.offset, &symbol);
  }

  std::string print() {
    fmt::format_to(to(), "\n\t{}\n\t.balign {}\n.Lpooljit{}:\n", directives[static_cast<size_t>(id_)],
                   section_.alignment, static_cast<size_t>(id_));
    if (id_ == SectionId::bss) {
      fmt::format_to(to(), "\t.zero {}\n", section_.bytes.size());
      return out_;
    }
    for (size_t at = 0; at < section_.bytes.size();) {
      label(at);
      const auto next = symbols_.upper_bound(at);
      const size_t end = next == symbols_.end() ? section_.bytes.size() : next->first;
      bytes(at, std::min(end, at + bytes_per_line));
      at = std::min(end, at + bytes_per_line);
    }
    for (const ElfObject::Relocation& relocation : section_.relocations) relocate(relocation);
    return out_;
  }

 private:
  static constexpr size_t bytes_per_line = 16;

  std::back_insert_iterator<std::string> to() { return std::back_inserter(out_); }

  void label(size_t at) {
    const auto [begin, end] = symbols_.equal_range(at);
    for (auto it = begin; it != end; ++it) {
      const ElfObject::Symbol& symbol = *it->second;
      if (symbol.is_global) fmt::format_to(to(), "\t.globl {}\n", symbol.name);
      fmt::format_to(to(), "\t.type {0}, {1}\n\t.size {0}, {2}\n{0}:\n", symbol.name,
                     id_ == SectionId::text ? "@function" : "@object", symbol.bytes);
    }
  }

  void bytes(size_t begin, size_t end) {
    fmt::format_to(to(), "\t.byte 0x{:02x}\n",
                   fmt::join(section_.bytes.begin() + std::ptrdiff_t(begin),
                             section_.bytes.begin() + std::ptrdiff_t(end), ",0x"));
  }

  void relocate(const ElfObject::Relocation& relocation) {
    fmt::format_to(to(), "\t.reloc .Lpooljit{}+{}, {}, .Lpooljit{}{:+}\n", static_cast<size_t>(id_),
                   relocation.offset,
                   relocation.kind == ElfObject::RelocationKind::relative_4 ? "R_X86_64_PC32" : "R_X86_64_64",
                   static_cast<size_t>(relocation.target), relocation.addend);
  }

  const SectionId id_;
  const ElfObject::Section& section_;
  std::multimap<size_t, const ElfObject::Symbol*> symbols_;
  std::string out_;
};

std::string initializer(const ExportedTensor& tensor) {
  return fmt::format("{{{}, {}, {{{}}}, {{{}}}, {}}}", quoted(tensor.dtype), tensor.shape.size(),
                     fmt::join(tensor.shape, ", "), fmt::join(tensor.strides, ", "), tensor.bytes);
}

std::string info_source(const ExportedKernel& kernel) {
  std::string out;
  // The array's name; 0 where there are none.
  const auto array = [&](const char* what, const std::vector<ExportedTensor>& tensors) -> std::string {
    if (tensors.empty()) return "0";
    out += fmt::format("\nstatic const pooljit_export_tensor {}_{}[] = {{\n", kernel.name, what);
    for (const ExportedTensor& tensor : tensors) out += fmt::format("    {},\n", initializer(tensor));
    out += "};\n";
    return fmt::format("{}_{}", kernel.name, what);
  };
  const std::string operands = array("operands", kernel.operands), outputs = array("outputs", kernel.outputs),
                    indices = array("indices", kernel.indices);
  out += fmt::format("\nstatic const pooljit_export_body {}_bodies[] = {{\n", kernel.name);
  for (const ExportedCode& code : kernel.codes)
    out += fmt::format("    {{{}, {}, {}, {}}},\n", quoted(ir::info(code.isa).text),
                       quoted(code.code->info.schedule), quoted(code.proof), code.code->info.code_bytes);
  out += "};\n";
  out += fmt::format(
      "const pooljit_export_info {}_info = {{\n    sizeof(pooljit_export_info),\n    {},\n    {},\n    {},\n",
      kernel.name, quoted(kernel.text), quoted(kernel.backend), quoted(POOLJIT_VERSION));
  for (const ExportedTensor& tensor : {kernel.input, kernel.outputs[0]})
    out += fmt::format("    {},\n", initializer(tensor));
  out += fmt::format("    {},\n",
                     kernel.indices.empty() ? "{\"\", 0, {0}, {0}, 0}" : initializer(kernel.indices[0]));
  out += fmt::format("    {}, {},\n", kernel.operands.size(), operands);
  out += fmt::format("    {}, {}_bodies,\n    {},\n", kernel.codes.size(), kernel.name, kernel.scratch_bytes);
  out += fmt::format("    {}, {},\n    {}, {}}};\n", kernel.outputs.size(), outputs, kernel.indices.size(),
                     indices);
  return out;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out + "\"";
}

std::string assembly_source(const ElfObject& object) {
  std::string out = fmt::format("# Made by `pooljit export` {}.\n", POOLJIT_VERSION);
  for (size_t i = 0; i < jit::section_count; ++i)
    if (!object.section(SectionId(i)).bytes.empty()) out += SectionText(object, SectionId(i)).print();
  out +=
      "\n\t.section .note.gnu.property,\"a\",@note\n\t.balign 8\n\t.long 4, 16, 5\n\t.asciz \"GNU\"\n"
      "\t.long 0xc0000002, 4, 3, 0  # IBT, SHSTK\n"
      "\n\t.section .note.GNU-stack,\"\",@progbits\n";
  return out;
}

std::string info_source(std::span<const ExportedKernel> kernels, const std::string& header) {
  std::string out =
      fmt::format("/* Made by `pooljit export` {}. */\n#include \"{}\"\n", POOLJIT_VERSION, header);
  for (const ExportedKernel& kernel : kernels) out += info_source(kernel);
  return out;
}

}  // namespace pooljit::runtime
