// Offers: what each family would do for a layer, best first, and which rule leaves the layer to others. One
// file per family; ir/schedules/choose/chooser.cpp puts them in an order. Only this folder has opinions.
#pragma once

#include <string_view>
#include <vector>

#include "ir/schedules/family.h"

namespace pooljit::ir {

struct Offer {
  std::vector<Schedule> schedules;  // best first; all of them pass check()
  // Why there are none, though the family could do the layer: another does it better. Empty: it cannot, or it
  // offers.
  std::string_view left = {};
};

// Stops when it has `most`.
using MakeOffer = Offer (*)(const Layer& layer, size_t most);

#define FAMILY(name, text, note) Offer offer_##name(const Layer& layer, size_t most);
#include "ir/schedules.def"
#undef FAMILY

// --- what several offers ask. Three facts that all follow from the instruction set today, and mean different
// things.

// The registers do not hold what several vectors of windows share.
inline bool has_few_registers(const Layer& layer) { return layer.registers() < 32; }
// Shuffles across the halves of a vector cost more than those within, and bytes have none across.
inline bool shuffles_in_halves(const Layer& layer) { return info(layer.isa()).shuffles == Shuffles::halves; }
// Memory was measured with this instruction set on a Zen 3; with AVX-512 on a Sapphire Rapids
// (docs/notes/performance.md).
inline bool was_measured_on_zen3(const Layer& layer) { return layer.isa() == least_isa; }

// `found` once for each way to do a tail of `count` elements, best first.
void add_tails(std::vector<Schedule>& found, Schedule schedule, const Layer& layer, int64_t count);

// The ordinary tail of families that take whole vectors or masks.
inline Tail exact_tail(const Layer& layer) { return layer.can_mask() ? Tail::mask : Tail::split; }

}  // namespace pooljit::ir
