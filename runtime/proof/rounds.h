// Random rounds of probes: for outputs that are sums, which no few probes decide. A round's numbers are drawn
// so that every right result is exact; how many rounds there are follows from how likely a wrong kernel
// passes one (docs/notes/proof.md has the argument).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/nest.h"
#include "runtime/proof/probes.h"

namespace pooljit::runtime {

// For which wrong kernels the bound holds.
enum class Claim : uint8_t {
#define CLAIM(name, sentence) name,
#include "runtime/proof/claims.def"
#undef CLAIM
};
std::string_view sentence(Claim claim);

struct Rounds {
  int64_t rounds = 0;
  double log2_error = 0;  // of the probability that a wrong kernel passes them all
  // Numbers are least, least + step, ...: `range` of them, times `unit`, a power of two. Gradients that are
  // shared: times their window's divisor.
  int64_t least = 0, range = 2, step = 1;
  double unit = 1;
  int64_t sparse = 1;  // one in so many is no 0
  Claim claim = Claim::any;
};

// Results whose values are tested, not proved: norms of other powers than 1, 2 and infinity, or rounded to
// integers; products that go through steps.
bool has_tested_values(const ir::PoolNest& nest);

// None for extrema, which need no randomness.
std::optional<Rounds> rounds_needed(const ir::PoolNest& nest);
// The factor of the whole numbers of other probes.
double probe_unit(const ir::PoolNest& nest);
Probe random_probe(const ir::PoolNest& nest, const Rounds& rounds, uint64_t seed);

}  // namespace pooljit::runtime
