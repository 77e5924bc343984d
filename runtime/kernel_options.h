// Options: how to compile a kernel, as its users say it. options.h reads them.
#pragma once

#include <string>

namespace pooljit::runtime {

// How to compile. The words are those of pooljit_compile's options.
struct Options {
  std::string backend = "auto";  // auto xbyak llvm interpreter reference; auto: xbyak
  std::string isa = "auto";      // auto avx2 avx512; auto: the best that this machine has
  // As `pooljit show --stage schedule` prints it; empty: the best one for the spec.
  std::string schedule = {};
  // Of the built-in pool; 0: as many as the process may use. Tiny layers stay on the calling thread.
  int threads = 0;
  // Proves the code right for every input before it is handed out, in a child process; a fraction of a second
  // to minutes. What is too large for that is proved for a smaller tensor: CodeInfo::proof begins with
  // that, and says which.
  bool verify = false;
  // A file of `pooljit tune`: where it has a schedule for the spec that was measured on this machine, that is
  // taken; `schedule` weighs more. Empty: the file that the environment variable POOLJIT_TUNE_DB names, if it
  // is there.
  std::string tune_db = {};
  // Times a few schedules when the signature is first compiled, and takes the fastest: how many ("6"),
  // "same_bits" for only such as give the default's bits, or both ("8,same_bits"); "0": none. Costs about 3
  // ms, more for layers that take longer than 0.1 ms. `schedule` and an entry of `tune_db` weigh more; what
  // was measured is added to `tune_db`. Empty: what set_measure() says.
  std::string measure = {};
  // Who is told the kernel's name: "perf", "jitdump" and "gdb", several joined by commas; besides those that
  // the environment variable POOLJIT_NAMES names. Empty: nobody.
  std::string names = {};
  // What backend "auto" is where no machine code can run (the processor has no AVX2, or the system refuses
  // executable memory): "reference", whose results are the same but slow; "never": an error. What asks for an
  // isa or a schedule asks for machine code, and fails too. Kernel::fallback() says when it happened.
  std::string fallback = "reference";
  // The layer's name in its model, "resnet/pool1": `names` show it before ours. Letters, digits and any of
  // _./-:+#@, at most 128. Layers of one signature share their code, under whatever label; where names are
  // asked for each label has code of its own. Errors: "runtime.label".
  std::string label = {};
};

}  // namespace pooljit::runtime
