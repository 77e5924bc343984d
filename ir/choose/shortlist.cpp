#include "ir/choose/shortlist.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <string_view>
#include <utility>

#include "ir/choose/lying.h"
#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/layer.h"
#include "ir/schedules/space.h"

namespace pooljit::ir {
namespace {

struct Kind {
  Isa isa;
  Lying lying;
  int share;
  std::string_view schedule;  // of one lane
};

constexpr Kind kinds[] = {
#define SHORTLIST(isa, lying, share, schedule) {Isa::isa, Lying::lying, share, schedule},
#include "ir/choose/shortlist.def"
#undef SHORTLIST
};

// The instruction set whose rows count. One that was not measured has those of the set before it.
constexpr Isa measured(Isa isa) {
  Isa found = kinds[0].isa;
  for (const Kind& kind : kinds)
    if (kind.isa <= isa) found = std::max(found, kind.isa);
  return found;
}

constexpr size_t enough = 24;  // what measure=6 looks at
// Vectors of fewer lanes are left to layers that have no others.
constexpr int largest_share = 8;

class Shortlist {
 public:
  // apart: instead, schedules whose vectors use several lanes, of elements that may lie apart.
  Shortlist(const Layer& layer, size_t most, bool apart) : layer_(layer), most_(most), apart_(apart) {}

  bool is_full() const { return found_.size() >= most_; }
  size_t size() const { return found_.size(); }

  // The most lanes that a legal schedule of the family has.
  int most_lanes(Family family) {
    int& most = most_lanes_[static_cast<size_t>(family)];
    if (most == 0) most = find_most_lanes(family);
    return most;
  }

  void add(const Kind& kind) {
    Schedule schedule = *parse_schedule(kind.schedule);
    schedule.lanes = most_lanes(schedule.family()) / kind.share;
    if (schedule.lanes >= 1) add(std::move(schedule));
  }

  void add(Schedule schedule) {
    if (is_legal(schedule) && !is_full() && std::ranges::find(found_, schedule) == found_.end())
      found_.push_back(schedule);
  }

  std::vector<Schedule> take() { return std::move(found_); }

 private:
  // Takes loops where straight-line code is not legal.
  bool is_legal(Schedule& schedule) const {
    const PoolNest& nest = layer_.nest();
    if (apart_ ? fills_one_lane(nest, schedule) : holds_lanes_apart(nest, schedule)) return false;
    if (check(layer_, schedule)) return true;
    const auto loops = in_loops(schedule);
    if (!loops || !check(layer_, *loops)) return false;
    schedule = *loops;
    return true;
  }

  int find_most_lanes(Family family) const {
    int lanes = layer_.most_lanes(info(family).lanes);
    for (; lanes > 1; lanes /= 2)
      for (Schedule schedule : with_words(schedule_of(family, lanes)))
        if (is_legal(schedule)) return lanes;
    return lanes;
  }

  const Layer& layer_;
  const size_t most_;
  const bool apart_;
  std::vector<Schedule> found_;
  std::array<int, std::size(all_families)> most_lanes_ = {};  // by family; 0: not looked for yet
};

// In how many ways a schedule differs from one vector of the most lanes at a time, in straight-line code.
int oddity(const Schedule& schedule, int share) {
  const bool takes_loops = std::ranges::any_of(fields(schedule.family()), [&](const ScheduleField& field) {
    return field.loops && field.get(schedule) == *field.loops;
  });
  return std::countr_zero(static_cast<unsigned>(share)) + (together(schedule) > 1) +
         (schedule.tail != Tail::mask) + takes_loops;
}

std::vector<Schedule> shortlist_of(const Layer& layer, size_t most, bool apart) {
  const PoolNest& nest = layer.nest();
  Shortlist list(layer, most, apart);
  const Lying lying = lying_of(nest.input);
  const Isa isa = measured(layer.isa());
  for (const Kind& kind : kinds)
    if (kind.isa == isa && kind.lying == lying && !list.is_full()) list.add(kind);
  if (list.is_full() || list.size() >= enough) return list.take();
  const bool has_lanes = list.size() > 0;
  std::vector<std::pair<int, Schedule>> others;  // by oddity
  for (const Schedule& one : schedule_space(nest, layer.isa())) {
    const int share = list.most_lanes(one.family()) / one.lanes;
    if (share <= largest_share && (one.lanes > 1 || !has_lanes)) others.emplace_back(oddity(one, share), one);
  }
  std::ranges::stable_sort(others, {}, &std::pair<int, Schedule>::first);
  for (const auto& [_, one] : others) {
    if (list.is_full()) break;
    list.add(one);
  }
  return list.take();
}

}  // namespace

std::vector<Schedule> shortlist_of_neighbours(const PoolNest& nest, Isa isa, size_t most) {
  const auto layer = Layer::of(nest, isa);
  return layer ? shortlist_of(*layer, most, /*apart=*/false) : std::vector<Schedule>();
}

std::vector<Schedule> shortlist(const PoolNest& nest, Isa isa, size_t most) {
  std::vector<Schedule> found = shortlist_of_neighbours(nest, isa, most);
  const auto is_scalar = [&](const Schedule& one) { return fills_one_lane(nest, one); };
  if (!std::ranges::all_of(found, is_scalar)) return found;
  const auto layer = Layer::of(nest, isa);
  if (!layer) return found;
  std::vector<Schedule> apart = shortlist_of(*layer, most, /*apart=*/true);
  for (const Schedule& one : found)
    if (apart.size() < most) apart.push_back(one);
  return apart;
}

}  // namespace pooljit::ir
