#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/families/window_rows_lines.h"
#include "ir/schedules/families/window_rows_narrow.h"

#include <algorithm>
#include <bit>

#include "ir/schedules/choose/facts.h"
#include "ir/schedules/lanes/lanes_apart.h"

namespace pooljit::ir {
namespace {

constexpr int64_t most_together = 8;

bool is_idempotent(const Layer& layer) { return layer.facts(window_rows_family.lanes).is_idempotent; }

// Without masks a vector of more lanes than there are taps falls into pieces; places need a tap in each lane.
int lanes_of_taps(const Layer& layer, int64_t taps) {
  int lanes = layer.fitting_lanes(window_rows_family.lanes, taps);
  if (lanes > taps && !layer.can_mask()) lanes /= 2;
  if (!has_places(layer.nest())) return lanes;
  const int64_t least = least_joined_row_taps(layer);
  const int64_t least_narrow_vectors =
      Facts(layer, window_rows_family.lanes, lanes).answer(Question::window_rows_narrow);
  const auto is_narrow = [&] {
    return NarrowRow::suits(layer.nest(), layer.facts(window_rows_family.lanes), layer.isa(), lanes);
  };
  const auto is_worth_widening = [&] {
    return least >= least_narrow_vectors * lanes && taps <= NarrowRow::most_vectors * lanes;
  };
  while (lanes > 1 && (lanes > least || (is_narrow() && !is_worth_widening()))) lanes /= 2;
  return lanes;
}

// All windows of a row, or neighbouring channels of one window each.
std::vector<Schedule> together(const Layer& layer, Schedule schedule) {
  std::vector<Schedule> found;
  const int64_t outputs = joined_row_outputs(layer);
  const int64_t near =
      Facts(layer, window_rows_family.lanes, schedule.lanes).answer(Question::window_rows_together);
  const int64_t count =
      outputs > 1 ? outputs : std::min({layer.nest().channels, most_windows_together(layer), near});
  if (count < 2 || count > most_together) return found;
  std::get<WindowRowsFields>(schedule.own).windows_together =
      static_cast<int>(outputs > 1 ? count : std::bit_floor(static_cast<uint64_t>(count)));
  add_tails(found, schedule, layer, joined_row_taps(layer));
  std::erase_if(found, [&](const Schedule& one) { return !check(layer, one); });
  if (!is_idempotent(layer))  // a blend more than a mask
    std::stable_partition(found.begin(), found.end(),
                          [](const Schedule& one) { return one.tail == Tail::mask; });
  return found;
}

// With the lanes of a schedule that the layer can have.
std::vector<Schedule> all_tails_of(const Layer& layer, const Schedule& schedule, int64_t taps,
                                   bool are_unlike) {
  std::vector<Schedule> found = together(layer, schedule);
  std::vector<Schedule> alone;
  add_tails(alone, schedule, layer, taps);
  // The shortest of unlike windows may have no whole vector; with indices all vectors are.
  if (are_unlike || has_places(layer.nest()))
    std::erase_if(alone, [&](const Schedule& one) { return !check(layer, one); });
  // Of windows done one by one, what a vector has twice costs more than shorter vectors, unless each of these
  // takes powers.
  const bool pays_twice = layer.facts(window_rows_family.lanes).has_long_taps() && !layer.can_mask();
  if (!is_idempotent(layer) && !pays_twice)
    std::erase_if(alone, [](const Schedule& one) { return one.tail == Tail::overlap; });
  found.insert(found.end(), alone.begin(), alone.end());
  return found;
}

// Code for all sizes.
Offer offer_any_size(const Layer& layer) {
  const bool by_lines = WindowLines::suits(with_joined_rows(layer));
  Schedule schedule = schedule_of(Family::window_rows);
  schedule.lanes = layer.most_lanes(by_lines ? LaneUse::moved : LaneUse::joined);
  schedule.tail = layer.can_mask() ? Tail::mask : Tail::overlap;
  int64_t together = by_lines ? WindowLines::most_together(layer)
                              : std::min(layer.nest().channels, most_windows_together(layer));
  if (!by_lines) together = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(together)));
  Offer offer;
  for (; together > 0; together /= 2) {
    std::get<WindowRowsFields>(schedule.own).windows_together = static_cast<int>(together);
    if (check(layer, schedule)) offer.schedules.push_back(schedule);
  }
  return offer;
}

}  // namespace

Offer offer_window_rows(const Layer& layer, size_t most) {
  if (layer.nest().has_any_size()) return offer_any_size(layer);
  const int64_t taps = joined_row_taps(layer);
  Schedule schedule = schedule_of(Family::window_rows);
  schedule.lanes = lanes_of_taps(layer, taps);
  if (!can_take_window_rows(layer, schedule.lanes)) return {};
  if (holds_lanes_apart(layer.nest(), schedule)) return {{}, "taps of a row lie apart"};
  Facts facts(layer, window_rows_family.lanes, schedule.lanes);
  facts.row_taps = taps;
  facts.row_outputs = joined_row_outputs(layer);
  facts.unlike = are_row_windows_unlike(layer);
  if (const auto better = facts.left(Question::window_rows_left); !better.empty()) return {{}, better};
  Offer offer{all_tails_of(layer, schedule, taps, facts.unlike)};
  // Places of a wide vector are several: where the registers lack room for them, vectors of fewer lanes.
  constexpr int halvings = 2;
  for (int i = 0; i < halvings && most > 1 && has_places(layer.nest()) && schedule.lanes > 2; ++i) {
    schedule.lanes /= 2;
    const std::vector<Schedule> narrower = all_tails_of(layer, schedule, taps, facts.unlike);
    offer.schedules.insert(offer.schedules.end(), narrower.begin(), narrower.end());
  }
  return offer;
}

std::vector<Schedule> window_rows_schedules(const Layer& layer) {
  const int64_t taps = joined_row_taps(layer);
  Schedule schedule = schedule_of(Family::window_rows);
  schedule.lanes = lanes_of_taps(layer, taps);
  if (!can_take_window_rows(layer, schedule.lanes)) return {};
  return all_tails_of(layer, schedule, taps, are_row_windows_unlike(layer));
}

}  // namespace pooljit::ir
