// The words of Options: parsed from text, and turned into choices that this build and machine can follow.
#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"
#include "runtime/engines.h"
#include "runtime/kernel_options.h"

namespace pooljit::runtime {

// "backend=xbyak isa=avx512 threads=2 schedule=channels_last(lanes=16, ...)". Errors: "runtime.options".
ir::Result<Options> parse_option_words(std::string_view text);

// "6", "same_bits", "8,same_bits"; "" and "0": none. Errors: "runtime.options".
ir::Result<Measuring> parse_measuring(std::string_view text);

// Errors: "runtime.options", "runtime.label", "runtime.threads", "runtime.isa", "backend.missing",
// "schedule.*".
ir::Result<Choices> resolve(const Options& options);

// If no machine code can run, backend=auto is the reference, unless the options forbid that or ask for
// something that only machine code has.
bool may_fall_back(const Options& options);
// Whether an error of compiling says that no machine code can run.
bool runs_no_code(const ir::Error& error);

// resolve(), or the reference instead if that already shows that no machine code can run. Errors: those of
// resolve().
struct Resolved {
  Choices choices;
  std::string fallback;  // why the reference was taken; empty: it was not
};
ir::Result<Resolved> resolve_or_fall_back(const Options& options);

// Of the built-in pool, >= 1.
int thread_count(const Options& options);

}  // namespace pooljit::runtime
