// A relocatable ELF object for x86-64 Linux, in memory: what `pooljit export` writes to a file and what gdb
// is told of a kernel by. The same contents give the same bytes.
//
// The layout is the gABI's and the x86-64 psABI's, with the structures of <elf.h>. Not here: several sections
// of one kind, symbols from elsewhere, debug information.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pooljit::jit {

enum class SectionId : uint8_t {
  text,      // code
  rodata,    // constants
  relro,     // constants that hold addresses: the dynamic linker fills them in
  bss,       // zero at first
  eh_frame,  // unwind tables
};
inline constexpr size_t section_count = 5;

class ElfObject {
 public:
  enum class RelocationKind : uint8_t {
    relative_4,  // the distance from the field to the target
    address_8,
  };
  // A field that the linker fills in with `target`'s address + `addend`. The field's content before is kept
  // in the object, and means nothing.
  struct Relocation {
    size_t offset = 0;
    RelocationKind kind = RelocationKind::relative_4;
    SectionId target = SectionId::text;
    int64_t addend = 0;
  };
  struct Symbol {
    std::string name;
    SectionId section = SectionId::text;
    size_t offset = 0, bytes = 0;
    bool is_global = true;
  };
  struct Section {
    std::vector<uint8_t> bytes;
    std::vector<Relocation> relocations;
    size_t alignment = 1;
    uint64_t address = 0;  // where it is loaded already, for a debugger
  };

  Section& section(SectionId id) { return sections_[static_cast<size_t>(id)]; }
  const Section& section(SectionId id) const { return sections_[static_cast<size_t>(id)]; }
  const std::vector<Symbol>& symbols() const { return symbols_; }

  // Appends at a multiple of the alignment; returns the offset.
  size_t append(SectionId id, const void* bytes, size_t count, size_t alignment);
  void relocate(SectionId id, const Relocation& relocation) { section(id).relocations.push_back(relocation); }
  void add_symbol(Symbol symbol) { symbols_.push_back(std::move(symbol)); }

  std::vector<uint8_t> write() const;

 private:
  std::array<Section, section_count> sections_;
  std::vector<Symbol> symbols_;
};

}  // namespace pooljit::jit
