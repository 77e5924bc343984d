#include "ir/schedules/space.h"

#include <algorithm>
#include <iterator>

#include "ir/schedule_fields.h"
#include "ir/schedules/family.h"

namespace pooljit::ir {
namespace {

constexpr int one_only[] = {1};

template <typename Take>
void for_each_schedule(const Layer& layer, Family family, Take take) {
  std::span<const int> numbers = one_only;
  for (const ScheduleField& field : fields(family))
    if (field.is_number()) numbers = field.values;
  for (int lanes = layer.most_lanes(info(family).lanes); lanes >= 1; lanes /= 2) {
    const std::vector<Schedule> all = with_words(schedule_of(family, lanes));
    for (const int number : numbers)
      for (Schedule schedule : all) {
        set_together(schedule, number);
        take(schedule);
      }
  }
}

}  // namespace

std::vector<Schedule> schedule_space(const PoolNest& nest, Isa isa) {
  std::vector<Schedule> space = side_by_side(nest, SIZE_MAX, [&](const PoolNest& pool) {
    std::vector<Schedule> own;
    if (const auto layer = Layer::of(pool, isa))
      for (const Family family : all_families)
        for_each_schedule(*layer, family, [&](const Schedule& one) { own.push_back(one); });
    return own;
  });
  const size_t each = is_pools(nest) ? space.size() : 0;
  for (size_t i = 0; i < each; ++i) space.push_back(space[i]), space.back().fused = true;
  return space;
}

std::vector<Schedule> legal_schedules(const PoolNest& nest, Isa isa) {
  return side_by_side(nest, SIZE_MAX, [&](const PoolNest& pool) {
    std::vector<Schedule> legal;
    if (const auto layer = Layer::of(pool, isa))
      for (const Family family : all_families) {
        if (!info(family).suits(*layer)) continue;
        for_each_schedule(*layer, family, [&](const Schedule& one) {
          if (check(*layer, one)) legal.push_back(one);
        });
      }
    return legal;
  });
}

std::vector<Schedule> with_words(const Schedule& schedule) {
  std::vector<Schedule> all = {schedule};
  const auto multiply = [&](std::span<const int> values, auto set) {
    std::vector<Schedule> more;
    for (const Schedule& one : all)
      for (const int value : values) set(more.emplace_back(one), value);
    all = std::move(more);
  };
  for (const ScheduleField& field : fields(schedule.family()))
    if (!field.is_number()) multiply(field.values, field.set);
  std::vector<Schedule> with_tails;
  for (const Schedule& one : all)
    for (const Tail tail : info(schedule.family()).tails) with_tails.emplace_back(one).tail = tail;
  return with_tails;
}

std::vector<Schedule> side_by_side(const PoolNest& nest, size_t most,
                                   const std::function<std::vector<Schedule>(const PoolNest&)>& own) {
  std::vector<std::vector<Schedule>> of_pools;
  std::ranges::transform(pools_of(nest), std::back_inserter(of_pools), own);
  size_t longest = 0;
  for (const auto& each : of_pools) longest = std::max(longest, each.size());
  Schedule joined;
  joined.members.resize(nest.members.size());
  std::vector<Schedule> all(std::min(longest, most), joined);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t pool = 0; pool < of_pools.size(); ++pool)
      pools_of(all[i])[pool] = of_pools[pool][i < of_pools[pool].size() ? i : 0];
  return all;
}

}  // namespace pooljit::ir
