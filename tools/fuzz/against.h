// Another engine, in a shared library with the entry point of include/pooljit_engine.h, compared with the
// oracle.
#pragma once

#include <memory>
#include <string>

#include "ir/error.h"
#include "pooljit_engine.h"
#include "tools/fuzz/accepted.h"
#include "tools/fuzz/fuzz_case.h"
#include "tools/fuzz/outcome.h"

namespace pooljit::fuzz {

class OtherEngine {
 public:
  // Loads the library, for the life of the process; in a child first, because its constructors are foreign
  // code, too. Errors: "fuzz.library", "system.process", "system.memory".
  static ir::Result<OtherEngine> open(const std::string& path);

  // Calls it in this process, which it may end: on the kinds of data that the case names, or on its elements,
  // with buffers against a guard page behind them, and again with one before them. Errors: those of
  // parse_spec; "check.data", "check.size", "system.memory".
  ir::Result<Outcome> try_case(const FuzzCase& one, const Accepted& accepted) const;

  // Whether it does the layer, by its own pooljit_engine_takes, or else by calling it.
  bool takes(const std::string& spec) const;

  const std::string& path() const { return path_; }

 private:
  using Run = decltype(&pooljit_engine_run);
  using Takes = decltype(&pooljit_engine_takes);
  OtherEngine(std::string path, Run run, Takes takes) : path_(std::move(path)), run_(run), takes_(takes) {}
  std::string path_;
  Run run_;
  Takes takes_;  // null: it does not say
};

}  // namespace pooljit::fuzz
