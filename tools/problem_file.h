// Problem files: one spec a line, `NAME<TAB>SPEC` or `SPEC`; empty lines and lines that begin with # are
// skipped, and so is what stands behind a second tab. `pooljit onnx` prints such a file.
#pragma once

#include <string>
#include <vector>

#include "ir/error.h"

namespace pooljit::tools {

struct Problem {
  std::string name;  // "line 7" where the file gives none
  std::string spec;
  int line = 0;  // of the file, from 1 on
  bool has_name = false;
};

// Errors: "file.open", "file.read", "problems.empty".
ir::Result<std::vector<Problem>> read_problems(const std::string& path);

}  // namespace pooljit::tools
