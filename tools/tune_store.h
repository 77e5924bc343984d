// Writes the tuning database (runtime/tuning/database.h). Any number of processes may: each adds its entries
// to what the others wrote, under a lock on FILE.lock. The file is written aside, flushed to the disk and
// renamed, so that whoever reads or dies at whatever moment has it whole.
#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/tuning/database.h"

namespace pooljit::tools {

// Adds entries; one with the same key is replaced. Lines of the file that are no entry are dropped. Errors:
// "tune.open", "tune.format" (it is another kind of file, which is left alone), "file.create", "file.write",
// "file.rename".
ir::Result<void> store_entries(const std::string& path, const std::vector<runtime::TuneEntry>& entries);

// What the file holds; nothing if it is not there. Errors: "tune.open", "tune.format".
ir::Result<runtime::TuneDatabase> load_entries(const std::string& path);

}  // namespace pooljit::tools
