// Every op x dtype x lane count x ISA: the passes and every back end against the interpreter, bit for bit.
// The cases are generated from the tables (tests/programs/op_cases.h).
#include <gtest/gtest.h>

#include <algorithm>

#include "programs/control_cases.h"
#include "programs/op_cases.h"
#include "tests/all_isas.h"

namespace pooljit::test {
namespace {

struct Point {
  Isa isa;
  DType dtype;
};

std::vector<Point> points() {
  std::vector<Point> all;
  for (const Isa isa : ir::all_isas)
    for (const ir::DTypeInfo& dtype : ir::dtype_table) all.push_back({isa, dtype.dtype});
  return all;
}

std::string point_name(const testing::TestParamInfo<Point>& info) {
  return fmt::format("{}_{}", ir::info(info.param.isa).text, ir::info(info.param.dtype).text);
}

void expect_agreement(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::string wrong = complaint(c);
    ASSERT_TRUE(wrong.empty()) << wrong;
  }
}

class OpsMatrix : public testing::TestWithParam<Point> {};

TEST_P(OpsMatrix, Arithmetic) { expect_agreement(arithmetic_cases(GetParam().isa, GetParam().dtype)); }
TEST_P(OpsMatrix, Masks) { expect_agreement(mask_cases(GetParam().isa, GetParam().dtype)); }
TEST_P(OpsMatrix, Conversions) { expect_agreement(conversion_cases(GetParam().isa, GetParam().dtype)); }
TEST_P(OpsMatrix, Shuffles) { expect_agreement(shuffle_cases(GetParam().isa, GetParam().dtype)); }
TEST_P(OpsMatrix, Memory) { expect_agreement(memory_cases(GetParam().isa, GetParam().dtype)); }

INSTANTIATE_TEST_SUITE_P(, OpsMatrix, testing::ValuesIn(points()), point_name);

TEST(ControlCases, OfEveryIsa) {
  for (const Isa isa : ir::all_isas) expect_agreement(control_cases(isa));
}

// A new row of ops.def fails here until a case has it.
TEST(Cases, HaveEveryOp) {
  std::vector<Case> all = control_cases(Isa::avx512);
  for (const auto& make : {arithmetic_cases, mask_cases, conversion_cases, shuffle_cases, memory_cases})
    for (DType dtype : {DType::f32, DType::i32, DType::i16, DType::u64})
      for (Case& c : make(Isa::avx512, dtype)) all.push_back(std::move(c));
  for (const ir::OpInfo& row : ir::ops()) {
    const auto has_op = [&](const Case& c) {
      const auto& insts = c.program.insts;
      return std::any_of(insts.begin(), insts.end(), [&](const ir::Inst& inst) { return inst.op == row.op; });
    };
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), has_op)) << row.text;
  }
}

}  // namespace
}  // namespace pooljit::test
