// Another engine, in a shared library with the entry point of include/pooljit_engine.h, compared with the
// oracle.
#pragma once

#include <memory>
#include <string>

#include "ir/error.h"
#include "pooljit_engine.h"
#include "tools/fuzz/fuzz_case.h"
#include "tools/fuzz/outcome.h"

namespace pooljit::fuzz {

class OtherEngine {
 public:
  // Loads the library, for the life of the process. Errors: "fuzz.library".
  static ir::Result<OtherEngine> open(const std::string& path);

  // Calls it in this process: on the kinds of data that the case names, or on its elements. Errors: those of
  // parse_spec; "check.data", "check.size", "system.memory".
  ir::Result<Outcome> try_case(const FuzzCase& one) const;

  const std::string& path() const { return path_; }

 private:
  using Run = decltype(&pooljit_engine_run);
  OtherEngine(std::string path, Run run) : path_(std::move(path)), run_(run) {}
  std::string path_;
  Run run_;
};

}  // namespace pooljit::fuzz
