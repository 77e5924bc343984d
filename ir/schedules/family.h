// A schedule family: how to do a layer, in one of several forms. Each row of ir/schedules.def is a family;
// ir/schedules/families/<name>.cpp defines its <name>_family, which checks schedules and lowers them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/program.h"
#include "ir/reductions/reducer.h"
#include "ir/schedule.h"
#include "ir/schedules/layer.h"

namespace pooljit::ir {

struct FamilyInfo {
  Family family;
  LaneUse lanes;
  std::span<const Tail> tails;  // of the space, in this order
  // Whether the family can do the layer at all, else why not. If not, check() refuses all its schedules with
  // this error.
  Result<void> (*suits)(const Layer& layer);
  // Whether lower() makes a Program of the schedule, else why not (id "schedule.<rule>"). Called only for
  // schedules that keep the rules common to all families (ir/schedules/family.cpp).
  Result<void> (*check)(const Layer& layer, const Schedule& schedule);
  // Fails where check() does.
  Result<Program> (*lower)(const Layer& layer, const Schedule& schedule);
  // Vector registers that the Program of a schedule takes at once, at most: check() holds them against those
  // of the instruction set. Found without lowering; never less than the allocator finds, and at most a bound
  // more (tests/unit/registers_test.cpp). Null: the family's rules measure the tiles or rows of its code
  // instead.
  int (*registers)(const Layer& layer, const Schedule& schedule);
};

inline constexpr Tail all_tails[] = {Tail::mask, Tail::overlap, Tail::split};
inline constexpr Tail tails_within[] = {Tail::mask, Tail::split};  // write nothing twice

const FamilyInfo& info(Family family);

// Checks the rules that all families share and those of the schedule's family: refuses what lower() would
// refuse.
Result<void> check(const Layer& layer, const Schedule& schedule);
Result<void> check_common(const Layer& layer, const Schedule& schedule);  // the first only

#define FAMILY(name, ...) extern const FamilyInfo name##_family;
#include "ir/schedules.def"
#undef FAMILY

// True if the instruction set has the vector registers that the schedule takes.
bool has_registers(const Layer& layer, const Schedule& schedule);

// Vector registers that the schedule must leave free in addition to those of its outputs' values.
int extra_registers(const PoolNest& nest, const ReductionFacts& facts);

}  // namespace pooljit::ir
