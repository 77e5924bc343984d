// The generated matrix covers what it promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/matrix/specs.h"
#include "tools/fuzz/axes.h"

namespace pooljit::tests {
namespace {

const std::vector<MatrixSpec>& all() {
  static const std::vector<MatrixSpec> specs = matrix();
  return specs;
}

TEST(Matrix, HasThousandsOfDifferentValidSpecs) {
  std::set<std::string> texts;
  for (const MatrixSpec& row : all()) {
    const std::string text = print(row.spec);
    const auto parsed = frontend::parse_spec(text);
    ASSERT_TRUE(parsed) << text << "\n" << ir::to_string(parsed.error());
    ASSERT_TRUE(*parsed == row.spec) << text;
    texts.insert(text);
  }
  EXPECT_GE(texts.size(), 5000u);
}

TEST(Matrix, IsTheSameEachTime) { EXPECT_EQ(matrix_specs(50), matrix_specs(50)); }

// Whether a valid spec can hold both settings, by trying.
bool is_possible(size_t axis_a, size_t setting_a, size_t axis_b, size_t setting_b) {
  fuzz::Draw draw(2);
  for (int tries = 0; tries < 20000; ++tries) {
    fuzz::Combination combination = fuzz::random_combination(draw);
    combination[axis_a] = setting_a;
    combination[axis_b] = setting_b;
    if (fuzz::combine(combination)) return true;
  }
  return false;
}

TEST(Matrix, EveryPossiblePairOfSettingsOccurs) {
  const std::vector<fuzz::Axis>& axes = fuzz::spec_axes();
  for (size_t a = 0; a < axes.size(); ++a)
    for (size_t b = a + 1; b < axes.size(); ++b)
      for (size_t i = 0; i < axes[a].settings.size(); ++i)
        for (size_t j = 0; j < axes[b].settings.size(); ++j) {
          const bool occurs = std::any_of(all().begin(), all().end(), [&](const MatrixSpec& row) {
            return row.combination[a] == i && row.combination[b] == j;
          });
          EXPECT_TRUE(occurs || !is_possible(a, i, b, j))
              << axes[a].name << " " << axes[a].settings[i].label << ", " << axes[b].name << " "
              << axes[b].settings[j].label;
        }
}

}  // namespace
}  // namespace pooljit::tests
