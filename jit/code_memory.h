// Executable memory. Code is written while its pages are writable and becomes executable when they no longer
// are: a page is never both. Every kernel has its own pages, which go with their last owner; up to 16 that
// nobody has yet are mapped ahead, for all threads. (Mapping the same pages twice, writable and executable,
// would let kernels share pages, but leaves the code writable through the other mapping. A file of memory
// that is mapped executable only and written to as a file takes 6 us less per kernel, but keeps a descriptor
// that others may close and use again, and is shared with forked children.)
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ir/error.h"

namespace pooljit::jit {

struct CodeMemory {
  const uint8_t* bytes = nullptr;
  std::shared_ptr<void> owner;  // unmaps
};

// A read-only, executable copy, aligned to a page. Fails with "jit.memory".
ir::Result<CodeMemory> make_executable(std::span<const uint8_t> bytes);

}  // namespace pooljit::jit
