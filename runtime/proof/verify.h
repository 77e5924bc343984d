// Proof of a kernel's machine code, for every input. docs/notes/proof.md has the argument. Its parts:
//   - code: no branch, address or mask of a store depends on data, as the bytes say (proof/bytes/inspect.h);
//   - program: the Program that the back end consumed is its nest (proof/program/prove.h), for tensors small
//   enough;
//   - bytes: executed over terms, they store what the nest says (proof/bytes/prove_bytes.h); and so do parts
//   of
//     the tasks;
//   - probes: few inputs decide what the code does with all (runtime/proof/probes.h);
//   - memory: nothing but the elements of the views is touched.
// Probes and memory run in a child process: a kernel that is wrong there crashes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "proof/bytes/inspect.h"
#include "runtime/code.h"
#include "runtime/engines.h"
#include "runtime/proof/prober.h"

namespace pooljit::runtime {

struct ProofLimits {
  double work = 5e8;      // elements that the probes visit; beyond it a smaller tensor is probed instead
  double seconds = 1000;  // after which probing is given up
  // Probes as many elements where the bytes were executed, too; else a tenth of them will do.
  bool probes_whole = false;
};

struct Proof {
  std::string spec, backend, isa, schedule;
  int versions = 1;                    // of the code, proved one by one: what follows is of all together
  std::optional<jit::CodeFacts> code;  // absent: the engine runs no machine code
  int64_t program_outputs = 0;         // proved in the Program; 0: too large
  // Of the bytes, executed over terms (proof/bytes/prove_bytes.h); 0: too large, or what they store has no
  // reading.
  int64_t bytes_outputs = 0;
  int64_t bytes_kinds = 0;  // of planes, of which one each was read
  int64_t ranges = 0;       // of tasks, that were executed, all of them among these
  ProbeReport probes;
  double seconds = 0;
  // Of the same layer, which was executed and probed instead of this one; empty: the whole tensor was.
  std::string smaller;
  std::vector<std::string> sizes;  // of code for all extents: at which it was proved; else empty
  std::vector<std::string> left;   // what is not proved, a sentence each
  std::string failure;             // the first part that fails, and how; empty: proved
  bool ok() const { return failure.empty(); }
};

// Proves code that was made for the spec by these choices. Where its tensors are too large to be probed, its
// bytes are read, and code made the same way for a smaller tensor is probed, if it has the same loops; `left`
// says for which.
// Errors: "prove.size", "system.memory", "system.process".
ir::Result<Proof> prove_code(const Code& code, const frontend::PoolSpec& spec, const Choices& choices,
                             const ProofLimits& limits = {});

// Of the same code at another size: all have to be right. Counts are added up.
Proof with_size(Proof all, const Proof& one);

// Makes the code for a spec and proves it; of one with free dims the code for all sizes. Errors: those of
// parse_spec and of the engines.
ir::Result<Proof> verify(std::string_view spec_text, const Choices& choices, const ProofLimits& limits = {});

// For people, ending with a newline.
std::string print(const Proof& proof);

}  // namespace pooljit::runtime
