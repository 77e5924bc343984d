#include "jit/object/elf_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "jit/object/bytes.h"

namespace pooljit::jit {

namespace {

struct SectionRow {
  const char* name;
  const char* relocations_name;
  uint32_t type;
  uint64_t flags;
};
constexpr SectionRow rows[section_count] = {
    {".text", ".rela.text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR},
    {".rodata", ".rela.rodata", SHT_PROGBITS, SHF_ALLOC},
    {".data.rel.ro", ".rela.data.rel.ro", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE},
    {".bss", "", SHT_NOBITS, SHF_ALLOC | SHF_WRITE},
    {".eh_frame", ".rela.eh_frame", SHT_X86_64_UNWIND, SHF_ALLOC},
};

// The code may be entered where the CPU wants endbr64, and returns with calls' own addresses.
constexpr uint32_t property_note[] = {
    4,
    16,
    NT_GNU_PROPERTY_TYPE_0,
    0x00554e47,  // "GNU"
    GNU_PROPERTY_X86_FEATURE_1_AND,
    4,
    GNU_PROPERTY_X86_FEATURE_1_IBT | GNU_PROPERTY_X86_FEATURE_1_SHSTK,
    0,
};

// A table of strings: each once, "" first.
class Strings {
 public:
  uint32_t add(const std::string& text) {
    const auto [known, is_new] = places_.try_emplace(text, static_cast<uint32_t>(bytes_.size()));
    if (is_new) bytes_.insert(bytes_.end(), text.c_str(), text.c_str() + text.size() + 1);
    return known->second;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_ = {0};
  std::map<std::string, uint32_t> places_ = {{"", 0}};
};

template <typename T>
void append_struct(std::vector<uint8_t>& out, const T& value) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

// Writes one object: the header, the sections one after the other, the table of sections.
class Writer {
 public:
  explicit Writer(const ElfObject& object) : object_(object), file_(sizeof(Elf64_Ehdr)) {
    headers_.push_back({});
    for (size_t i = 0; i < section_count; ++i) {
      numbers_[i] = 0;
      const ElfObject::Section& section = object.section(SectionId(i));
      if (section.bytes.empty()) continue;
      numbers_[i] = headers_.size();
      add(rows[i].name, rows[i].type, rows[i].flags, section.alignment, section.bytes);
      headers_.back().sh_addr = section.address;
    }
  }

  std::vector<uint8_t> write() {
    std::vector<uint8_t> note;
    for (const uint32_t word : property_note) append_number<uint32_t>(note, word);
    add(".note.gnu.property", SHT_NOTE, SHF_ALLOC, 8, note);
    add(".note.GNU-stack", SHT_PROGBITS, 0, 1, {});
    const auto symbol_table = static_cast<uint32_t>(headers_.size());
    add_symbols(symbol_table);
    for (size_t i = 0; i < section_count; ++i) add_relocations(i, symbol_table);
    add_names();
    finish();
    return std::move(file_);
  }

 private:
  void add(const std::string& name, uint32_t type, uint64_t flags, size_t alignment,
           const std::vector<uint8_t>& bytes) {
    Elf64_Shdr header{};
    header.sh_name = names_.add(name);
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_addralign = alignment;
    header.sh_size = bytes.size();
    file_.resize(align_up(file_.size(), alignment));
    header.sh_offset = file_.size();
    if (type != SHT_NOBITS) file_.insert(file_.end(), bytes.begin(), bytes.end());
    headers_.push_back(header);
  }

  void add_symbols(uint32_t table_number) {
    std::vector<uint8_t> table;
    Strings names;
    append_struct(table, Elf64_Sym{});
    uint32_t locals = 1;
    for (size_t i = 0; i < section_count; ++i) {
      if (numbers_[i] == 0) continue;
      Elf64_Sym symbol{};
      symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
      symbol.st_shndx = static_cast<uint16_t>(numbers_[i]);
      append_struct(table, symbol);
      section_symbols_[i] = locals++;
    }
    for (const bool global : {false, true})
      for (const ElfObject::Symbol& from : object_.symbols()) {
        if (from.is_global != global) continue;
        Elf64_Sym symbol{};
        const bool is_code = from.section == SectionId::text;
        symbol.st_name = names.add(from.name);
        symbol.st_info = ELF64_ST_INFO(global ? STB_GLOBAL : STB_LOCAL, is_code ? STT_FUNC : STT_OBJECT);
        symbol.st_shndx = static_cast<uint16_t>(numbers_[static_cast<size_t>(from.section)]);
        symbol.st_value = from.offset;
        symbol.st_size = from.bytes;
        append_struct(table, symbol);
        locals += global ? 0 : 1;
      }
    add(".symtab", SHT_SYMTAB, 0, 8, table);
    headers_.back().sh_link = table_number + 1;
    headers_.back().sh_info = locals;
    headers_.back().sh_entsize = sizeof(Elf64_Sym);
    add(".strtab", SHT_STRTAB, 0, 1, names.bytes());
  }

  void add_relocations(size_t section, uint32_t symbol_table) {
    const auto& relocations = object_.section(SectionId(section)).relocations;
    if (relocations.empty()) return;
    std::vector<uint8_t> table;
    for (const ElfObject::Relocation& from : relocations) {
      Elf64_Rela relocation{};
      const uint32_t type = from.kind == ElfObject::RelocationKind::relative_4 ? R_X86_64_PC32 : R_X86_64_64;
      relocation.r_offset = from.offset;
      relocation.r_info = ELF64_R_INFO(uint64_t{section_symbols_[static_cast<size_t>(from.target)]}, type);
      relocation.r_addend = from.addend;
      append_struct(table, relocation);
    }
    add(rows[section].relocations_name, SHT_RELA, SHF_INFO_LINK, 8, table);
    headers_.back().sh_link = symbol_table;
    headers_.back().sh_info = static_cast<uint32_t>(numbers_[section]);
    headers_.back().sh_entsize = sizeof(Elf64_Rela);
  }

  void add_names() {
    names_.add(".shstrtab");
    const std::vector<uint8_t> bytes = names_.bytes();
    add(".shstrtab", SHT_STRTAB, 0, 1, bytes);
  }

  void finish() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(headers_.size());
    header.e_shstrndx = static_cast<uint16_t>(headers_.size() - 1);
    file_.resize(align_up(file_.size(), 8));
    header.e_shoff = file_.size();
    std::memcpy(file_.data(), &header, sizeof header);
    for (const Elf64_Shdr& section : headers_) append_struct(file_, section);
  }

  const ElfObject& object_;
  std::vector<uint8_t> file_;
  Strings names_;
  std::vector<Elf64_Shdr> headers_;
  std::array<size_t, section_count> numbers_{};  // of each section; 0: it is empty
  std::array<uint32_t, section_count> section_symbols_{};
};

}  // namespace

size_t ElfObject::append(SectionId id, const void* bytes, size_t count, size_t alignment) {
  Section& to = section(id);
  to.alignment = std::max(to.alignment, alignment);
  const uint8_t padding = id == SectionId::text ? 0xcc : 0;  // int3: nobody gets there
  to.bytes.resize(align_up(to.bytes.size(), alignment), padding);
  const size_t offset = to.bytes.size();
  const auto* const from = static_cast<const uint8_t*>(bytes);
  to.bytes.insert(to.bytes.end(), from, from + count);
  return offset;
}

std::vector<uint8_t> ElfObject::write() const { return Writer(*this).write(); }

}  // namespace pooljit::jit
