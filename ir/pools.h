// One pool is a list of one: what there is of each pool of a nest, a schedule or a spec, whether they are one
// or several. Members of one have the numbers of the others'.
#pragma once

#include <span>

namespace pooljit::ir {

// Its members; itself where it has none. It has to outlive the list.
template <typename T>
std::span<const T> pools_of(const T& all) {
  return all.members.empty() ? std::span(&all, 1) : std::span(all.members);
}
template <typename T>
void pools_of(const T&& all) = delete;

}  // namespace pooljit::ir
