// Names of kernels for others' tools, as the environment variable POOLJIT_NAMES asks: perf, jitdump, gdb,
// several joined by commas. Off by default. Read once.
//
//   perf     a line of /tmp/perf-PID.map for each kernel, which `perf report` reads
//   jitdump  /tmp/jit-PID.dump, for `perf inject --jit` and `perf annotate`, with lines of the kernel's own
//            Program, which is written beside it (record with `perf record -k mono`); in JITDUMPDIR, if set
//   gdb      gdb's JIT interface: an object in memory with the symbol and the unwind table
//
// Files are made with mode 0600, and no link is followed. What cannot be written is left out in silence: a
// profiler's convenience is no reason for a kernel to fail. A forked child writes files of its own, for what
// it compiles itself.
#pragma once

#include <memory>
#include <string>

#include "ir/program.h"
#include "jit/backend.h"

namespace pooljit::jit {

// Says that the code has the name, which has no blanks. The program is the one that the code was made from.
// What comes back keeps it said; null if nobody asks.
std::shared_ptr<void> announce(const std::string& name, const CodeBlob& blob, const ir::Program& program);

// Whether anybody asks, so that a name need not be made in vain.
bool names_are_wanted();

}  // namespace pooljit::jit
