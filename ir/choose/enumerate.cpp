#include "ir/choose/enumerate.h"

#include "ir/schedules/choose/chooser.h"
#include "ir/schedules/choose/members.h"

namespace pooljit::ir {

std::vector<Schedule> enumerate_schedules(const PoolNest& nest, Isa isa, size_t most,
                                          const Machine& machine) {
  if (!nest.members.empty()) return offer_members(nest, isa, most, machine);
  const auto layer = Layer::of(nest, isa, machine);
  if (!layer) return {Schedule{}};  // lower() will say why
  std::vector<Schedule> all = decide(*layer, most).schedules;
  if (all.empty()) all.emplace_back();  // of all sizes: likewise
  return all;
}

}  // namespace pooljit::ir
