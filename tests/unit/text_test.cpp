// Programs as text: print and parse_program are inverses; mistakes are named with their line.
#include "ir/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/op_rules.h"

namespace pooljit::ir {
namespace {

// Every op, every attribute, every kind of constant.
constexpr std::string_view every_op = R"(program "a \"name\" with \\" affine avx512 {
  params input, output, indices, table 0, table 1, begin 0, count 0, size 0, size 1
  tasks n=batch, oh=56, o0=size
  table 0 = [0, -1, 9223372036854775807, -9223372036854775808]
  table 1 = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    16, 17
  ]
  %0 = param input : ptr
  %1 = param output : ptr
  %2 = param table 0 : ptr
  %3 = param begin 0 : index
  %4 = iconst -9223372036854775808 : index
  %5 = vconst splat(-inf) : f32x16
  %6 = vconst [0, -0, 1e-45, nan(0x7fc00001), 0.1, inf, 3.4028235e+38, nan(0xffc00000)] : f32x8
  %7 = vconst [18446744073709551615, 0] : u64x2
  %8 = vconst [-3, -1, ..., 3] : i8x4
  %9 = vconst [0.1, nan(0x7ff0000000000001)] : f64x2
  %10 = vmask 1011000000000001 : m32x16
  %11 = iadd %3, %4 : index
  %12 = imul %11, %3 : index
  %13 = imin %12, %3 : index
  %14 = imax %13, %3 : index
  %15 = iload [%2 + 24] : index
  %16 = ptradd [%0 - 9223372036854775808], %15 : ptr
  %17, %18, %19 = loop %15 (%5, %16) : index, f32x16, ptr
    %20 = load [%0 + %17*64 + 128], %10, %5 : f32x16
    %21 = load [%19 - 4] : f32x16
    prefetch [%0 + %17*-64]
    %22 = loop %3 : index
    end
    %23 = cmp un %20, %20 : m32x16
    %24 = select %23, %20, %18 : f32x16
    %25 = ptradd [%19 + 64] : ptr
  %26, %27 = end (%24, %25) : f32x16, ptr
  %28 = shuffle %6, %6, [0, 2, ..., 14] : f32x8
  %29 = shuffle %6, splat(3) : f32x4
  %30 = shuffle %6, [3, 1] : f32x2
  %31 = splat %3 : i32x16
  %32 = add %5, %26 : f32x16
  %33 = sub %5, %26 : f32x16
  %34 = mul %5, %26 : f32x16
  %35 = div %5, %26 : f32x16
  %36 = min %5, %26 : f32x16
  %37 = max %5, %26 : f32x16
  %38 = fma %5, %26, %37 : f32x16
  %39 = sqrt %38 : f32x16
  %40 = and %39, %5 : f32x16
  %41 = or %10, %10 : m32x16
  %42 = shl %31, 3 : i32x16
  %43 = shr %31, 31 : i32x16
  %44 = cvt %43 saturate : u8x16
  %45 = cvt %44 : i32x16
  %46 = bitcast %44 : u32x4
  %47 = propagate %40, %39 : f32x16
  %48 = vconst splat(-3) : i16x16
  %49 = mulh %48, %48 : i16x16
  %50 = vconst splat(7) : u64x4
  %51 = mull %50, %50 : u64x4
  store [%1], %40
  store [%1 + %3*4], %41, %10 non_temporal
  ret
}
)";

Program must_parse(std::string_view text) {
  auto program = parse_program(text);
  EXPECT_TRUE(program.has_value()) << (program ? "" : to_string(program.error()));
  return program ? *program : Program{};
}

TEST(Text, EveryOpRoundTrips) {
  const Program program = must_parse(every_op);
  EXPECT_EQ(print(program), every_op);
  EXPECT_EQ(must_parse(print(program)), program);
  for (const OpInfo& row : ops()) {
    const auto is_row = [&](const Inst& inst) { return inst.op == row.op; };
    EXPECT_TRUE(std::any_of(program.insts.begin(), program.insts.end(), is_row))
        << "add the op " << row.text << " to this test's text";
  }
}

TEST(Text, WhiteSpaceAndCommentsDoNotMatter) {
  const Program tight = must_parse("program \"\" legal avx2{params input%0=param input:ptr#c\nret}");
  EXPECT_EQ(print(tight), "program \"\" legal avx2 {\n  params input\n  %0 = param input : ptr\n  ret\n}\n");
}

