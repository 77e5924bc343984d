#include "ir/schedules/choose/members.h"

#include <algorithm>
#include <numeric>

namespace pooljit::ir {
namespace {

// A piece is an eighth of near_bytes. On Zen 3 pieces of 40 to 600 KB took equal times within the noise, one
// of all 30 MB 2.6 times as long (docs/notes/performance.md, "Several pools of one tensor").
constexpr int64_t pieces_of_near_bytes = 8;
constexpr int64_t least_pixel_bytes = 1024;

double bytes_of(const PoolNest& nest, const View& view, int64_t NestDim::*extent) {
  double elements = static_cast<double>(nest.channels);
  for (const NestDim& dim : nest.dims) elements *= static_cast<double>(dim.*extent);
  return elements * bytes(view.dtype);
}

}  // namespace

MemberTasks member_tasks(const PoolNest& nest, const Machine& machine) {
  double all = bytes_of(nest, nest.input, &NestDim::input);
  int64_t common_rows = 0;
  for (const PoolNest& member : nest.members) {
    all += bytes_of(member, member.output, &NestDim::output);
    common_rows = std::gcd(common_rows, member.dims[0].output);
  }
  const double wanted = all * pieces_of_near_bytes / static_cast<double>(machine.near_bytes);
  const auto at_most = [&](int64_t most) {
    return static_cast<int>(
        std::clamp(wanted, 1.0, static_cast<double>(std::clamp<int64_t>(most, 1, 1 << 20))));
  };
  if (nest.input.channel_stride != 1) return {.channels = at_most(nest.channels)};
  const int64_t pixel = nest.channels * bytes(nest.input.dtype);
  return {.channels = at_most(pixel / least_pixel_bytes), .rows = at_most(common_rows)};
}

std::vector<Schedule> side_by_side(std::span<const std::vector<Schedule>> of_members, size_t most) {
  size_t longest = 0;
  for (const auto& own : of_members) longest = std::max(longest, own.size());
  std::vector<Schedule> all(std::min(longest, most));
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& own : of_members) all[i].members.push_back(own[i < own.size() ? i : 0]);
  return all;
}

std::vector<Schedule> offer_members(const PoolNest& nest, Isa isa, size_t most, const Machine& machine) {
  std::vector<std::vector<Schedule>> of_members;
  for (const PoolNest& member : nest.members)
    of_members.push_back(enumerate_schedules(member, isa, most, machine));
  // Past the caches or not is decided by one output's size alone, and asks for its alignment.
  for (auto& own : of_members)
    for (Schedule& schedule : own) schedule.stores = Stores::cached;
  std::vector<Schedule> offers = side_by_side(of_members, most);
  const MemberTasks tasks = member_tasks(nest, machine);
  for (Schedule& offer : offers) offer.tasks = tasks;
  const auto scaled = [&](int up, int down) {
    const auto each = [&](int number) { return std::max(number * up / down, 1); };
    return MemberTasks{each(tasks.channels), each(tasks.rows)};
  };
  for (const MemberTasks& other : {MemberTasks{}, scaled(1, 4), scaled(4, 1)}) {
    if (other == tasks || offers.size() >= most) continue;
    offers.push_back(offers[0]);
    offers.back().tasks = other;
  }
  return offers;
}

}  // namespace pooljit::ir
