// Output files that appear whole or not at all, and all of them or none.
//
// Each file is written aside, in the folder where it is to appear, and renamed when all are complete. A path
// that cannot be written is found by add(), before any work is done. Files that are not committed are removed
// again. Not promised: if the last of several renames is refused by the system, files that were replaced
// before it are removed, and their old content is gone.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/written_aside.h"

namespace pooljit::tools {

class OutputFiles {
 public:
  OutputFiles() = default;
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // The number of the file for write(). Errors: "file.create", "file.kind", "file.same".
  ir::Result<size_t> add(const std::string& path);
  // Appends. Errors: "file.write".
  ir::Result<void> write(size_t file, std::span<const std::byte> bytes) { return files_[file].write(bytes); }
  // Errors: "file.write", "file.rename".
  ir::Result<void> commit();

 private:
  std::vector<runtime::WrittenAside> files_;
  bool committed_ = false;
};

}  // namespace pooljit::tools
