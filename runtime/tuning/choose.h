// Which schedule compile() takes: the one that was asked for, one from the tuning database, or the default.
#pragma once

#include <string>

#include "frontend/pool_spec.h"
#include "runtime/engines.h"
#include "runtime/tuning/database.h"

namespace pooljit::runtime {

// Where the database is. `required`: it was named in the options, so that it has to be there.
struct TuneSource {
  std::string path;  // empty: there is none
  bool required = true;
};

// "schedule.unpool": an unpool has none.
ir::Result<void> has_schedules(const frontend::PoolSpec& spec);

// The key of a spec's entry in a database, on this machine.
TuneEntry tune_key(const frontend::PoolSpec& spec, const Choices& choices, int threads);

// Fills choices.schedule if the database has one that this machine measured and that suits the spec. Returns
// why the schedule is what it is, for people: "tuned: FILE", "measured: FILE". Errors, of a required
// database: "tune.open", "tune.format".
ir::Result<std::string> choose_schedule(const frontend::PoolSpec& spec, const TuneSource& source, int threads,
                                        Choices& choices);

}  // namespace pooljit::runtime
