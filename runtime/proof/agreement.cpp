#include "runtime/proof/agreement.h"

#include <algorithm>
#include <cmath>

namespace pooljit::runtime {
namespace {

constexpr int64_t most_rounds = 16384;

}  // namespace

std::set<int64_t> divisors(const ir::PoolNest& forward) {
  if (!forward.divides()) return {1};
  if (forward.divisor_override) return {std::abs(*forward.divisor_override)};
  std::set<int64_t> products = {1};
  for (const ir::NestDim& dim : forward.dims) {
    std::set<int64_t> longer;
    for (int64_t o = 0; o < dim.output; ++o) {
      const ir::Window window = dim.window(o);
      const int64_t count = forward.count_include_pad ? window.padded_taps : window.taps;
      for (int64_t product : products) longer.insert(std::max<int64_t>(product * count, 1));
    }
    products = longer;
  }
  return products;
}

Rounds with_agreement(Rounds rounds, double agreement) {
  const double shown =
      std::max(1 - agreement, 1e-4) / double(rounds.sparse) * (1 - 1.0 / double(random_planes));
  const double per_round = std::log2(1 - shown);
  rounds.rounds = std::min(int64_t(std::ceil(wanted_log2_error / per_round)), most_rounds);
  rounds.log2_error = double(rounds.rounds) * per_round;
  return rounds;
}

Rounds better(const Rounds& a, const Rounds& b) {
  const bool a_shows = a.log2_error <= wanted_log2_error, b_shows = b.log2_error <= wanted_log2_error;
  if (a_shows != b_shows) return a_shows ? a : b;
  if (a.claim != b.claim) return a.claim < b.claim ? a : b;
  return a.rounds <= b.rounds ? a : b;
}

}  // namespace pooljit::runtime
