// The `pooljit` command: the subcommands' table, the command line's errors, the exit code. docs/cli.md is its
// manual.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "tools/command.h"

namespace {

using namespace pooljit;
using tools::Exit;

constexpr void (*subcommands[])(CLI::App&, tools::Action&) = {
    tools::add_run,   tools::add_show,     tools::add_check,  tools::add_verify,  tools::add_fuzz,
    tools::add_rules, tools::add_oracle,   tools::add_bench,  tools::add_list,    tools::add_schedules,
    tools::add_tune,  tools::add_evaluate, tools::add_export, tools::add_corners,
#ifdef POOLJIT_WITH_ONNX
    tools::add_onnx,
#endif
};

constexpr const char* description =
    "pooljit makes machine code for one pooling layer, described by one line of text.\n"
    "\n"
    "  pooljit show  'max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)' --stage asm\n"
    "  pooljit check 'avg_pool2d(uint8[8,16,32,32]:nhwc, kernel_size=2)'\n"
    "  pooljit verify 'max_pool2d(float32[1,64,56,56], kernel_size=3, return_indices=True)'\n"
    "  pooljit bench 'max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)'\n"
    "  pooljit export 'max_pool2d(float32[1,64,112,112], kernel_size=3)' --name pool -o pool.o --header "
    "pool.h\n"
    "  pooljit run   'max_pool2d(float32[1,3,224,224], kernel_size=2)' --input x.npy --output y.npy\n"
    "\n"
    "`pooljit CMD --help` says more about one command.";

Exit usage_error(const std::string& message, const std::string& subcommand) {
  fmt::print(stderr, "pooljit: usage: {}\nhint: see `pooljit{} --help`\n", message, subcommand);
  return Exit::usage;
}

// A benchdnn problem is a spec that begins like an option; a blank before it keeps CLI11 from taking it for
// one.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  for (std::string& argument : arguments)
    if (argument.starts_with("--pool ")) argument.insert(0, " ");
  return arguments;
}

// The command line as CLI11 understands it; the chosen subcommand leaves its action.
Exit parse_and_run(int argc, char** argv) {
  CLI::App app(description);
  app.name("pooljit");
  app.footer(tools::exit_code_help());
  app.set_version_flag("--version", "pooljit " POOLJIT_VERSION);
  app.require_subcommand(1);

  tools::Action action;
  for (const auto add : subcommands) add(app, action);
  app.add_subcommand("version", "Print the version")->callback([&action] {
    action = []() -> ir::Result<Exit> {
      fmt::print("pooljit {}\n", POOLJIT_VERSION);
      return Exit::ok;
    };
  });

  const std::vector<std::string> arguments = arguments_of(argc, argv);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  try {
    app.parse(argc, pointers.data());
  } catch (const CLI::Success& asked_for_help) {
    app.exit(asked_for_help);
    return Exit::ok;
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const auto unknown = app.remaining();
    if (chosen.empty() && !unknown.empty()) return usage_error("unknown command " + unknown.front(), "");
    return usage_error(error.what(), chosen.empty() ? "" : " " + chosen.front()->get_name());
  }
  const ir::Result<Exit> exit = action();
  return exit ? *exit : tools::report(exit.error());
}

// Output that could not be written (a full disk behind `> file`) is an error, too.
Exit flushed(Exit exit) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit;
  const Exit write_failed =
      tools::report({ir::ErrorKind::system, "file.write", "cannot write to the standard output", ""});
  return exit == Exit::ok ? write_failed : exit;
}

}  // namespace

int main(int argc, char** argv) {
  // A file over the size limit is an error from write(), which has a message, and not a death.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return static_cast<int>(flushed(parse_and_run(argc, argv)));
  } catch (const std::bad_alloc&) {
    return static_cast<int>(
        tools::report({ir::ErrorKind::system, "system.memory", "out of memory", "use a smaller tensor"}));
  }
}
