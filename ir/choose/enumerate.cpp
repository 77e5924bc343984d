#include "ir/choose/enumerate.h"

#include <optional>

#include "ir/general/general.h"
#include "ir/schedules/choose/chooser.h"
#include "ir/schedules/choose/members.h"
#include "ir/schedules/family.h"

namespace pooljit::ir {
namespace {

bool is_over_channels(const Schedule& schedule) {
  return schedule.family() == Family::channels_last || schedule.family() == Family::separable;
}

// The best of those for an image of a usual size that code for all sizes can have. A stand-in's few pixels
// say little of how many vectors of one are best done together, or whether rolling pays: 0.5 to 1 of the time
// over the networks' layers, on a busy Zen 5.
std::optional<Schedule> best_at_usual_size(const Layer& layer) {
  constexpr size_t enough = 16;
  const PoolNest usual = usual_nest(layer.nest());
  const auto sized = Layer::of(usual, layer.isa(), layer.machine());
  if (!sized) return std::nullopt;
  for (const Schedule& one : decide(*sized, enough).schedules)
    if (is_over_channels(one) && check(layer, one)) return one;
  return std::nullopt;
}

}  // namespace

std::vector<Schedule> enumerate_schedules(const PoolNest& nest, Isa isa, size_t most,
                                          const Machine& machine) {
  if (is_pools(nest)) return offer_members(nest, isa, most, machine);
  const auto layer = Layer::of(nest, isa, machine);
  if (!layer) return {Schedule{}};  // lower() will say why
  std::vector<Schedule> all = decide(*layer, most).schedules;
  if (nest.has_any_size() && !nest.is_backward() && !all.empty() && all[0].family() == Family::channels_last)
    if (const auto best = best_at_usual_size(*layer)) {
      std::erase(all, *best);
      all.insert(all.begin(), *best);
      if (all.size() > most) all.pop_back();
    }
  if (all.empty()) all.emplace_back();  // of all sizes: likewise
  return all;
}

}  // namespace pooljit::ir
