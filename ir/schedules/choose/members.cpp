#include "ir/schedules/choose/members.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "ir/choose/enumerate.h"
#include "ir/member_steps.h"
#include "ir/schedules/choose/facts.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/lowering/staging.h"
#include "ir/schedules/space.h"

namespace pooljit::ir {
namespace {

constexpr int64_t most_tasks = 1 << 20;

double bytes_of(const PoolNest& nest, const View& view, int64_t NestDim::*extent) {
  double elements = static_cast<double>(nest.channels);
  for (const NestDim& dim : nest.dims) elements *= static_cast<double>(dim.*extent);
  return elements * bytes(view.dtype);
}

// By member: of whose results it is made with fewest combinations, and fewer than of the input; -1: none.
std::vector<int> best_sources(const PoolNest& nest) {
  std::vector<int> from;
  for (size_t i = 0; i < nest.members.size(); ++i) {
    int64_t least = combinations(nest.members[i]);
    from.push_back(-1);
    for (size_t j = 0; j < nest.members.size(); ++j) {
      const auto made = made_of(nest.members[i], nest.members[j]);
      // Of equal ones, the later is made of the earlier.
      const bool is_circle =
          j == i || (j > i && combinations(nest.members[j]) >= combinations(nest.members[i]));
      if (!made || is_circle || combinations(*made) >= least) continue;
      least = combinations(*made);
      from[i] = static_cast<int>(j);
    }
  }
  return from;
}

// All members are exact, or the order of their additions would be another one than alone.
bool is_exact(const PoolNest& nest) {
  return std::ranges::all_of(nest.members, [](const PoolNest& member) {
    return member.is_extreme() && (!member.indices || member.index_scope == IndexScope::plane ||
                                   member.index_scope == IndexScope::window);
  });
}

// So few channels at a time, an equal part of all, that what others are made of stays near; 0: none are few
// enough.
int64_t channels_at_a_time(const PoolNest& nest, std::span<const int> from, const Facts& facts) {
  const int64_t most_room = facts.answer(Question::members_most_room);
  int64_t least = nest.input.channel_block;
  const auto suits = [&](int64_t channels) {
    return nest.channels % channels == 0 && channels % nest.input.channel_block == 0;
  };
  if (least == 1 && nest.input.channel_stride == 1)
    least = std::min(nest.channels, facts.answer(Question::members_pixel) / facts.element);
  while (least < std::min(nest.channels, most_room) && !suits(least)) ++least;
  const auto steps = member_steps(nest, from, least);
  if (!steps) return 0;
  const int64_t room = std::reduce(steps->rooms.begin(), steps->rooms.end());
  if (room > most_room) return 0;
  int64_t channels =
      std::min(nest.channels, std::max(least, least * facts.answer(Question::members_room) / room));
  while (!suits(channels)) --channels;
  return nest.channels / channels <= std::numeric_limits<int>::max() ? channels : 0;
}

// Whether what members keep in scratch memory themselves fits beside the rooms for certain: a plane at most,
// but for families that are built on scratch memory, and staged results.
bool surely_fits(const MemberSteps& all, const Schedule& schedule, Isa isa) {
  int64_t room = std::reduce(all.rooms.begin(), all.rooms.end()), own = 0;
  for (const MemberStep& step : all.steps) {
    const Family family = schedule.members[static_cast<size_t>(step.member)].family();
    if (family == Family::separable || family == Family::row_passes || family == Family::whole_pixels)
      return false;
    if (staged_columns(step.nest, 1) || staged_pixels(step.nest, isa)) return false;
    constexpr int64_t most_lanes = 64, most_lane_bytes = 8;
    double plane = most_lane_bytes;
    for (const NestDim& dim : step.nest.dims)
      plane *= static_cast<double>(std::max(dim.input, dim.output) + 2 * dim.kernel);
    plane *= 1 + most_lanes / static_cast<double>(step.nest.dims.back().output);
    own = std::max(own, static_cast<int64_t>(std::min(plane, double(most_scratch_bytes))));
  }
  return room + own < most_scratch_bytes;
}

// Larger maxima of smaller ones, where that is possible.
std::optional<Schedule> chained(const PoolNest& nest, const Facts& facts) {
  if (nest.has_any_size()) return std::nullopt;
  const std::vector<int> from = best_sources(nest);
  if (!is_exact(nest) || std::ranges::all_of(from, [](int each) { return each < 0; })) return std::nullopt;
  const int64_t channels = channels_at_a_time(nest, from, facts);
  if (channels == 0) return std::nullopt;
  const Isa isa = facts.layer.isa();
  Schedule schedule;
  schedule.members.resize(nest.members.size());
  schedule.tasks = {.channels = static_cast<int>(nest.channels / channels), .rows = 1};
  const auto all = member_steps(nest, from, channels);
  for (const MemberStep& step : all->steps) {
    if (step.is_copy()) {
      schedule.copies.push_back(enumerate_schedules(step.nest, isa, 1)[0]);
      continue;
    }
    Schedule& own = schedule.members[static_cast<size_t>(step.member)];
    own = enumerate_schedules(step.nest, isa, 1, facts.layer.machine())[0];
    own.stores = Stores::cached;
    own.from = step.reads;
  }
  if (surely_fits(*all, schedule, isa) || lower(nest, schedule, isa)) return schedule;
  return std::nullopt;
}

// The schedule of both in one loop, where that takes less time than one after the other.
std::optional<Schedule> common_schedule(const PoolNest& nest, std::span<const Schedule> defaults,
                                        Facts& facts) {
  const PoolNest &one = nest.members[0], &other = nest.members[1];
  if (nest.has_any_size() || defaults.size() != 2 || one.dims != other.dims) return std::nullopt;
  const Schedule &a = defaults[0], &b = defaults[1];
  const auto layer = Layer::of(other, facts.layer.isa(), facts.layer.machine());
  if (!layer || a.family() != b.family()) return std::nullopt;
  const Facts beside(*layer, LaneUse::moved, 1);
  facts.beside = &beside;
  facts.family = a.family();
  const auto* const of_a = std::get_if<ChannelsLastFields>(&a.own);
  const auto* const of_b = std::get_if<ChannelsLastFields>(&b.own);
  constexpr auto windows = ChannelsLastFields::Scan::windows;
  facts.by_windows = of_a && of_a->scan == windows && of_b->scan == windows;
  if (!facts.says(Question::members_fused)) return std::nullopt;
  Schedule common = a.lanes >= b.lanes ? a : b;
  common.stores = Stores::cached;
  if (of_a) {
    const auto most = static_cast<int>(facts.answer(Question::members_beside));
    std::get<ChannelsLastFields>(common.own).vectors_side_by_side =
        std::min({of_a->vectors_side_by_side, of_b->vectors_side_by_side, most});
  } else if (a.family() == Family::channels_first) {
    const NestDim& row = one.dims.back();
    const bool rolls = row.kind != DimKind::adaptive && row.stride == 1 && row.kernel > 1;
    common.own = ChannelsFirstFields{{.scan = rolls ? RowFields::Scan::rolling : RowFields::Scan::rows_first,
                                      .tap_code = std::get<ChannelsFirstFields>(common.own).tap_code}};
  } else if (a.family() == Family::window_rows) {
    common = one.is_extreme() ? b : a;
  }
  if (!check(facts.layer, common) || !check(*layer, common)) return std::nullopt;
  return common;
}

// The tasks of a nest of several pools. In each task all members pool one piece of the tensor. There are so
// many tasks that the piece and its results stay in the caches next to a core from one member to the next,
// and no more, because each task begins the loops of every member anew. Pieces are channels. Where channels
// are innermost, pieces are rows if the members' numbers of rows have a common divisor, else parts of each
// pixel that are wide enough to read memory well.
MemberTasks member_tasks(const PoolNest& nest, const Facts& facts) {
  const bool are_planes = nest.input.channel_stride != 1;
  const int64_t pixel_pieces = nest.channels * facts.element / facts.answer(Question::members_pixel);
  if (nest.has_any_size()) {
    const int64_t pieces = are_planes ? nest.channels / facts.answer(Question::members_planes) : pixel_pieces;
    return {.channels = static_cast<int>(std::clamp<int64_t>(pieces, 1, most_tasks))};
  }
  double all = bytes_of(nest, nest.input, &NestDim::input);
  int64_t common_rows = 0;
  for (const PoolNest& member : nest.members) {
    all += bytes_of(member, member.output, &NestDim::output);
    common_rows = std::gcd(common_rows, member.dims[0].output);
  }
  const double wanted = all / static_cast<double>(facts.answer(Question::members_piece));
  const auto at_most = [&](int64_t most) {
    return static_cast<int>(
        std::clamp(wanted, 1.0, static_cast<double>(std::clamp<int64_t>(most, 1, most_tasks))));
  };
  if (are_planes) return {.channels = at_most(nest.channels)};
  return {.channels = at_most(pixel_pieces), .rows = at_most(common_rows)};
}

}  // namespace

std::vector<Schedule> offer_members(const PoolNest& nest, Isa isa, size_t most, const Machine& machine) {
  const auto own = [&](const PoolNest& pool) { return enumerate_schedules(pool, isa, most, machine); };
  const auto layer = Layer::of(nest.members[0], isa, machine);
  if (!layer) return side_by_side(nest, most, own);  // lower() will say why
  Facts facts(*layer, LaneUse::moved, 1);
  auto first = chained(nest, facts);
  if (first && most == 1) return {std::move(*first)};
  std::vector<Schedule> offers = side_by_side(nest, most, own);
  const MemberTasks tasks = member_tasks(nest, facts);
  for (Schedule& offer : offers) {
    offer.tasks = tasks;
    // Past the caches or not is decided by one output's size alone, and asks for its alignment.
    for (Schedule& own : offer.members) own.stores = Stores::cached;
  }
  if (const auto common = common_schedule(nest, offers[0].members, facts)) {
    offers.insert(offers.begin(), offers[0]);
    offers[0].members.assign(2, *common);
    offers[0].fused = true;
  }
  const auto scaled = [&](int up, int down) {
    const auto each = [&](int number) { return std::max(number * up / down, 1); };
    return MemberTasks{each(tasks.channels), each(tasks.rows)};
  };
  for (const MemberTasks& other : {MemberTasks{}, scaled(1, 4), scaled(4, 1)}) {
    if (other == tasks || offers.size() >= most) continue;
    offers.push_back(offers[0]);
    offers.back().tasks = other;
  }
  if (first) offers.insert(offers.begin(), std::move(*first));
  if (offers.size() > most) offers.resize(most);
  return offers;
}

}  // namespace pooljit::ir
