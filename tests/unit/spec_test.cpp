// Specs: golden texts, every rule broken at least once, and what holds for all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "frontend/check.h"
#include "frontend/dialects.h"
#include "frontend/operators.h"
#include "frontend/pool_spec.h"
#include "frontend/rules.h"
#include "tests/cases.h"
#include "tests/matrix/specs.h"

namespace pooljit::frontend {
namespace {

std::string with_blanks(std::string text) {
  const size_t begin = text.find("{blanks:");
  if (begin == std::string::npos) return text;
  const size_t end = text.find('}', begin);
  const size_t count = std::stoul(text.substr(begin + 8, end - begin - 8));
  return text.replace(begin, end - begin + 1, std::string(count, ' '));
}

std::string shown(const std::vector<int64_t>& list) { return fmt::format("[{}]", fmt::join(list, ",")); }

TEST(Spec, AcceptedTextsHaveTheirCanonicalTextAndShape) {
  for (const test::GoldenCase& row : test::read_cases("spec/accept.txt")) {
    const std::string text = row.fields.at("accept");
    SCOPED_TRACE(fmt::format("accept.txt:{}: {}", row.line, text));
    const auto spec = parse_meaning(text);
    if (!spec) {
      ADD_FAILURE() << to_string(spec.error());
      continue;
    }
    const std::string canonical = row.fields.at("canonical") == "=" ? text : row.fields.at("canonical");
    EXPECT_EQ(print(*spec), canonical);
    const auto again = parse_meaning(canonical);
    EXPECT_TRUE(again && *again == *spec);
    EXPECT_EQ(shown(output_shape(*spec)), row.fields.at("output"));
  }
}

TEST(Spec, RejectedTextsBreakTheirRule) {
  for (const test::GoldenCase& row : test::read_cases("spec/reject.txt")) {
    const std::string text = with_blanks(row.fields.at("reject"));
    SCOPED_TRACE(fmt::format("reject.txt:{}: {}", row.line, row.fields.at("reject")));
    const auto spec = parse_spec(text);
    if (spec) {
      ADD_FAILURE() << "accepted as " << print(*spec);
      continue;
    }
    EXPECT_EQ(spec.error().id, row.fields.at("error"));
    const std::string message = to_string(spec.error());
    EXPECT_NE(message.find(row.fields.at("message")), std::string::npos) << message;
  }
}

TEST(Spec, EveryRuleIsBrokenByAGoldenText) {
  std::set<std::string> broken;
  for (const char* file : {"spec/reject.txt", "spec/free.txt", "dialects/torch.txt", "dialects/benchdnn.txt"})
    for (const test::GoldenCase& row : test::read_cases(file))
      if (row.fields.count("error")) broken.insert(row.fields.at("error"));
  for (const RuleInfo& rule : rule_table) EXPECT_TRUE(broken.count(std::string(rule.id))) << rule.id;
}

TEST(Spec, KindsOfErrorsFollowTheRule) {
  EXPECT_EQ(parse_spec("F.fractional_max_pool2d(float32[1,3,4,4], 2)").error().kind,
            ir::ErrorKind::unsupported);
  EXPECT_EQ(parse_spec("max_pool2d(float32[1,3,4,4], 9)").error().kind, ir::ErrorKind::invalid);
}

TEST(Spec, PrintedSpecsParseBack) {
  for (const tests::MatrixSpec& row : tests::matrix()) {
    const std::string text = print(row.spec);
    const auto spec = parse_spec(text);
    ASSERT_TRUE(spec) << text << ": " << to_string(spec.error());
    ASSERT_TRUE(*spec == row.spec) << text;
    ASSERT_EQ(print(*spec), text);
  }
}

// Texts near valid ones: what is accepted prints back, what is not has a rule.
TEST(Spec, DamagedTextsAreAcceptedOrRejectedByARule) {
  std::set<std::string> ids;
  for (const RuleInfo& rule : rule_table) ids.insert(std::string(rule.id));
  const std::string alphabet = "max_pol2d(8[1,39]:=-)TrueN. \t\xff";
  std::mt19937 random(3);
  for (const std::string& valid : tests::matrix_specs(2000)) {
    std::string text = valid;
    for (unsigned edits = random() % 3 + 1; edits > 0 && !text.empty(); --edits) {
      const size_t at = random() % text.size();
      const char other = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0)
        text.erase(at, random() % 4);
      else if (random() % 2 == 0)
        text.insert(at, 1, other);
      else
        text[at] = other;
    }
    const auto spec = parse_spec(text);
    if (spec)
      ASSERT_EQ(print(*parse_spec(print(*spec))), print(*spec)) << text;
    else
      ASSERT_TRUE(ids.count(spec.error().id)) << text;
  }
}

TEST(Spec, TheSignatureLeavesTheBatchOut) {
  const auto signed_text = [](const char* text) { return signature(*parse_spec(text)); };
  EXPECT_EQ(signed_text("max_pool2d(float32[8,64,112,112]:nhwc, 3, 2, 1)"),
            "max_pool2d(float32[N,64,112,112]:nhwc, kernel_size=3, stride=2, padding=1)");
  EXPECT_EQ(signed_text("max_pool1d(uint8[0,2,8], 2)"), signed_text("max_pool1d(uint8[7,2,8], 2)"));
  // A packed tensor without a batch is a batch of one.
  EXPECT_EQ(signed_text("max_pool1d(uint8[2,8], 2)"), signed_text("max_pool1d(uint8[7,2,8], 2)"));
  EXPECT_EQ(signed_text("max_pool1d(uint8[7,2,8], 2, strides=[32,16,2])"),
            "max_pool1d(uint8[N,2,8], kernel_size=2, strides=[32,16,2])");
  EXPECT_EQ(signed_text("max_pool1d(uint8[2,8], 2, strides=[16,2])"),
            "max_pool1d(uint8[2,8], kernel_size=2, strides=[16,2])");
}

TEST(Spec, OneSignatureIsOneNest) {
  std::map<std::string, ir::PoolNest> nests;
  for (const tests::MatrixSpec& row : tests::matrix()) {
    for (const auto& batch :
         {std::optional<int64_t>{}, std::optional<int64_t>{1}, std::optional<int64_t>{5}}) {
      PoolSpec spec = row.spec;
      // Strides are per dim, so those of a batch are not those without.
      if (spec.batch.has_value() != batch.has_value() &&
          !(spec.strides.empty() && spec.output_strides.empty()))
        continue;
      spec.batch = batch;
      const auto checked = check_spec(spec);
      if (!checked) continue;  // with more batches output_strides may overlap
      const auto [entry, is_new] = nests.emplace(signature(*checked), make_nest(*checked));
      ASSERT_TRUE(entry->second == make_nest(*checked)) << print(*checked);
    }
  }
}

TEST(Spec, OutputExtentsAreTheWindowsThatFit) {
  for (const tests::MatrixSpec& row : tests::matrix()) {
    const bool is_forward = row.spec.direction == ir::Direction::forward;
    const std::vector<int64_t> shape = is_forward ? output_shape(row.spec) : input_shape(row.spec);
    for (size_t i = 0; i < row.spec.dims.size(); ++i) {
      const SpecDim& dim = row.spec.dims[i];
      if (is_adaptive(row.spec)) {
        ASSERT_EQ(shape[shape.size() - row.spec.dims.size() + i], dim.adaptive_output) << print(row.spec);
        continue;
      }
      const int64_t extent = dim.dilation * (dim.kernel - 1) + 1;
      const int64_t padded = dim.pad_begin + dim.input + dim.pad_end;
      int64_t windows = 0, begin = 0;
      for (; begin + extent <= padded; begin += dim.stride) ++windows;
      if (row.spec.ceil_mode != CeilMode::floor) {
        const bool leaves_rest = begin - dim.stride + extent < padded;
        if (leaves_rest) ++windows;
        if (row.spec.ceil_mode == CeilMode::torch && (windows - 1) * dim.stride >= dim.pad_begin + dim.input)
          --windows;
      }
      ASSERT_EQ(shape[shape.size() - row.spec.dims.size() + i], windows) << print(row.spec);
    }
  }
}

TEST(Spec, StridesAreTheLayouts) {
  const auto strides = [](const char* text) { return shown(input_strides(*parse_spec(text))); };
  EXPECT_EQ(strides("max_pool2d(float32[2,3,4,5], 2)"), "[60,20,5,1]");
  EXPECT_EQ(strides("max_pool2d(float32[2,3,4,5]:nhwc, 2)"), "[60,1,15,3]");
  EXPECT_EQ(strides("max_pool2d(float32[3,4,5]:nhwc, 2)"), "[1,15,3]");
  EXPECT_EQ(strides("max_pool3d(float32[2,3,4,5,6]:ndhwc, 2)"), "[360,1,90,18,3]");
  EXPECT_EQ(shown(output_strides(*parse_spec("max_pool2d(float32[2,3,4,6]:nhwc, 2)"))), "[18,1,9,3]");
}

// Every accepted output view gives each element its own place, seen by writing down all offsets.
TEST(Spec, OutputsHaveTheirOwnPlaces) {
  std::mt19937 random(4);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    PoolSpec spec;
    spec.batch = 1 + random() % 3;
    spec.channels = 1 + random() % 3;
    spec.dims.resize(1);
    spec.dims[0].input = 1 + random() % 4;
    for (int axis = 0; axis < 3; ++axis) spec.output_strides.push_back(random() % 13);
    const std::vector<int64_t> strides = spec.output_strides;
    const auto checked = check_spec(spec);
    if (!checked) continue;
    ++accepted;
    std::set<int64_t> offsets;
    for (int64_t n = 0; n < *spec.batch; ++n)
      for (int64_t c = 0; c < spec.channels; ++c)
        for (int64_t x = 0; x < spec.dims[0].input; ++x)
          ASSERT_TRUE(offsets.insert(n * strides[0] + c * strides[1] + x * strides[2]).second)
              << print(*checked);
  }
  EXPECT_GT(accepted, 1000);
}

