// A row of samples: what `pooljit evaluate` prints of one schedule, and `pooljit tune --samples` keeps. It
// describes itself: the spec, the machine, versions, and whether anything disturbed the measurement.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "frontend/pool_spec.h"
#include "lab/tuner.h"
#include "runtime/tuning/database.h"

namespace pooljit::tools {

class RowMaker {
 public:
  // key: of runtime::tune_key.
  RowMaker(const frontend::PoolSpec& spec, const runtime::TuneEntry& key);

  // "spec", "machine", "versions": what all rows of the spec begin with.
  const nlohmann::ordered_json& about() const { return about_; }

  // proof: of an Examiner; counters: null if there are none.
  nlohmann::ordered_json measured(const runtime::TuneSample& sample, const nlohmann::ordered_json& proof,
                                  const nlohmann::ordered_json& counters) const;
  // A schedule that is refused.
  nlohmann::ordered_json refused(const std::string& schedule, const ir::Error& error) const;

 private:
  nlohmann::ordered_json about_;
};

// What rows of one sweep have in common: rows of the same group are about the same spec on the same machine,
// with the same threads, instruction set, engine and version.
std::string group_of(const nlohmann::ordered_json& row);

// Whether the object has the fields that a row of a measured schedule needs, or is one of a refused schedule.
bool is_row(const nlohmann::ordered_json& row);
bool is_refusal(const nlohmann::ordered_json& row);

}  // namespace pooljit::tools
