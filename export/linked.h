// NAME_code of a kernel with free dims: the code and what the library has to know of it, as
// runtime/linked_code.h lays it out.
#pragma once

#include "export/kernel.h"
#include "jit/object/elf_object.h"
#include "jit/xbyak/entry_code.h"

namespace pooljit::runtime {

// Appends it to .data.rel.ro. function: where the bodies of the kernel lie in the object.
void append_linked(const ExportedKernel& kernel, const jit::ExportedFunction& function,
                   jit::ElfObject& object);

}  // namespace pooljit::runtime
