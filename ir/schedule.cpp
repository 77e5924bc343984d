#include "ir/schedule.h"

#include <algorithm>

namespace pooljit::ir {

std::vector<int> sources(const Schedule& schedule) {
  std::vector<int> from;
  for (const Schedule& member : schedule.members) from.push_back(member.from);
  return from;
}

bool is_chained(const Schedule& schedule) {
  return std::ranges::any_of(schedule.members, [](const Schedule& member) { return member.from >= 0; });
}

}  // namespace pooljit::ir
