#include "tests/matrix/specs.h"

#include <set>

#include "frontend/check.h"

namespace pooljit::tests {

namespace {

// The input's elements; an interpreter gets through some thousands in a millisecond.
constexpr int64_t most_elements = 6000;
constexpr int64_t most_work = 60000;  // outputs times taps

bool is_small(const frontend::PoolSpec& spec) {
  int64_t elements = 1, work = 1;
  for (int64_t extent : input_shape(spec)) elements *= extent;
  for (int64_t extent : output_shape(spec)) work *= extent;
  for (const frontend::SpecDim& dim : spec.dims) work *= dim.kernel;
  return elements <= most_elements && work <= most_work;
}

}  // namespace

std::optional<frontend::PoolSpec> combine(const Combination& combination) {
  const std::vector<Axis>& axes = matrix_axes();
  frontend::PoolSpec spec;
  for (size_t i = 0; i < axes.size(); ++i) axes[i].settings[combination[i]].apply(spec);
  auto checked = check_spec(std::move(spec));
  if (!checked || !is_small(*checked)) return std::nullopt;
  return std::move(*checked);
}

// By remainders: a generator's numbers are the same everywhere, those of the library's distributions need not
// be.
Combination random_combination(std::mt19937& random) {
  Combination combination;
  for (const Axis& axis : matrix_axes()) {
    unsigned total = 0;
    for (const Setting& setting : axis.settings) total += setting.weight;
    unsigned left = random() % total;
    size_t chosen = 0;
    while (left >= axis.settings[chosen].weight) left -= axis.settings[chosen++].weight;
    combination.push_back(chosen);
  }
  return combination;
}

std::vector<MatrixSpec> matrix(size_t count) {
  std::mt19937 random(1);
  std::set<std::string> seen;
  std::vector<MatrixSpec> result;
  while (result.size() < count) {
    Combination combination = random_combination(random);
    auto spec = combine(combination);
    if (spec && seen.insert(print(*spec)).second)
      result.push_back({std::move(combination), std::move(*spec)});
  }
  return result;
}

std::vector<std::string> matrix_specs(size_t count) {
  std::vector<std::string> texts;
  for (const MatrixSpec& row : matrix(count)) texts.push_back(print(row.spec));
  return texts;
}

}  // namespace pooljit::tests
