// Random valid specs, from the axes' tables. The fuzzers also move their numbers off the tables' few values.
#pragma once

#include <optional>
#include <vector>

#include "frontend/pool_spec.h"
#include "tools/fuzz/draw.h"

namespace pooljit::fuzz {

// One setting per axis.
using Combination = std::vector<size_t>;
// How often each setting is drawn, by axis; 0: never.
using AxisWeights = std::vector<std::vector<unsigned>>;
const AxisWeights& usual_weights();  // those of the axes' tables
Combination random_combination(Draw& draw, const AxisWeights& weights = usual_weights());
// With most of its options as usual, which is all that many engines do.
Combination plain_combination(Draw& draw);
// How daring: a plain layer has most of its options as usual, which is all that many engines do.
enum class Style : uint8_t { any, plain };

// How large a spec may be. The interpreter gets through some thousands of elements in a millisecond.
struct SpecLimits {
  int64_t elements = 6000;  // of the input
  int64_t work = 60000;     // outputs times taps
};
bool is_small(const frontend::PoolSpec& spec, const SpecLimits& limits = {});

// The spec of a combination, if there is a valid and small one.
std::optional<frontend::PoolSpec> combine(const Combination& combination);

// The spec with a few images of long rows and large windows in place of its own: what is walked in strips,
// through lines of scratch memory, by windows that roll. If that is valid, and not too much.
std::optional<frontend::PoolSpec> lengthened(frontend::PoolSpec spec, Draw& draw);

// A valid and small spec: a combination, as far as its settings go together, mostly with some of its numbers
// changed, or lengthened.
frontend::PoolSpec random_spec(Draw& draw, Style style = Style::any);

struct DrawnSpec {
  frontend::PoolSpec spec;
  Combination settings;  // that it was made of; no_setting where one did not go with those before
};
inline constexpr size_t no_setting = SIZE_MAX;
// The spec of a combination; if that is none, without the settings that do not suit those before them.
DrawnSpec nearest(Combination combination);
// The same with other weights: numbers are changed on axes that have more than one setting left, and small
// windows of different height and width come often.
DrawnSpec random_spec_of(Draw& draw, const AxisWeights& weights);
DrawnSpec random_spec_of(Draw& draw, Style style);

}  // namespace pooljit::fuzz
