// Probes: few inputs that together decide, for every input, whether a kernel is right (docs/proof.md has the
// argument). They are made from the nest's windows alone, whatever the operator, rank, layout or dtype.
//
// A probe puts one of a few planes (the elements of one n and c) everywhere, or one by the number of n and c;
// so what each output must be follows from one evaluation of the oracle per plane.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "ir/nest.h"

namespace pooljit::runtime {

// What a probe is part of the proof of.
enum class Part : uint8_t {
#define PART(name, text, shows) name,
#include "runtime/proof/parts.def"
#undef PART
};
struct PartInfo {
  std::string_view text, shows;
};
const PartInfo& info(Part part);
inline constexpr size_t part_count =
#define PART(name, text, shows) +1
#include "runtime/proof/parts.def"
#undef PART
    ;

using Plane = std::vector<uint64_t>;  // bits of each element, row-major over the dims

struct Probe {
  Part part = Part::value;
  std::vector<Plane> planes;
  // Which plane lies at (n, c). Empty: the first one everywhere.
  std::function<size_t(int64_t n, int64_t c)> chosen;
};

// The probes that need no randomness: all of a maximum's; of a sum's those about NaNs.
// visit returns false to stop.
using Visit = std::function<bool(const Probe&)>;
void for_each_probe(const ir::PoolNest& nest, int64_t batch, const Visit& visit);

// Sums: independent rounds of random whole numbers.
struct Rounds {
  int64_t rounds = 0;
  double log2_error = 0;   // of the probability that a wrong kernel passes them all
  int64_t range = 0;       // numbers are 0 .. range-1
  bool one_fault = false;  // the bound holds for a single wrong weight only: the output rounds to integers
};
Rounds rounds_needed(const ir::PoolNest& nest);
Probe random_probe(const ir::PoolNest& nest, const Rounds& rounds, uint64_t seed);

}  // namespace pooljit::runtime
