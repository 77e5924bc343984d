// Exported kernels as source: an assembly file, from which an assembler makes the same bytes, and a C file
// with the constants NAME_info.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "jit/object/elf_object.h"
#include "export/kernel.h"

namespace pooljit::runtime {

// For GNU as and clang, through the C preprocessor or not.
std::string assembly_source(const jit::ElfObject& object);

// header: what to include.
std::string info_source(std::span<const ExportedKernel> kernels, const std::string& header);

// A text as C writes it, in quotes.
std::string quoted(std::string_view text);

}  // namespace pooljit::runtime
