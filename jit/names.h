// Names of kernels for others' tools: perf, jitdump, gdb, several joined by commas. Off by default. The
// environment variable POOLJIT_NAMES, read once, asks for all kernels.
//
//   perf     a line of /tmp/perf-PID.map for each kernel, which `perf report` reads
//   jitdump  /tmp/jit-PID.dump, for `perf inject --jit` and `perf annotate`, with lines of the kernel's own
//            Program, which is written beside it (record with `perf record -k mono`); in JITDUMPDIR, if set
//   gdb      gdb's JIT interface: an object in memory with the symbol and the unwind table
//
// Files are made with mode 0600, and no link is followed. A file that cannot be written is left out in
// silence: a profiler's convenience is no reason for a kernel to fail. A forked child writes files of its
// own, for what it compiles itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/program.h"
#include "jit/backend.h"

namespace pooljit::jit {

struct Names {
  bool perf = false, jitdump = false, gdb = false;

  bool any() const { return perf || jitdump || gdb; }
};

// "perf,gdb"; nothing where a word is none of them.
std::optional<Names> parse_names(std::string_view text);

// These, and what the environment asks for; of its words those that we do not know are left out.
Names with_environment(Names names);

// Tells those who are asked for that the code has the name, which has no blanks. The program is the one that
// the code was made from. What comes back keeps it said; null if nothing has to.
std::shared_ptr<void> announce(Names names, const std::string& name, const CodeBlob& blob,
                               const ir::Program& program);

}  // namespace pooljit::jit
