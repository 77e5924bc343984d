// The generated matrix: specs that combine every choice there is, made from the tables (reductions.def,
// dtype.def) and the axes below. Nothing is listed by hand, so a new row of a table is in the matrix at once.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"

namespace pooljit::tests {

// One choice that a spec makes. Settings are applied in the order of the axes and may look at what came
// before.
struct Setting {
  std::string label;
  std::function<void(frontend::PoolSpec&)> apply;
  unsigned weight = 1;  // how often it is chosen, against the others of its axis
};
struct Axis {
  std::string name;
  std::vector<Setting> settings;
};
const std::vector<Axis>& matrix_axes();

// One setting per axis.
using Combination = std::vector<size_t>;
Combination random_combination(std::mt19937& random);

struct MatrixSpec {
  Combination combination;
  frontend::PoolSpec spec;
};

// Valid, different specs of small tensors (all engines run all of them in a minute), the same ones each time;
// every pair of settings that can stand together does so in one of them (matrix_test checks it).
std::vector<MatrixSpec> matrix(size_t count = 6000);

// Their canonical texts.
std::vector<std::string> matrix_specs(size_t count = 6000);

// The spec of a combination, if there is a valid and small one.
std::optional<frontend::PoolSpec> combine(const Combination& combination);

}  // namespace pooljit::tests
