#include "ir/schedules/space.h"

#include <algorithm>

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
  std::vector<Schedule> space;
  if (!nest.members.empty()) {
    std::vector<std::vector<Schedule>> of_members;
    for (const PoolNest& member : nest.members) of_members.push_back(schedule_space(member, isa));
    space = side_by_side(of_members, SIZE_MAX);
    const size_t each = space.size();
    for (size_t i = 0; i < each; ++i) space.push_back(space[i]), space.back().fused = true;
    return space;
  }
  if (const auto layer = Layer::of(nest, isa))
    for (const Family family : all_families)
      for_each_schedule(*layer, family, [&](const Schedule& one) { space.push_back(one); });
  return space;
}

std::vector<Schedule> legal_schedules(const PoolNest& nest, Isa isa) {
  std::vector<Schedule> legal;
  if (!nest.members.empty()) {
    std::vector<std::vector<Schedule>> of_members;
    for (const PoolNest& member : nest.members) of_members.push_back(legal_schedules(member, isa));
    return side_by_side(of_members, SIZE_MAX);
  }
  if (const auto layer = Layer::of(nest, isa))
    for (const Family family : all_families) {
      if (!info(family).suits(*layer)) continue;
      for_each_schedule(*layer, family, [&](const Schedule& one) {
        if (check(*layer, one)) legal.push_back(one);
      });
    }
  return legal;
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

std::vector<Schedule> side_by_side(std::span<const std::vector<Schedule>> of_members, size_t most) {
  size_t longest = 0;
  for (const auto& own : of_members) longest = std::max(longest, own.size());
  std::vector<Schedule> all(std::min(longest, most));
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& own : of_members) all[i].members.push_back(own[i < own.size() ? i : 0]);
  return all;
}

}  // namespace pooljit::ir
