#include "tests/matrix/specs.h"

#include <array>
#include <map>
#include <set>

#include "tools/fuzz/random_pools.h"

namespace pooljit::tests {

std::vector<MatrixSpec> matrix(size_t count) {
  // One of the seeds whose matrix has every pair (matrix_test) and every dialect (dialect_test).
  fuzz::Draw draw(7);
  std::set<std::string> seen;
  std::vector<MatrixSpec> result;
  while (result.size() < count) {
    fuzz::Combination combination = fuzz::random_combination(draw);
    auto spec = fuzz::combine(combination);
    if (spec && seen.insert(print(*spec)).second)
      result.push_back({std::move(combination), std::move(*spec)});
  }
  return result;
}

std::vector<MatrixSpec> pairs_of_matrix(int times) {
  std::map<std::array<size_t, 4>, int> taken;  // by axis and setting, twice
  std::vector<MatrixSpec> result;
  for (MatrixSpec& row : matrix()) {
    std::vector<int*> rare;
    for (size_t b = 1; b < row.combination.size(); ++b)
      for (size_t a = 0; a < b; ++a)
        if (int& count = taken[{a, row.combination[a], b, row.combination[b]}]; count < times)
          rare.push_back(&count);
    if (rare.empty()) continue;
    for (int* count : rare) ++*count;
    result.push_back(std::move(row));
  }
  return result;
}

std::vector<std::string> matrix_specs(size_t count) {
  std::vector<std::string> texts;
  for (const MatrixSpec& row : matrix(count)) texts.push_back(print(row.spec));
  return texts;
}

std::vector<std::string> long_row_specs(size_t count) {
  fuzz::Draw draw(5);
  std::vector<std::string> texts;
  while (texts.size() < count) {
    const auto spec = fuzz::combine(fuzz::random_combination(draw));
    if (!spec || spec->dims.back().adaptive_output != 0) continue;  // which has no window
    if (const auto with_long_rows = fuzz::lengthened(*spec, draw)) texts.push_back(print(*with_long_rows));
  }
  return texts;
}

std::vector<std::string> pools_specs(size_t count) {
  fuzz::Draw draw(6);
  std::vector<std::string> texts;
  while (texts.size() < count) {
    const auto first = fuzz::combine(fuzz::random_combination(draw));
    if (!first) continue;
    if (const auto pools = fuzz::random_pools(*first, draw)) texts.push_back(print(*pools));
  }
  return texts;
}

int64_t output_count(const frontend::PoolSpec& spec) {
  int64_t count = 1;
  for (const int64_t extent : output_shape(spec)) count *= extent;
  return count;
}

}  // namespace pooljit::tests
