// Executable memory, which is never writable and executable at once. Every kernel has its own pages, which go
// with their last owner.
//
// The usual way: code is written while its pages are writable, then mprotect makes them executable and no
// longer writable. Up to 16 pages that nobody has yet are mapped ahead, for all threads.
//
// Where that is refused (PR_SET_MDWE, systemd's MemoryDenyWriteExecute, a seccomp filter, SELinux's execmem):
// code is written into a file in memory (memfd), which is sealed against writing, mapped private and
// executable, and closed. No writable alias stays, no descriptor stays, and a forked child shares nothing
// that anybody could change. It takes about 10 us more per kernel, so it comes second. (Mapping one file
// twice, writable and executable, would let kernels share pages, but leaves the code writable through the
// other mapping.)
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

// A read-only, executable copy, aligned to a page. Fails with "jit.memory" if there is none, with
// "jit.executable" if both ways are refused.
ir::Result<CodeMemory> make_executable(std::span<const uint8_t> bytes);

}  // namespace pooljit::jit
