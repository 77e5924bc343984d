#include "jit/llvm/link.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <map>

#include "jit/object/bytes.h"
#include "jit/object/call_frames.h"

namespace pooljit::jit {

namespace {

using llvm::object::ELFObjectFileBase;
using llvm::object::ELFSectionRef;
using llvm::object::RelocationRef;
using llvm::object::SectionRef;

// What LLVM says of a malformed object, and what a kernel may not have.
struct Unlinkable {
  std::string why;
};

template <typename T>
T value_of(llvm::Expected<T> expected) {
  if (!expected) throw Unlinkable{llvm::toString(expected.takeError())};
  return std::move(*expected);
}

std::span<const uint8_t> contents(const SectionRef& section) {
  const llvm::StringRef text = value_of(section.getContents());
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class Linker {
 public:
  explicit Linker(const llvm::object::ObjectFile& object) : object_(object) {}

  LinkedImage link() {
    for (const SectionRef& section : object_.sections())
      if (is_constants(section)) place(section, section.getAlignment().value());
    for (const SectionRef& section : object_.sections())
      if (section.isText() && section.getSize() > 0) place_code(section);
    for (const SectionRef& section : object_.sections())
      if (value_of(section.getName()) == ".eh_frame") take_frame(section);
    relocate();
    return std::move(image_);
  }

 private:
  static bool is_constants(const SectionRef& section) {
    const ELFSectionRef elf(section);
    const bool is_loaded = (elf.getFlags() & llvm::ELF::SHF_ALLOC) != 0;
    if (!is_loaded || section.isText() || section.getSize() == 0) return false;
    if (value_of(section.getName()) == ".eh_frame") return false;
    if ((elf.getFlags() & llvm::ELF::SHF_WRITE) != 0) throw Unlinkable{"the kernel has writable data"};
    return elf.getType() == llvm::ELF::SHT_PROGBITS;
  }

  void place(const SectionRef& section, size_t alignment) {
    const std::span<const uint8_t> bytes = contents(section);
    image_.bytes.resize(align_up(image_.bytes.size(), alignment));
    offsets_[section.getIndex()] = image_.bytes.size();
    image_.bytes.insert(image_.bytes.end(), bytes.begin(), bytes.end());
  }

  void place_code(const SectionRef& section) {
    if (code_) throw Unlinkable{"the kernel has several sections of code"};
    code_ = section;
    // Loops are aligned for the cache within the section, which begins at a line of it.
    constexpr size_t line_bytes = 64;
    place(section, std::max<size_t>(line_bytes, section.getAlignment().value()));
    image_.code_offset = offsets_[section.getIndex()];
  }

  void take_frame(const SectionRef& section) {
    const std::span<const uint8_t> frame = only_frame(contents(section));
    image_.frame.assign(frame.begin(), frame.end());
  }

  void relocate() {
    if (!code_) throw Unlinkable{"the kernel has no code"};
    for (const SectionRef& section : object_.sections()) {
      const auto relocated = value_of(section.getRelocatedSection());
      if (relocated == object_.section_end() || !offsets_.contains(relocated->getIndex())) continue;
      if (!relocated->isText()) throw Unlinkable{"the kernel's constants hold addresses"};
      for (const RelocationRef& relocation : section.relocations()) relocate(relocation);
    }
  }

  void relocate(const RelocationRef& relocation) {
    const llvm::object::SymbolRef symbol = *relocation.getSymbol();
    const auto section = value_of(symbol.getSection());
    const auto target =
        section == object_.section_end() ? offsets_.end() : offsets_.find(section->getIndex());
    if (target == offsets_.end())
      throw Unlinkable{"the kernel would call " + value_of(symbol.getName()).str()};
    if (relocation.getType() != llvm::ELF::R_X86_64_PC32)
      throw Unlinkable{"the kernel has a relocation of type " + std::to_string(relocation.getType())};
    const size_t at = image_.code_offset + relocation.getOffset();
    const int64_t addend = value_of(llvm::object::ELFRelocationRef(relocation).getAddend());
    const int64_t distance = static_cast<int64_t>(target->second + value_of(symbol.getAddress())) + addend -
                             static_cast<int64_t>(at);
    put_number<int32_t>(image_.bytes, at, static_cast<int32_t>(distance));
  }

  const llvm::object::ObjectFile& object_;
  LinkedImage image_;
  std::optional<SectionRef> code_;
  std::map<uint64_t, size_t> offsets_;  // in the image, by section
};

}  // namespace

ir::Result<LinkedImage> link_object(const llvm::object::ObjectFile& object) {
  try {
    return Linker(object).link();
  } catch (const Unlinkable& unlinkable) {
    return ir::unsupported("jit.llvm.codegen", unlinkable.why);
  }
}

}  // namespace pooljit::jit
