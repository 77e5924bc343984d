// The passes: golden texts of each (tests/golden/passes/<pass>/), what shuffles become, what cleanup keeps.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "frontend/pool_spec.h"
#include "golden.h"
#include "ir/builder.h"
#include "ir/passes/legal.h"
#include "ir/passes/pipeline.h"
#include "ir/passes/shuffle_cut.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace pooljit::ir {
namespace {

using Pass = Result<Program> (*)(Program);

Result<Program> lowered(const test::GoldenKeys& keys) {
  const auto spec = frontend::parse_spec(keys.at("spec"));
  if (!spec) return tl::unexpected(spec.error());
  const auto schedule = parse_schedule(keys.at("schedule"));
  if (!schedule) return tl::unexpected(schedule.error());
  return lower(frontend::make_nest(*spec), *schedule, *find_isa(keys.at("isa")));
}

// The text after the last of some passes; each must leave a valid Program.
std::string after(const test::GoldenKeys& keys, std::initializer_list<Pass> passes) {
  Result<Program> program = lowered(keys);
  for (Pass pass : passes) {
    if (!program) break;
    program = pass(std::move(*program));
    if (!program) break;
    renumber(*program);
    if (auto valid = verify(*program); !valid) return to_string(valid.error()) + "\n" + print(*program);
  }
  return program ? print(*program) : to_string(program.error()) + "\n";
}

Result<Program> run_address(Program program) { return address(std::move(program)); }
Result<Program> run_cleanup(Program program) { return cleanup(std::move(program)); }

TEST(Passes, Address) {
  test::check_golden("passes/address", [](const auto& keys) { return after(keys, {run_address}); });
}

std::string legalized(const test::GoldenKeys& keys) { return after(keys, {run_address, legalize_isa}); }
TEST(Passes, LegalizeAvx2) { test::check_golden("passes/legalize_avx2", legalized); }
TEST(Passes, LegalizeAvx512) { test::check_golden("passes/legalize_avx512", legalized); }

TEST(Passes, Cleanup) {
  test::check_golden("passes/cleanup", [](const auto& keys) {
    return after(keys, {run_address, legalize_isa, run_cleanup});
  });
}

// A pass goes on from a Program's constants: equal ones are shared, and no value is taken for its number.
TEST(Passes, KeptIndexConstants) {
  Builder source("constants", Isa::avx2);
  const Value seven = source.iconst(7);
  source.iconst(int64_t{seven} + 100);
  source.ret();
  Program program = source.finish();
  InstList insts = program.insts;
  Builder pass(std::move(program));
  for (size_t i = 0; i < insts.size(); ++i) pass.keep(insts.take(i));
  const std::vector<int64_t> wanted = {7, int64_t{seven} + 100, seven, int64_t{seven} + 1};
  std::map<int64_t, Value> given;
  for (const int64_t number : wanted) given[number] = pass.iconst(number);
  EXPECT_EQ(given[7], seven);
  std::map<int64_t, Value> made;
  size_t constants = 0;
  for (const Inst& inst : pass.finish().insts) {
    if (inst.op != Op::iconst) continue;
    made[inst.imm] = inst.results[0];
    ++constants;
  }
  EXPECT_EQ(made, given);
  EXPECT_EQ(constants, wanted.size());
}

// --------------------------------------------------------------------------------------------- shuffles
struct ShuffleCost {
  const char* name;
  Isa isa;
  Type type;
  int operands;
  std::function<int64_t(int64_t)> lane;  // of result lane i
  int lanes;                             // of the result
  int at_most;                           // instructions
};

int64_t even(int64_t i) { return 2 * i; }
int64_t odd(int64_t i) { return 2 * i + 1; }
int64_t first(int64_t i) { return i; }
int64_t zero(int64_t) { return 0; }
int64_t next(int64_t i) { return i + 1; }

const Type f32x8 = Type::vec(DType::f32, 8), f32x16 = Type::vec(DType::f32, 16);
const Type u8x32 = Type::vec(DType::u8, 32), u8x64 = Type::vec(DType::u8, 64);
const Type i32x8 = Type::vec(DType::i32, 8), i32x16 = Type::vec(DType::i32, 16);

const ShuffleCost costs[] = {
    {"even f32", Isa::avx512, f32x16, 2, even, 16, 1},
    {"odd f32", Isa::avx512, f32x16, 2, odd, 16, 1},
    {"next f32", Isa::avx512, f32x16, 2, next, 16, 1},
    {"stride 3 f32", Isa::avx512, f32x16, 2, [](int64_t i) { return 3 * i % 32; }, 16, 1},
    {"even u8", Isa::avx512, u8x64, 2, even, 64, 3},
    {"odd u8", Isa::avx512, u8x64, 2, odd, 64, 3},
    {"even u8 of one", Isa::avx512, u8x64, 1, even, 32, 2},
    {"any u8", Isa::avx512, u8x64, 2, [](int64_t i) { return 37 * i % 128; }, 64, 5},
    {"half i32", Isa::avx512, i32x16, 1, [](int64_t i) { return i + 8; }, 8, 1},
    {"quarter i32", Isa::avx512, i32x16, 1, [](int64_t i) { return i + 12; }, 4, 1},
    {"concat i32", Isa::avx512, i32x8, 2, first, 16, 1},
    {"broadcast f32", Isa::avx512, f32x16, 1, zero, 16, 1},
    {"even f32", Isa::avx2, f32x8, 2, even, 8, 2},
    {"odd f32", Isa::avx2, f32x8, 2, odd, 8, 2},
    {"next f32", Isa::avx2, f32x8, 2, next, 8, 2},
    {"any f32", Isa::avx2, f32x8, 2, [](int64_t i) { return 5 * i % 16; }, 8, 3},
    {"any f32 of one", Isa::avx2, f32x8, 1, [](int64_t i) { return 5 * i % 8; }, 8, 1},
    {"even u8", Isa::avx2, u8x32, 2, even, 32, 4},
    {"odd u8", Isa::avx2, u8x32, 2, odd, 32, 4},
    {"even u8 of one", Isa::avx2, u8x32, 1, even, 16, 2},
    {"any u8 of one", Isa::avx2, u8x32, 1, [](int64_t i) { return 13 * i % 32; }, 32, 4},
    {"half i32", Isa::avx2, i32x8, 1, [](int64_t i) { return i + 4; }, 4, 1},
    {"low half i32", Isa::avx2, i32x8, 1, first, 4, 1},
    {"concat i32", Isa::avx2, Type::vec(DType::i32, 4), 2, first, 8, 1},
    {"broadcast u8", Isa::avx2, u8x32, 1, zero, 32, 1},
};

TEST(Shuffles, AreCutIntoFewInstructionsEachOfThemLegal) {
  for (const ShuffleCost& cost : costs) {
    Builder b(cost.name, cost.isa);
    const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
    const Value x = b.load(cost.type, {in, {}, 0});
    const Value y = cost.operands == 2 ? b.load(cost.type, {in, {}, 64}) : no_value;
    std::vector<int64_t> lanes;
    for (int64_t i = 0; i < cost.lanes; ++i) lanes.push_back(cost.lane(i));
    b.store({out, {}, 0}, cut_shuffle(b, x, y, lanes));
    b.ret();
    const Program program = b.finish();
    const auto is_shuffle = [](const Inst& inst) { return inst.op == Op::shuffle; };
    const auto count = std::count_if(program.insts.begin(), program.insts.end(), is_shuffle);
    EXPECT_LE(count, cost.at_most) << cost.name << " " << print(program);
    for (const Inst& inst : program.insts)
      EXPECT_EQ(why_not_legal(program, inst), std::nullopt) << cost.name << " " << print(program);
  }
}

// ---------------------------------------------------------------------------------------------- refusals
TEST(Legal, NamesWhatAnIsaLacks) {
  Builder b("illegal", Isa::avx2);
  const Value in = b.param(Param::Role::input);
  const Value x = b.load(Type::vec(DType::i64, 4), {in, {}, 0});
  b.binary(Op::max, x, x);
  b.ret();
  const Program program = b.finish();
  EXPECT_EQ(why_not_legal(program, program.insts[2]), "avx2 has no max of i64");
}

TEST(Cleanup, KeepsTheInitsOfALoopThatNeverRuns) {
  Builder b("never", Isa::avx2);
  const Type type = Type::vec(DType::i32, 4);
  const Value out = b.param(Param::Role::output);
  const auto loop = b.begin_loop(b.iconst(0), {b.vconst_splat(type, 7)});
  const Values finals = b.end_loop({b.binary(Op::add, loop.carried[0], loop.carried[0])});
  b.store({out, {}, 0}, finals[0]);
  b.ret();
  const Program program = cleanup(b.finish());
  ASSERT_EQ(program.insts.size(), 4u) << print(program);  // param, vconst, store, ret
  EXPECT_EQ(program.insts[2].op, Op::store);
}

}  // namespace
}  // namespace pooljit::ir
