// Engines: from a spec's nest and the choices made for it to Code. A row of runtime/engines.def each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/schedule.h"
#include "jit/names.h"
#include "runtime/code.h"

namespace pooljit::runtime {

enum class Engine : uint8_t {
#define ENGINE(name, text, maker, note) name,
#include "runtime/engines.def"
#undef ENGINE
};

// How the schedule is found if the caller names none: candidates that are timed; 0: none, the default is
// taken.
struct Measuring {
  int candidates = 0;
  bool same_bits = false;  // only such as give the default's bits
  bool operator==(const Measuring&) const = default;
};

// The code to make: everything is decided except, perhaps, the schedule.
struct Choices {
  Engine engine = Engine::xbyak;
  ir::Isa isa = ir::least_isa;
  std::optional<ir::Schedule> schedule;  // absent: the nest's best one
  jit::Names names = {};                 // who is told of it
  Measuring measuring = {};
  std::string label = {};  // that they are told beside our name
};

using MakeCode = ir::Result<std::shared_ptr<Code>> (*)(ir::PoolNest nest, const Choices& choices);

struct EngineInfo {
  Engine engine;
  std::string_view text;
  bool is_native;  // runs on this machine's ISA; the others run any ISA's Program, or none
  MakeCode make;
};
std::span<const EngineInfo> engines();
const EngineInfo& info(Engine engine);
std::optional<Engine> find_engine(std::string_view text);

// Loads what the engine needs beyond this library: LLVM, for its back end. Fails with "backend.missing" where
// this build lacks the back end or its module is not there.
ir::Result<void> require(Engine engine);
bool is_built(Engine engine);  // require() succeeds

// The stage of the Program that a native engine of this build consumes.
ir::Stage consumed_stage(Engine engine);

// The Program for the choices at a stage, as `pooljit show` prints it.
ir::Result<ir::Program> make_program(const ir::PoolNest& nest, const Choices& choices, ir::Stage stage);

// The schedule of the choices: the one asked for, or the first of enumerate_schedules.
ir::Schedule chosen_schedule(const ir::PoolNest& nest, const Choices& choices);
// All that the chooser offers, best first.
std::vector<ir::Schedule> offered_schedules(const ir::PoolNest& nest, const Choices& choices);

// Calls make(schedule) for the chosen schedule. If a default needs more registers than its family counted on,
// the next one that does not is taken.
template <typename Make>
auto make_with_registers(const ir::PoolNest& nest, const Choices& choices, const Make& make) {
  auto made = make(chosen_schedule(nest, choices));
  if (made || choices.schedule || made.error().id != "schedule.registers") return made;
  for (const ir::Schedule& next : offered_schedules(nest, choices))
    if (auto other = make(next); other) return other;
  return made;
}

}  // namespace pooljit::runtime
