// AddressSanitizer, if the process has it. Kernels' code is not instrumented, so a call checks its views
// before it begins.
#pragma once

#include "runtime/memory_view.h"

namespace pooljit::runtime {

// Asks the process, whatever this library was compiled with.
bool has_address_sanitizer();

// The first byte of the view's elements that may not be touched, counted from its first; -1: there is none.
// Bytes between elements may be poisoned or not. Needs has_address_sanitizer().
int64_t first_poisoned(const MemoryView& view, const void* begin);

}  // namespace pooljit::runtime