// docs/specs.md: its examples are canonical, its keyword table is complete.
TEST(Spec, TheDocumentIsRight) {
  std::ifstream file(std::string(POOLJIT_SOURCE_DIR) + "/docs/specs.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto block = text.find("```\n") + 4;
  std::istringstream examples(text.substr(block, text.find("```", block) - block));
  int count = 0;
  for (std::string line; std::getline(examples, line); ++count) {
    const auto spec = parse_spec(line);
    ASSERT_TRUE(spec) << line << ": " << to_string(spec.error());
    EXPECT_EQ(print(*spec), line);
  }
  EXPECT_GE(count, 6);
  for (const Keyword& keyword : keywords())
    EXPECT_NE(text.find(fmt::format("`{}`", keyword.name), text.find("## Keywords")), std::string::npos)
        << keyword.name;
  for (const Operator& op : operators())
    EXPECT_NE(text.find(fmt::format("`{}`", name_of(op, 2))), std::string::npos) << name_of(op, 2);
}

// Specs made without a text go through the same rules.
TEST(Spec, ValuesAreCheckedToo) {
  const auto id = [](const PoolSpec& spec) {
    const auto checked = check_spec(spec);
    return checked ? "" : checked.error().id;
  };
  PoolSpec spec;
  EXPECT_EQ(id(spec), "spec.rank");
  spec.dims.resize(4);
  EXPECT_EQ(id(spec), "spec.rank");
  spec.dims.resize(1);
  EXPECT_EQ(id(spec), "");
  spec.dtype = ir::DType::u16;
  EXPECT_EQ(id(spec), "spec.unsupported_dtype");
  spec.dtype = ir::DType::u8;
  spec.divisor_override = 2;
  EXPECT_EQ(id(spec), "spec.option");
  spec.reduction = ir::Reduction::avg;
  EXPECT_EQ(id(spec), "");
  spec.zeros = ir::ZeroRule::first;
  EXPECT_EQ(id(spec), "spec.option");
}

}  // namespace
}  // namespace pooljit::frontend
