#include "ir/choose/shortlist.h"

#include <algorithm>

#include "ir/schedules/family.h"
#include "ir/schedules/layer.h"
#include "ir/schedules/space.h"

namespace pooljit::ir {
namespace {

struct Kind {
  Family family;
  Order order;
  int unroll;
  int share;
  Tail tail;
};

constexpr Kind kinds[] = {
#define SHORTLIST(family, order, unroll, share, tail) \
  {Family::family, Order::order, unroll, share, Tail::tail},
#include "ir/choose/shortlist.def"
#undef SHORTLIST
};

constexpr size_t handful = 6;
// Vectors of fewer lanes are left to layers that have no others.
constexpr int largest_share = 4;

class Shortlist {
 public:
  Shortlist(const Layer& layer, size_t most) : layer_(layer), most_(most) {}

  bool is_full() const { return found_.size() >= most_; }
  size_t size() const { return found_.size(); }

  void add(const Kind& kind) {
    const int lanes = layer_.most_lanes(info(kind.family).lanes) / kind.share;
    if (lanes < 1) return;
    Schedule schedule{.family = kind.family, .lanes = lanes, .unroll = kind.unroll, .order = kind.order};
    if (add(schedule, kind.tail)) return;
    for (const Tail other : {Tail::mask, Tail::overlap, Tail::split})
      if (other != kind.tail && add(schedule, other)) return;
  }

  std::vector<Schedule> take() { return std::move(found_); }

 private:
  bool add(Schedule schedule, Tail tail) {
    schedule.tail = tail;
    for (const Taps taps : {Taps::unroll, Taps::loop}) {
      schedule.taps = taps;
      if (!check(layer_, schedule)) continue;
      if (!is_full() && std::ranges::find(found_, schedule) == found_.end()) found_.push_back(schedule);
      return true;
    }
    return false;
  }

  const Layer& layer_;
  const size_t most_;
  std::vector<Schedule> found_;
};

}  // namespace

std::vector<Schedule> shortlist(const PoolNest& nest, Isa isa, size_t most) {
  if (!nest.members.empty()) return {};
  const auto layer = Layer::of(nest, isa);
  if (!layer) return {};
  Shortlist list(*layer, most);
  for (const Kind& kind : kinds)
    if (!list.is_full()) list.add(kind);
  if (list.size() >= handful) return list.take();
  for (const Schedule& one : schedule_space(nest, isa)) {
    if (list.is_full()) break;
    const int most_lanes = layer->most_lanes(info(one.family).lanes);
    if (one.lanes * largest_share >= most_lanes)
      list.add({one.family, one.order, one.unroll, most_lanes / one.lanes, one.tail});
  }
  return list.take();
}

}  // namespace pooljit::ir
