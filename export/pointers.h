// Pointers: a structure of an object whose members hold addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/object/elf_object.h"

namespace pooljit::runtime {

// Knows where each address lies in the structure, and what it points to.
class Pointers {
 public:
  explicit Pointers(jit::ElfObject& object) : object_(object) {}

  void to_text(size_t at, std::string_view text) {
    const std::string with_end(text);
    to(at, jit::SectionId::rodata,
       object_.append(jit::SectionId::rodata, with_end.c_str(), with_end.size() + 1, 1));
  }
  void to(size_t at, jit::SectionId section, size_t offset) { all_.push_back({at, section, offset}); }
  // To numbers, which are appended.
  void to_numbers(size_t at, const std::vector<int64_t>& numbers) {
    to(at, jit::SectionId::rodata,
       object_.append(jit::SectionId::rodata, numbers.data(), numbers.size() * sizeof(int64_t),
                      alignof(int64_t)));
  }
  // Appends the structure to .data.rel.ro.
  size_t place(const void* data, size_t bytes) {
    using jit::ElfObject, jit::SectionId;
    const size_t base = object_.append(SectionId::relro, data, bytes, alignof(uint64_t));
    for (const Pointer& pointer : all_)
      object_.relocate(SectionId::relro, {base + pointer.at, ElfObject::RelocationKind::address_8,
                                          pointer.section, static_cast<int64_t>(pointer.offset)});
    return base;
  }

 private:
  struct Pointer {
    size_t at;
    jit::SectionId section;
    size_t offset;
  };
  jit::ElfObject& object_;
  std::vector<Pointer> all_;
};

}  // namespace pooljit::runtime
