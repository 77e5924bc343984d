// Probes: few inputs that together decide, for every input, whether a kernel is right (docs/notes/proof.md
// has the argument). They are made from the nest's windows alone, whatever the operator, rank, layout or
// dtype.
//
// A probe puts one of a few planes (the elements of one n and c) everywhere, or one by the number of n and c;
// so what each output must be follows from one evaluation of the oracle per plane.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/nest.h"

namespace pooljit::runtime {

// The part of the proof that a probe belongs to.
enum class Part : uint8_t {
#define PART(name, text, shows) name,
#include "runtime/proof/parts.def"
#undef PART
};
struct ProofPartInfo {
  std::string_view text, shows;
};
const ProofPartInfo& info(Part part);
inline constexpr size_t part_count =
#define PART(name, text, shows) +1
#include "runtime/proof/parts.def"
#undef PART
    ;

// How outputs are made of their windows, and so what probes have to decide.
enum class ProofArgument : uint8_t {
  extremum,  // one of the elements
  sum,       // weights times elements: sums, averages
  norm,      // a sum of powers of magnitudes, or the largest of them
  product,   // elements, multiplied
  shared,    // average, backward: gradients over divisors
  chosen,    // maximum, backward: the gradients whose index is the output's
};
std::optional<ProofArgument> argument_of(const ir::PoolNest& nest);

using Plane = std::vector<uint64_t>;  // bits of each element, row-major over the dims

struct Probe {
  Part part = Part::value;
  std::vector<Plane> planes;
  // chosen: beside each plane the indices, as row-major positions in the plane of the forward's input, or -1.
  std::vector<Plane> indices = {};
  // By plane, then by operand of the steps, as ir::operand_views() lists them: numbers, one per output, or
  // one for the channel. Empty: neutral ones.
  std::vector<std::vector<Plane>> operands = {};
  // Which plane lies at (n, c). Empty: the first one everywhere.
  std::function<size_t(int64_t n, int64_t c)> chosen = {};
};

// bits(position) everywhere in a plane of the nest's input.
using Positions = std::vector<int64_t>;
Plane make_plane(const ir::PoolNest& nest, const std::function<uint64_t(const Positions&)>& bits);

// The tap of this number, row-major, in the window of an output: its row-major position; no_index in an empty
// one.
inline constexpr uint64_t no_index = ~uint64_t{0};
uint64_t tap_position(const ir::PoolNest& forward, const Positions& output, int64_t tap);

// The probes that need no randomness: all of a maximum's; of a sum's those about NaNs.
// visit returns false to stop.
using Visit = std::function<bool(const Probe&)>;
void for_each_probe(const ir::PoolNest& nest, int64_t batch, const Visit& visit);

// Facts that no probe can see through the steps of an epilogue, a sentence each.
std::vector<std::string_view> hidden_by_steps(const ir::PoolNest& nest);

}  // namespace pooljit::runtime
