#include "tools/against_options.h"

namespace pooljit::tools {

CLI::Option* add_against(CLI::App& command, AgainstOptions& options) {
  CLI::Option* against = command.add_option(
      "--against", options.library,
      "A shared library with the function of include/pooljit_engine.h, compared with the oracle in place of "
      "pooljit's engines");
  command
      .add_flag("--strict", options.acceptance.strict,
                "Known differences are findings, too, but for those of --allow and --known")
      ->needs(against);
  command
      .add_option(
          "--allow", options.acceptance.allow,
          "Accept this difference (docs/fuzzing.md lists the names), and no other; several may be given")
      ->delimiter(',')
      ->needs(against);
  command
      .add_option("--known", options.acceptance.known,
                  "Accept the differences of this file, and no others: NAME<TAB>LAYERS<TAB>REASON a line")
      ->needs(against);
  command
      .add_option("--case-seconds", options.case_seconds, "How long a case may take; what takes longer hangs")
      ->check(CLI::Range(0.01, 1e5))
      ->capture_default_str();
  return against;
}

}  // namespace pooljit::tools
