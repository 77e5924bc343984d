// A subcommand of `pooljit`: one file cmd_<name>.cpp with one function add_<name>, listed in main.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ir/error.h"

namespace CLI {
class App;
}

namespace pooljit::tools {

enum class Exit : uint8_t {
#define EXIT(name, code, meaning) name = code,
#include "tools/exit_codes.def"
#undef EXIT
};

// What to do once the whole command line has been understood.
using Action = std::function<ir::Result<Exit>()>;

void add_run(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_fuzz(CLI::App& app, Action& action);
void add_rules(CLI::App& app, Action& action);
void add_oracle(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_corners(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_schedules(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_evaluate(CLI::App& app, Action& action);
void add_onnx(CLI::App& app, Action& action);  // only with POOLJIT_ONNX

Exit exit_of_error(const ir::Error& error);  // by its kind
// "pooljit: id: message" and "hint: ..." on stderr; the exit code of the error's kind.
Exit report(const ir::Error& error);

// The table of exit codes, for --help.
std::string exit_code_help();

}  // namespace pooljit::tools
