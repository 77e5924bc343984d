// The vectors, lanes and registers that a reduction needs, and the freedom that it leaves to a schedule. This
// is plain data: families and the chooser ask it before any instruction is emitted, and the Reducer that
// emits has the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/error.h"
#include "ir/isa.h"
#include "ir/nest.h"

namespace pooljit::ir {

// How a schedule uses the lanes of a state: it moves them among each other (outputs of a row), leaves each
// where it is (channels), or joins them all in the end (taps of a row).
enum class LaneUse : uint8_t { moved, fixed, joined };

struct ReductionFacts {
  // Bytes of the widest lane that the reduction needs: lanes * working_bytes must fit the vector.
  int working_bytes = 4;
  // Vector registers that taking in a tap or finishing needs at most, beyond what every reduction does.
  int extra_registers = 0;
  // The type of the lanes that TapOffset::vec needs; only where indices are asked for.
  DType offset_dtype = DType::i32;
  // The bits of an input element that changes nothing: what masked-off lanes of a load take.
  int64_t identity = 0;
  // Parts of a window should have their own state (sums: rounding errors grow with the part, not the window).
  bool is_split = false;
  // The taps may be taken in any order (the result's bits may depend on it, its meaning does not).
  bool any_order = false;
  // A tap may be taken in twice.
  bool is_idempotent = false;
  // Vectors that one state has while taps are taken in, without indices.
  size_t state_vectors = 1;
  // LaneUse::fixed: how many vectors Reducer::held() gives at most, and the bytes that they take together per
  // lane.
  size_t held_vectors = 1;
  int held_bytes = 4;
  // How many ordinary taps, of up to nine instructions, one is as long as in code; and what only this
  // reduction does to each output (a root).
  int64_t tap_length = 1, output_length = 0;
  // Where a loop over taps costs no time (a power's logarithm and exponential take longer): straight-line
  // code is only longer.
  bool has_long_taps() const { return tap_length >= 8; }
  // States that may look for NaN later hold a mask until then (ir/reductions/extreme.cpp).
  bool may_defer_nans = false;
  // True if each of so many states, of so many taps, also holds a mask.
  bool keeps_masks(size_t states, int64_t taps) const;
};

// Refuses what the reduction cannot do exactly (id "schedule.<rule>").
Result<ReductionFacts> reduction_facts(const PoolNest& nest, Isa isa, LaneUse lanes);

#define REDUCTION(name, ...) Result<ReductionFacts> name##_facts(const PoolNest& nest, Isa isa);
#include "ir/reductions.def"
#undef REDUCTION
// The sum of the gradients of the windows that a position belongs to; of those that chose it.
Result<ReductionFacts> gradient_facts(const PoolNest& nest);
Result<ReductionFacts> norm_gradient_facts(const PoolNest& nest);

}  // namespace pooljit::ir
