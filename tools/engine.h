// The options by which every subcommand says what to pool and by which engine.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "runtime/kernel_options.h"
#include "tools/examiner.h"

namespace pooljit::tools {

// SPEC, the positional argument.
CLI::Option* add_spec(CLI::App& command, std::string& spec);

// --size: of a spec with free dims (tools/sizes.h).
CLI::Option* add_size(CLI::App& command, std::string& size);
// --general: code for all sizes.
CLI::Option* add_general(CLI::App& command, bool& general);
// Several, with commas or the option repeated: each is done.
CLI::Option* add_sizes(CLI::App& command, std::vector<std::string>& sizes);

// The library's options of the same names. What their values may be is the library's to say.
void add_backend(CLI::App& command, runtime::Options& options);
void add_fallback(CLI::App& command, runtime::Options& options);
void add_isa(CLI::App& command, runtime::Options& options);
void add_schedule(CLI::App& command, runtime::Options& options);
void add_measure(CLI::App& command, runtime::Options& options);
void add_tune_db(CLI::App& command, runtime::Options& options);
void add_threads(CLI::App& command, runtime::Options& options);

// --proof none, compare or verify.
void add_proof(CLI::App& command, Verdict& verdict, const std::string& help);

}  // namespace pooljit::tools
