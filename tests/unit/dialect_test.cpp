// Dialects: what their texts mean, what is printed back, what is refused; a golden table for each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "frontend/dialects.h"
#include "frontend/rules.h"
#include "tests/cases.h"
#include "tests/matrix/specs.h"

namespace pooljit::frontend {
namespace {

void expect_meaning(const Dialect& dialect, const test::GoldenCase& row) {
  const std::string text = row.fields.at("accept");
  const auto spec = parse_meaning(text);
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(print(*spec), row.fields.at("canonical"));
  const auto back = print_as(dialect, *spec);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, row.fields.at("back") == "=" ? text : row.fields.at("back"));
}

void expect_refused(const ir::Error& error, const std::string& id, const std::string& message) {
  EXPECT_EQ(error.id, id);
  EXPECT_NE(error.message.find(message), std::string::npos) << error.message;
}

void expect_rejected(const test::GoldenCase& row) {
  const auto spec = parse_meaning(row.fields.at("reject"));
  ASSERT_FALSE(spec) << "accepted as " << print(*spec);
  expect_refused(spec.error(), row.fields.at("error"), row.fields.at("message"));
}

void expect_wordless(const Dialect& dialect, const test::GoldenCase& row) {
  const auto spec = parse_meaning(row.fields.at("cannot say"));
  ASSERT_TRUE(spec) << to_string(spec.error());
  const auto text = print_as(dialect, *spec);
  ASSERT_FALSE(text) << *text;
  expect_refused(text.error(), "spec.dialect", row.fields.at("message"));
}

TEST(Dialects, TextsMeanWhatTheirTableSays) {
  for (const Dialect& dialect : dialects()) {
    if (dialect.beginnings.empty()) continue;  // the canonical one has tests of its own
    std::map<std::string, int> kinds;
    for (const test::GoldenCase& row : test::read_cases(fmt::format("dialects/{}.txt", dialect.name))) {
      SCOPED_TRACE(fmt::format("dialects/{}.txt:{}", dialect.name, row.line));
      if (row.fields.count("accept")) {
        expect_meaning(dialect, row);
        ++kinds["accept"];
      } else if (row.fields.count("reject")) {
        expect_rejected(row);
        ++kinds["reject"];
      } else {
        expect_wordless(dialect, row);
        ++kinds["cannot say"];
      }
    }
    EXPECT_EQ(kinds.size(), 3u) << dialect.name;
  }
}

// What a dialect says means the layer that it was asked to say, and everything is sayable in the canonical
// one. Global pools stay global where sizes could change.
TEST(Dialects, SayWhatWasMeantOrNothing) {
  std::map<std::string_view, int> said;
  for (const tests::MatrixSpec& row : tests::matrix()) {
    for (const Dialect& dialect : dialects()) {
      const auto text = print_as(dialect, row.spec);
      if (!text) {
        ASSERT_EQ(text.error().id, "spec.dialect");
        continue;
      }
      ++said[dialect.name];
      const auto again = parse_meaning(*text);
      ASSERT_TRUE(again) << *text;
      ASSERT_EQ(make_nest(*again) == make_nest(row.spec), true) << *text << " of " << print(row.spec);
      const auto is_global = [](const PoolSpec& spec) {
        return spec.global ||
               std::ranges::all_of(spec.dims, [](auto& dim) { return dim.adaptive_output == 1; });
      };
      if (row.spec.global && !dialect.has_one_size) {
        ASSERT_TRUE(is_global(*again)) << *text;
      }
    }
  }
  EXPECT_EQ(said["canonical"], static_cast<int>(tests::matrix().size()));
  for (const Dialect& dialect : dialects()) EXPECT_GT(said[dialect.name], 0) << dialect.name;
}

}  // namespace
}  // namespace pooljit::frontend
