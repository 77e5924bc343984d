// How many random rounds it takes, from how likely a wrong kernel passes one (runtime/proof/rounds.h).
#pragma once

#include <cstddef>
#include <set>

#include "runtime/proof/rounds.h"

namespace pooljit::runtime {

inline constexpr double wanted_log2_error = -64;
inline constexpr size_t random_planes = 16;

// Divisors of windows.
std::set<int64_t> divisors(const ir::PoolNest& forward);

// agreement: the share of an element's numbers, all others fixed, for which a wrong kernel may be right.
// Planes are shared by channels: the element that is wrong is told from others with probability 1 - 1 /
// random_planes.
Rounds with_agreement(Rounds rounds, double agreement);

// The better of two: the one that holds for more kernels, if it is shown at all; then the one with fewer
// rounds.
Rounds better(const Rounds& a, const Rounds& b);

}  // namespace pooljit::runtime
