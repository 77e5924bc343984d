#include <algorithm>
#include <iterator>
#include <vector>

#include "ir/schedules/choose/facts.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {
namespace {

// True if all windows are whole and alike, and so few taps that straight-line code takes each float from
// memory as it is.
bool takes_from_memory(const PoolNest& nest) {
  const auto are_alike = [](const NestDim& dim) {
    const std::vector<Run> all = runs(dim);
    return all.size() == 1 && all[0].window.taps == dim.most_taps() &&
           all[0].window.padded_taps == dim.most_taps();
  };
  return waits_for_loads(nest) && is_float(nest.input.dtype) && bytes(nest.input.dtype) >= 4 &&
         nest.epilogue.empty() && nest.output.dtype == nest.input.dtype &&
         nest.full_taps() <= Lowering::unroll_taps && std::ranges::all_of(nest.dims, are_alike);
}

// Best first.
std::vector<ChannelsLastFields::Scan> scans_of(const Facts& facts) {
  using Scan = ChannelsLastFields::Scan;
  std::vector scans = {Scan::rolling, Scan::windows};
  if (facts.says(Question::strips_first)) scans.insert(scans.begin(), Scan::strips);
  if (facts.says(Question::channels_last_windows)) std::swap(scans.front(), scans.back());
  return scans;
}

}  // namespace

Offer offer_channels_last(const Layer& layer, size_t most) {
  const int lanes = layer.fitting_lanes(channels_last_family.lanes, layer.adjacent_channels_read());
  Facts facts(layer, channels_last_family.lanes, lanes);
  if (const auto better = facts.left(Question::channels_last_left); !better.empty()) return {{}, better};
  facts.lanes /= static_cast<int>(facts.answer(Question::channels_last_lanes));
  return {channels_last_schedules(facts, most)};
}

std::vector<Schedule> channels_last_schedules(Facts& facts, size_t most) {
  const Layer& layer = facts.layer;
  const PoolNest& nest = facts.nest;
  Schedule schedule = schedule_of(Family::channels_last, facts.lanes);
  auto& own = std::get<ChannelsLastFields>(schedule.own);
  using Scan = ChannelsLastFields::Scan;
  facts.one_each = facts.lanes > 1 && takes_from_memory(nest);
  const std::vector<Scan> scans = scans_of(facts);
  std::vector<Schedule> found;
  const auto add = [&](Scan scan, int64_t beside) {
    own.scan = scan;
    own.vectors_side_by_side = static_cast<int>(beside);
    schedule.tail = exact_tail(layer);
    if (!check(layer, schedule)) return;
    std::vector<Schedule> tails;
    add_tails(tails, schedule, layer, nest.channels);
    // The last vector of an overlapping tail begins anywhere, that of a masked one needs its mask.
    std::ranges::copy_if(tails, std::back_inserter(found), [&](const Schedule& one) {
      const bool is_cut = nest.channels % one.lanes != 0;
      return (largest_block(nest) == 1 || one.tail != Tail::overlap || !is_cut) &&
             (one == schedule || check(layer, one));
    });
  };
  const int64_t windowed = facts.answer(Question::channels_last_windowed);
  // Taps that are straight-line code in part take more registers than loops.
  const auto add_windowed = [&] {
    const TapCode usual = own.tap_code;
    if (facts.taps > Lowering::unroll_taps) own.tap_code = TapCode::loops;
    add(Scan::windows, windowed);
    own.tap_code = usual;
  };
  if (facts.reduction.has_long_taps()) own.tap_code = TapCode::loops;
  const int64_t part = facts.answer(Question::channels_last_part);
  const int64_t eight = facts.answer(Question::channels_last_eight);
  const bool four = facts.says(Question::channels_last_four);
  const auto add_all = [&] {
    if (part > 0) add(Scan::windows, part);
    if (windowed > 0) add_windowed();
    for (const Scan scan : scans)
      for (const int beside : {8, 4, 2, 1}) {
        if (found.size() >= most) return;
        if (beside == 8 && (scan != Scan::windows || eight == 0)) continue;
        if (scan == Scan::windows && (beside == part || (beside == 4 && !four))) continue;
        const bool takes_all = beside == 8 && eight == 2;
        if (beside == 1 || (beside < 2 * facts.vectors() && (takes_all || facts.leaves_room(beside))))
          add(scan, beside);
      }
  };
  add_all();
  if (found.empty() && own.tap_code == TapCode::straight) {
    own.tap_code = TapCode::loops;  // straight-line code would be too long
    add_all();
  }
  return found;
}

}  // namespace pooljit::ir
