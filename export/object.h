// Exported kernels as a relocatable object: bodies, entries, constants, NAME_info, unwind tables.
#pragma once

#include <span>

#include "jit/object/elf_object.h"
#include "export/kernel.h"

namespace pooljit::runtime {

// with_info: with the constants NAME_info; else these are another file's (export/source.h).
jit::ElfObject make_object(std::span<const ExportedKernel> kernels, bool with_info = true);

}  // namespace pooljit::runtime
