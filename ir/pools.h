// One pool is a list of one. A nest, a schedule and a spec are a pool each, or a list of pools: then they
// have members. Code that does the same for each pool says `for (const auto& pool : pools_of(all))`; pools
// have the same numbers in all three.
#pragma once

#include <span>

namespace pooljit::ir {

// A list, be it of one pool.
template <typename T>
bool is_pools(const T& all) {
  return !all.members.empty();
}

// Its members; itself where it is a pool: at least one. It has to outlive the list.
template <typename T>
std::span<T> pools_of(T& all) {
  return is_pools(all) ? std::span<T>(all.members) : std::span<T>(&all, 1);
}
template <typename T>
void pools_of(const T&& all) = delete;

}  // namespace pooljit::ir
