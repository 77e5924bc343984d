#include "ir/schedule.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pooljit::ir {
namespace {

template <size_t... number>
constexpr std::array<FamilyFields, sizeof...(number)> first_values(std::index_sequence<number...>) {
  return {FamilyFields(std::in_place_index<number>)...};
}

}  // namespace

Schedule schedule_of(Family family, int lanes) {
  constexpr auto of_families = first_values(std::make_index_sequence<std::variant_size_v<FamilyFields>>());
  return {.own = of_families[static_cast<size_t>(family)], .lanes = lanes};
}

bool takes_passes(const Schedule& schedule) {
  const auto* const own = std::get_if<RowPassesFields>(&schedule.own);
  return own && own->scan == RowPassesFields::Scan::passes;
}

const RowFields* row_fields(const Schedule& schedule) {
  if (const auto* const own = std::get_if<InterleavedFields>(&schedule.own)) return own;
  return std::get_if<ChannelsFirstFields>(&schedule.own);
}

std::vector<int> sources(const Schedule& schedule) {
  std::vector<int> from;
  for (const Schedule& member : schedule.members) from.push_back(member.from);
  return from;
}

bool is_chained(const Schedule& schedule) {
  return std::ranges::any_of(schedule.members, [](const Schedule& member) { return member.from >= 0; });
}

}  // namespace pooljit::ir
