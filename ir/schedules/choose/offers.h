// Offers: the schedules that each family proposes for a layer, best first, or why the family declines it. One
// file per family; ir/schedules/choose/chooser.cpp orders them. Only this folder has opinions.
#pragma once

#include <string_view>
#include <vector>

#include "ir/schedules/family.h"

namespace pooljit::ir {

struct Facts;

struct Offer {
  std::vector<Schedule> schedules;  // best first; all of them pass check()
  // Why there are none although the family could do the layer: another family does it better. Empty: it
  // cannot do the layer, or it offers schedules.
  std::string_view left = {};
};

// Stops when it has `most`.
using MakeOffer = Offer (*)(const Layer& layer, size_t most);

#define FAMILY(name, ...) Offer offer_##name(const Layer& layer, size_t most);
#include "ir/schedules.def"
#undef FAMILY

// The schedules of these families in an order of their own, whether or not others are better.
std::vector<Schedule> channels_last_schedules(Facts& facts, size_t most);
std::vector<Schedule> channels_first_schedules(Facts& facts, size_t most);
std::vector<Schedule> window_rows_schedules(const Layer& layer);
// Schedules whose vectors hold elements that lie apart, for layers that have no others: a few of each family
// that can, in no order.
std::vector<Schedule> offer_lanes_apart(const Layer& layer);

// --- what several offers ask. Facts that today follow from the instruction set, and mean different things.

// The registers do not hold what several vectors of windows share.
inline bool has_few_registers(const Layer& layer) { return layer.registers() < 32; }
// Shuffles across the halves of a vector cost more than those within a half. Bytes have none across.
inline bool shuffles_in_halves(const Layer& layer) { return info(layer.isa()).shuffles == Shuffles::halves; }
// Bytes are added in lanes of 16 bits.
inline bool short_sums(const Layer& layer) {
  const ReductionFacts& facts = layer.facts(LaneUse::moved);
  return bytes(layer.nest().input.dtype) == 1 && !facts.is_idempotent && facts.working_bytes == 2;
}

// Adds the schedule once for each way to do a tail of `count` elements, best first.
void add_tails(std::vector<Schedule>& found, Schedule schedule, const Layer& layer, int64_t count);

// The ordinary tail of families that take whole vectors or masks.
inline Tail exact_tail(const Layer& layer) { return layer.can_mask() ? Tail::mask : Tail::split; }

}  // namespace pooljit::ir
