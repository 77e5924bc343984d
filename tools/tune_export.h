// Measurements in the file formats of other tools: rows of samples (tools/sample_row.h) as T1 and T4 of the
// autotuning community, or as a cache file of Kernel Tuner; the database as JSON. Fields are as Kernel Tuner
// 1.4 and the FAIR benchmark hub write them. Each row's correctness is our proof's.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/tuning/database.h"

namespace pooljit::tools {

using SampleRows = std::vector<nlohmann::ordered_json>;

// Which rows of a file; what is empty is not asked for.
struct RowFilter {
  std::string spec, isa;
  std::optional<int> threads;
  std::string cpu;  // a part of its text
};

// The last row of each schedule, all about one spec on one machine, with one instruction set and as many
// threads. Errors: those of parse_spec, "file.open", "tune.samples" (a line is no row; there is none that was
// asked for; they are of several machines, ...).
ir::Result<SampleRows> read_samples(const std::string& path, const RowFilter& filter);

nlohmann::ordered_json as_t1(const SampleRows& rows);
nlohmann::ordered_json as_t4(const SampleRows& rows);
// The file of T4 that tells of the machine and of what was installed there.
nlohmann::ordered_json as_t4_metadata(const SampleRows& rows);
nlohmann::ordered_json as_kernel_tuner(const SampleRows& rows);
nlohmann::ordered_json database_json(const runtime::TuneDatabase& database);

}  // namespace pooljit::tools
