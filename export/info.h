// NAME_info as it lies in memory. The structures are the C ones of the generated headers
// (export/header.cpp), member by member; addresses are words that relocations fill in.
#pragma once

#include <array>
#include <cstdint>

#include "jit/object/elf_object.h"
#include "export/kernel.h"

namespace pooljit::runtime {

inline constexpr size_t info_max_rank = 8;

// Appends it to .data.rel.ro, and what it points to to .rodata.
void append_info(const ExportedKernel& kernel, jit::ElfObject& object);

}  // namespace pooljit::runtime
