#include "tools/against_options.h"

#include "tools/fuzz/engine_rules.h"

namespace pooljit::tools {

CLI::Option* add_against(CLI::App& command, AgainstOptions& options) {
  CLI::Option* against = command.add_option(
      "--against", options.library,
      "A shared library with the function of include/pooljit_engine.h, compared with the oracle in place of "
      "pooljit's engines");
  command
      .add_flag("--strict", options.acceptance.strict,
                "What follows from the library's own rules (`pooljit rules`) is a finding, too")
      ->needs(against);
  command
      .add_option("--allow", options.acceptance.allow,
                  "Accept this difference (docs/fuzzing.md lists the names) in place of the rules; several "
                  "may be given")
      ->delimiter(',')
      ->needs(against);
  command
      .add_option("--known", options.acceptance.known,
                  "Accept the bugs of this file, too: NAME<TAB>LAYERS<TAB>REASON a line")
      ->needs(against);
  command
      .add_option("--case-seconds", options.case_seconds,
                  "How much CPU time a case may take; what takes more hangs")
      ->check(CLI::Range(0.01, 1e5))
      ->capture_default_str();
  return against;
}

ir::Result<fuzz::Accepted> accepted_of(const fuzz::OtherEngine& engine, const AgainstOptions& options) {
  // What the user wrote wrongly, before anything is asked.
  if (auto named = fuzz::Accepted::make(options.acceptance); !named) return named;
  if (!options.acceptance.takes_rules()) return fuzz::Accepted::make(options.acceptance);
  const auto rules = learn_rules(engine, options.case_seconds);
  if (!rules) return tl::unexpected(rules.error());
  return fuzz::Accepted::make(options.acceptance, rules->accepted());
}

}  // namespace pooljit::tools
