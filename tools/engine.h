// The options by which every subcommand chooses an engine, and the library's calls with errors as values.
#pragma once

#include <CLI/CLI.hpp>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "pooljit.hpp"

namespace pooljit::tools {

// Adds SPEC, the one positional argument.
CLI::Option* add_spec(CLI::App& command, std::string& spec);

// Adds --backend, --isa and --schedule; add_threads adds --threads.
void add_engine(CLI::App& command, Options& options);
void add_threads(CLI::App& command, Options& options);

ir::Result<Kernel> compile_kernel(std::string_view spec, const Options& options);
ir::Result<void> run_kernel(const Kernel& kernel, const void* input, void* output, void* indices);

}  // namespace pooljit::tools
