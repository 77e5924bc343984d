// Another engine, in a shared library with the entry point of include/pooljit_engine.h, compared with the
// oracle.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "lab/check_case.h"
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

  // One that is linked in, for tests. takes may be null.
  static OtherEngine of(decltype(&pooljit_engine_run) run) { return {"", run, nullptr, {}}; }

  // Calls it in this process, which it may end: on the kinds of data that the case names, or on its elements,
  // with buffers against a guard page behind them, and again with one before them; of a case with a
  // neighbour, on that first, each time. Errors: those of parse_spec; "check.data", "check.size",
  // "system.memory".
  ir::Result<Outcome> try_case(const FuzzCase& one, const Accepted& accepted) const;

  // Whether it does the layer, by its own pooljit_engine_takes, or else by calling it.
  bool takes(const std::string& spec) const;

  // What it makes of one input; absent: it does not do the layer, or returned an error.
  struct Answer {
    runtime::Case data;
    runtime::Results results;
  };
  std::optional<Answer> ask(const frontend::PoolSpec& spec, std::span<const uint64_t> elements) const;

  // By itself; "" if it does not tell.
  std::string version() const;

  const std::string& path() const { return path_; }

 private:
  using Run = decltype(&pooljit_engine_run);
  using Takes = decltype(&pooljit_engine_takes);
  // What the library may leave out.
  struct Words {
    decltype(&pooljit_engine_version) version = nullptr;
    decltype(&pooljit_engine_start) start = nullptr;
    decltype(&pooljit_engine_error) error = nullptr;
  };
  OtherEngine(std::string path, Run run, Takes takes, Words words)
      : path_(std::move(path)), run_(run), takes_(takes), words_(words) {}
  Outcome judge(const ir::PoolNest& nest, int code, runtime::Case& data, size_t place,
                const std::string& spec, const Accepted& accepted) const;
  void call_neighbour(const frontend::PoolSpec& spec, const std::string& field) const;

  std::string path_;
  Run run_;
  Takes takes_;  // null: it does not say
  Words words_;
};

}  // namespace pooljit::fuzz