TEST(Text, LinesAreThoseOfThePrint) {
  const Program program = must_parse(every_op);
  std::vector<std::string> text_lines(1);
  for (char c : print(program)) {
    if (c == '\n')
      text_lines.emplace_back();
    else
      text_lines.back() += c;
  }
  const std::vector<int> line_of = lines(program);
  ASSERT_EQ(line_of.size(), program.insts.size());
  for (size_t i = 0; i < line_of.size(); ++i) {
    const std::string& line = text_lines[static_cast<size_t>(line_of[i] - 1)];
    EXPECT_EQ(line.substr(line.find_first_not_of(' ')), print(program, program.insts[i]));
  }
}

TEST(Text, LongTablesAreCutOnRequest) {
  const std::string text = print(must_parse(every_op), {.table_limit = 2});
  EXPECT_NE(text.find("table 0 = [0, -1, ...]  # 4 values\n"), std::string::npos) << text;
  EXPECT_FALSE(parse_program(text).has_value());
}

TEST(Text, InvalidProgramsPrintToo) {
  Program program;
  program.insts = {Inst{.op = Op::loop}, Inst{.op = Op::vconst}, Inst{.op = Op::vmask, .results = {7}},
                   Inst{.op = Op::param, .results = {-1}, .imm = 3}};
  EXPECT_NE(print(program).find("param slot 3"), std::string::npos) << print(program);
}

struct Rejected {
  std::string_view text, message;
};

TEST(Text, MistakesAreNamedWithTheirLine) {
  const std::string head = "program \"x\" affine avx2 {\n";
  const Rejected rows[] = {
      {"", R"(line 1: "the end of the text" where "program" should be)"},
      {"program x", R"(line 1: "x" where the program's name in quotes should be)"},
      {"program \"x", R"(line 1: "the end of the text" where affine, addressed or legal should be)"},
      {"program \"x\" affine avx3 {}", R"("avx3" where an instruction set should be)"},
      {"%0 = frob %1 : ptr", R"(line 2: "frob" where an operation should be)"},
      {"%0 = iconst 9223372036854775808 : index", "a 64-bit integer"},
      {"%0 = iconst 1 : f33x2", "a type like f32x16"},
      {"%0 = iconst 1 : f32x", "a type like f32x16"},
      {"%0 = iconst 1 : m31x4", "a type like f32x16"},
      {"%0 = iconst 1 : index, index", "one type per result"},
      {"%0, %1 = iconst 1 : index", "one type per result"},
      {"%0 = param input : ptr", "one of the program's params"},
      {"%99999999999 = iconst 1 : index", "a value like %3"},
      {"%99999999 = iconst 1 : index", "a smaller value number"},
      {"%0 = vconst [1, 2.5] : i32x2", R"("2.5" where a number of type i32 should be)"},
      {"%0 = vconst [1, 0x] : f32x2", R"("0x" where a number of type f32 should be)"},
      {"%0 = vconst [1, 3, ..., 6] : i32x4", "a list with a constant step"},
      {"%0 = vconst [1, 3, ...] : i32x4", "[first, second, ..., last]"},
      {"%0 = vconst [1, 9223372036854775807, ..., -2] : i64x4", "a list of smaller numbers"},
      {"%0 = vmask 102 : m8x3", "a 0 or 1 per lane"},
      {"%0 = load [%1 - %2*4] : f32x1", "an offset"},
      {"%0 = load [%1 + 4 + 4] : f32x1", "one offset"},
      {"%0 = add %1, : f32x1", "an operand"},
      {"%0 = cmp ult %1, %2 : m8x1", "a predicate"},
      {"table 1 = []", "the tables in order"},
      {"ret } ret", "nothing after the program"},
  };
  for (const Rejected& row : rows) {
    const bool is_whole = row.text.empty() || row.text.starts_with("program");
    const std::string text = is_whole ? std::string(row.text) : head + std::string(row.text) + "\n}";
    const auto program = parse_program(text);
    ASSERT_FALSE(program.has_value()) << text;
    EXPECT_EQ(program.error().id, "program.text");
    EXPECT_NE(program.error().message.find(row.message), std::string::npos)
        << row.text << "\n gives: " << program.error().message;
  }
}

}  // namespace
}  // namespace pooljit::ir
