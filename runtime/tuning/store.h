// Writes the tuning database (runtime/tuning/database.h). Several processes may write it: each adds its
// entries to those of the others, under a lock on FILE.lock. The file is written aside, flushed to the disk
// and renamed, so a reader always sees it whole, even if a writer dies. It keeps its mode, and its owner if
// the system allows that. If a write is refused, the database stays as it was, and so does the folder except
// for FILE.lock.
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

// The errors that store_entries() would give, except for a full disk: asked before there are results to lose.
ir::Result<void> check_storable(const std::string& path);

// Whether there is something at the path; false for an empty one.
bool is_there(const std::string& path);

// The file's content; empty if it is not there. Errors: "tune.open", "tune.format".
ir::Result<TuneDatabase> load_entries(const std::string& path);

}  // namespace pooljit::runtime
