// The files in which perf reads about code made at run time: its map of names, and its jitdump files (both
// are described in tools/perf/Documentation of Linux: jit-interface.txt, jitdump-specification.txt).
#pragma once

#include <string>

#include "ir/program.h"
#include "jit/backend.h"

namespace pooljit::jit {

// Appends a line to /tmp/perf-PID.map.
void add_to_perf_map(const std::string& name, const CodeBlob& blob);

// Appends the code and its lines to jit-PID.dump, and writes the Program's text to jit-PID-NUMBER.program
// beside it, both in JITDUMPDIR or /tmp.
void add_to_jitdump(const std::string& name, const CodeBlob& blob, const ir::Program& program);

}  // namespace pooljit::jit
