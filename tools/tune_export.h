// What was measured, in the files of others: rows of `pooljit tune --samples` as T4 results of the autotuning
// community, or as a cache file of Kernel Tuner; the database as JSON. Each row's correctness is our proof's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/tuning/database.h"

namespace pooljit::tools {

using SampleRows = std::vector<nlohmann::ordered_json>;

// The rows of a file of `pooljit tune --samples`, of this spec only if one is given. Errors: "file.open",
// "tune.samples" (a line is no such row; there is none of the spec; they are of several specs).
ir::Result<SampleRows> read_samples(const std::string& path, const std::string& spec);

nlohmann::ordered_json as_t4(const SampleRows& rows);
nlohmann::ordered_json as_kernel_tuner(const SampleRows& rows);
nlohmann::ordered_json database_json(const runtime::TuneDatabase& database);

}  // namespace pooljit::tools
