// Writes the tuning database (runtime/tuning/database.h). Any number of processes may: each adds its entries
// to what the others wrote, under a lock on FILE.lock. The file is written aside, flushed to the disk and
// renamed, so that whoever reads or dies at whatever moment has it whole. It keeps its mode, and its owner
// where the system lets it. What is refused leaves the database, and the folder but for FILE.lock, as they
// were.
#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/tuning/database.h"

namespace pooljit::runtime {

// Adds entries; one with the same key is replaced. Lines of the file that are no entry are dropped. Errors:
// "tune.open", "tune.format" (it is another kind of file, which is left alone), "file.create" (its folder
// takes no files), "file.write" (it may not be written, or the disk is full), "file.rename".
ir::Result<void> store_entries(const std::string& path, const std::vector<TuneEntry>& entries);

// The errors that store_entries() would have but for a full disk, before there is something to lose.
ir::Result<void> check_storable(const std::string& path);

// Whether there is something at the path; false for an empty one.
bool is_there(const std::string& path);

// What the file holds; nothing if it is not there. Errors: "tune.open", "tune.format".
ir::Result<TuneDatabase> load_entries(const std::string& path);

}  // namespace pooljit::runtime
