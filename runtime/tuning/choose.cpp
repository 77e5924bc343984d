#include "runtime/tuning/choose.h"

#include <fmt/format.h>

#include "ir/schedule_text.h"
#include "runtime/machine.h"

namespace pooljit::runtime {
namespace {

constexpr std::string_view by_default = "the default";

std::string instead(const TuneSource& source, std::string_view reason) {
  return fmt::format("{}; {}: {}", by_default, source.path, reason);
}

}  // namespace

ir::Result<void> has_schedules(const frontend::PoolSpec& spec) {
  if (!is_unpool(spec)) return {};
  return ir::unsupported("schedule.unpool", "an unpool has no schedules: it is a routine of the runtime");
}

TuneEntry tune_key(const frontend::PoolSpec& spec, const Choices& choices, int threads) {
  TuneEntry key;
  key.signature = frontend::signature(spec);
  key.cpu = machine().cpu;
  key.caches = print(machine().caches);
  key.threads = threads;
  key.isa = ir::info(choices.isa).text;
  key.backend = info(choices.engine).text;
  key.version = POOLJIT_VERSION;
  return key;
}

ir::Result<std::string> choose_schedule(const frontend::PoolSpec& spec, const TuneSource& source, int threads,
                                        Choices& choices) {
  if (choices.schedule) return "asked for";
  if (source.path.empty() || !info(choices.engine).is_native || is_unpool(spec))
    return std::string(by_default);
  const auto database = shared_tune_database(source.path);
  if (!database && source.required) return tl::unexpected(database.error());
  if (!database) return instead(source, database.error().message);
  const TuneLookup found = look_up(**database, tune_key(spec, choices, threads));
  if (!found.entry) return instead(source, found.reason);
  const auto schedule = ir::parse_schedule(found.entry->schedule);
  if (!schedule) return instead(source, schedule.error().message);
  // The file may say anything: the schedule has to suit the nest.
  Choices tuned = choices;
  tuned.schedule = *schedule;
  if (const auto program = make_program(make_nest(spec), tuned, consumed_stage(choices.engine)); !program)
    return instead(source, "its schedule does not suit the spec: " + program.error().message);
  choices = tuned;
  return fmt::format("{}: {}", found.entry->proof == measured_proof ? "measured" : "tuned", source.path);
}

}  // namespace pooljit::runtime
