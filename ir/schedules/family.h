// A schedule family: which schedules of it suit a layer, and how they are lowered. One file per row of
// ir/schedules.def, ir/schedules/families/<name>.cpp, defines <name>_family.
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

// What the fields of a family's schedules may be: its space is every combination of them and of the lanes.
struct Knobs {
  std::vector<int> unroll;
  std::vector<Order> order;
  std::vector<Taps> taps = {Taps::unroll};
  std::vector<Tail> tail = {Tail::mask, Tail::overlap, Tail::split};
};

// A parameter of a schedule by the name that it has in its family: {"rows_together", "4"}. The text of a
// schedule says it by a field that all families share (unroll=4), which is something else in each.
struct Parameter {
  std::string_view name;
  std::string value;
};

struct FamilyInfo {
  Family family;
  std::string_view text;
  LaneUse lanes;
  // Whether the family can do the layer at all, else why not: check() refuses all its schedules so.
  Result<void> (*suits)(const Layer& layer);
  // Whether lower() makes a Program of the schedule, else why not (id "schedule.<rule>"). Asked of schedules
  // that keep the rules common to all families (ir/schedules/family.cpp).
  Result<void> (*check)(const Layer& layer, const Schedule& schedule);
  // Without an opinion on what is better: that is the chooser's (ir/schedules/choose/).
  Knobs (*knobs)(const Layer& layer);
  // The fields unroll, order and taps of a schedule by their names in this family.
  std::vector<Parameter> (*named)(const Schedule& schedule);
  // Fails where check() does.
  Result<Program> (*lower)(const Layer& layer, const Schedule& schedule);
};

const FamilyInfo& info(Family family);

// All parameters of a schedule: the lanes, those that its family names, the tail, and the stores where they
// are streamed.
std::vector<Parameter> parameters(const Schedule& schedule);

// The rules that all families share, and those of the schedule's family: what lower() would refuse.
Result<void> check(const Layer& layer, const Schedule& schedule);

#define FAMILY(name, text, note) extern const FamilyInfo name##_family;
#include "ir/schedules.def"
#undef FAMILY

inline constexpr Family all_families[] = {
#define FAMILY(name, text, note) Family::name,
#include "ir/schedules.def"
#undef FAMILY
};

// Vector registers that the schedule must leave free beside the values of its outputs.
int extra_registers(const PoolNest& nest, const ReductionFacts& facts);

}  // namespace pooljit::ir
