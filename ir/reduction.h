// Reductions: what a window becomes, from the table ir/reductions.def. Code asks for a property of a
// reduction; only tables of spellings name one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pooljit::ir {

enum class Reduction : uint8_t {
#define REDUCTION(name, ...) name,
#include "ir/reductions.def"
#undef REDUCTION
};

// How a result is made of the taps. It decides how the oracle evaluates it, how far an engine may be from the
// oracle, and by which argument a kernel is proved.
enum class ReductionKind : uint8_t {
  extreme,  // one of them
  sum,      // a sum of them, each times a weight
  norm,     // a root of a sum of their powers; floats only
  product,  // all of them, multiplied
};

// The initial value of a reduction. A tap of this value changes nothing, and a window without a tap gives it.
enum class Start : uint8_t { lowest, highest, zero, one };

struct ReductionInfo {
  std::string_view text;  // in specs, before "_pool2d"
  ReductionKind kind;
  Start start;
  bool divides;  // the sum, by a count of taps or by divisor_override
  std::string_view note;
};

inline constexpr ReductionInfo reduction_table[] = {
#define REDUCTION(name, text, kind, start, divides, note) \
  {text, ReductionKind::kind, Start::start, (divides) != 0, note},
#include "ir/reductions.def"
#undef REDUCTION
};

constexpr const ReductionInfo& info(Reduction reduction) {
  return reduction_table[static_cast<size_t>(reduction)];
}

constexpr bool is_extreme(Reduction reduction) { return info(reduction).kind == ReductionKind::extreme; }
// Of extremes: the largest, else the smallest.
constexpr bool is_maximum(Reduction reduction) { return info(reduction).start == Start::lowest; }
constexpr bool is_norm(Reduction reduction) { return info(reduction).kind == ReductionKind::norm; }

}  // namespace pooljit::ir
