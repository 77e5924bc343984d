// A schedule family: which schedules of it suit a nest, and how they are lowered. One file per row of
// ir/schedules.def defines <name>_family.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedule.h"

namespace pooljit::ir {

struct FamilyInfo {
  Family family;
  std::string_view text;
  LaneUse lanes;
  // Its schedules for the nest, best first; empty where it cannot do the nest. working_bytes: of the nest's
  // widest lane. It may stop when it has `most`.
  std::vector<Schedule> (*enumerate)(const PoolNest& nest, Isa isa, int working_bytes, size_t most);
  // Called with schedules that keep the rules common to all families (ir/schedule.cpp).
  Result<Program> (*lower)(const PoolNest& nest, const Schedule& schedule, Isa isa);
};

#define FAMILY(name, text, note) extern const FamilyInfo name##_family;
#include "ir/schedules.def"
#undef FAMILY

// Bytes of the widest lane that the nest needs, epilogue and all, in vectors whose lanes are used so.
Result<int> working_bytes(const PoolNest& nest, Isa isa, LaneUse lanes);

// Vector registers that the schedule must leave free beside the values of its outputs.
int extra_registers(const PoolNest& nest, const ReductionFacts& facts);

// True of ISAs whose registers do not hold what several vectors of windows share: AVX2's sixteen.
inline bool has_few_registers(Isa isa) { return info(isa).vector_registers < 32; }

// True if the ISA can mask the loads and stores of the nest's elements.
bool can_mask(const PoolNest& nest, Isa isa);

// The smallest power of two that is at least `count`, but no more than the lanes that fit the ISA's vector.
int fitting_lanes(int64_t count, Isa isa, int working_bytes);

// `found` once for each way to do a tail of `count` elements, best first.
void add_tails(std::vector<Schedule>& found, Schedule schedule, const PoolNest& nest, Isa isa, int64_t count);

// Vectors that together cover elements begin .. end-1: whole ones, then as the tail says.
struct Slice {
  int64_t begin = 0;
  int lanes = 1;
  std::vector<int64_t> stored;  // 0/1 per lane; empty: all
};
// Elements of a slice; a lane that is not stored takes what changes nothing.
Value load_channels(Builder& builder, const ReductionFacts& facts, Type type, const Address& address,
                    const Slice& slice);
std::vector<Slice> slices(int64_t begin, int64_t end, int lanes, Tail tail);

}  // namespace pooljit::ir
