// Executable memory. Code is written while its pages are writable and becomes executable when they no longer
// are: a page is never both. Every kernel has its own pages, which go with their last owner. (Mapping the
// same pages twice, writable and executable, would let kernels share pages, but needs a file descriptor and
// leaves the code writable through the other mapping.)
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
