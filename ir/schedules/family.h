// A schedule family: which of its schedules suit a layer, and how they are lowered. Each row of
// ir/schedules.def is a family; ir/schedules/families/<name>.cpp defines its <name>_family.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "ir/reductions/reducer.h"
#include "ir/schedule.h"
#include "ir/schedules/layer.h"

namespace pooljit::ir {

// The values that the fields of a family's schedules may have. The family's space is every combination of
// them and of the lanes.
struct Knobs {
  std::vector<int> unroll;
  std::vector<Order> order;
  std::vector<Taps> taps = {Taps::unroll};
  std::vector<Tail> tail = {Tail::mask, Tail::overlap, Tail::split};
};

// A parameter of a schedule by the name that it has in its family: {"rows_together", "4"}. In the text of a
// schedule the same value stands in a field that all families share (unroll=4) and that means something else
// in each.
struct Parameter {
  std::string_view name;
  std::string value;
};

struct FamilyInfo {
  Family family;
  std::string_view text;
  LaneUse lanes;
  // Whether the family can do the layer at all, else why not. If not, check() refuses all its schedules with
  // this error.
  Result<void> (*suits)(const Layer& layer);
  // Whether lower() makes a Program of the schedule, else why not (id "schedule.<rule>"). Called only for
  // schedules that keep the rules common to all families (ir/schedules/family.cpp).
  Result<void> (*check)(const Layer& layer, const Schedule& schedule);
  // What the fields may be. Which values are better is the chooser's question (ir/schedules/choose/).
  Knobs (*knobs)(const Layer& layer);
  // The fields unroll, order and taps of a schedule by their names in this family.
  std::vector<Parameter> (*named)(const Schedule& schedule);
  // Fails where check() does.
  Result<Program> (*lower)(const Layer& layer, const Schedule& schedule);
};

const FamilyInfo& info(Family family);

// All parameters of a schedule: the lanes, those that its family names, the tail, and the stores if they are
// streamed.
std::vector<Parameter> parameters(const Schedule& schedule);

// Checks the rules that all families share and those of the schedule's family: refuses what lower() would
// refuse.
Result<void> check(const Layer& layer, const Schedule& schedule);

#define FAMILY(name, text, note) extern const FamilyInfo name##_family;
#include "ir/schedules.def"
#undef FAMILY

inline constexpr Family all_families[] = {
#define FAMILY(name, text, note) Family::name,
#include "ir/schedules.def"
#undef FAMILY
};

// Vector registers that the schedule must leave free in addition to those of its outputs' values.
int extra_registers(const PoolNest& nest, const ReductionFacts& facts);

}  // namespace pooljit::ir
