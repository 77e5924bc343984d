// The Xbyak back end: what the register map decides, what the code memory promises, what is refused. Every
// op's meaning: ops_matrix_test.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "jit/code_memory.h"
#include "jit/emitters.h"
#include "jit/xbyak/register_map.h"
#include "programs/bundle.h"
#include "tests/all_isas.h"

namespace pooljit::test {
namespace {

using ir::Param;
using ir::Program;
using ir::Values;

class XbyakBackend : public testing::TestWithParam<Isa> {
 protected:
  Isa isa() const { return GetParam(); }
  int registers() const { return ir::info(isa()).vector_registers; }
  Type floats() const { return Type::vec(DType::f32, ir::info(isa()).vector_bytes / 4); }
};

Program legal(Builder& b) {
  b.ret();
  auto program = ir::legalize(b.finish());
  EXPECT_TRUE(program.has_value());
  return std::move(*program);
}

// A case whose input and output are 4 KiB, run by every engine.
void expect_agreement(const std::string& name, Builder& b, int64_t count) {
  b.ret();
  Case c{name, b.finish(), std::vector<uint8_t>(4096), 4096};
  c.count = count;
  for (size_t i = 0; i < c.input.size(); ++i) c.input[i] = static_cast<uint8_t>(i * 7 % 101);
  EXPECT_EQ(complaint(c), "");
}

// `live` vectors are loaded, then all are added up.
void add_up(Builder& b, const Type& type, int live) {
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  std::vector<Value> loaded;
  for (int i = 0; i < live; ++i) loaded.push_back(b.load(type, {in, {}, 8 * i}));
  // Each is used twice, so none becomes a memory operand.
  Value sum = loaded[0], product = loaded[0];
  for (int i = 1; i < live; ++i) sum = b.binary(Op::add, sum, loaded[static_cast<size_t>(i)]);
  for (int i = 1; i < live; ++i) product = b.binary(Op::add, product, loaded[static_cast<size_t>(i)]);
  b.store({out, {}, 0}, sum);
  b.store({out, {}, 64}, product);
}

// ------------------------------------------------------------------------------------------ register map
TEST_P(XbyakBackend, FillsEveryVectorRegister) {
  Builder b("full", isa());
  add_up(b, Type::vec(DType::i32, floats().lanes), registers() - 1);
  expect_agreement("full", b, 0);
}

TEST_P(XbyakBackend, RefusesToSpillVectors) {
  Builder b("too full", isa());
  add_up(b, floats(), registers() + 1);
  const auto blob = jit::emit_xbyak(legal(b));
  ASSERT_FALSE(blob.has_value());
  EXPECT_EQ(blob.error().id, "schedule.registers");
  const std::string have = std::to_string(registers());
  EXPECT_NE(blob.error().message.find("has " + have), std::string::npos) << blob.error().message;
  EXPECT_NE(blob.error().message.find("vector"), std::string::npos) << blob.error().message;
}

TEST(XbyakMasks, RefusesToSpillMasks) {
  Builder b("masks", Isa::avx512);
  const Type type = Type::vec(DType::i32, 16);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value x = b.load(type, {in, {}, 0});
  Values masks;
  for (int i = 1; i <= 8; ++i) masks.push_back(b.cmp(ir::Predicate::gt, x, b.load(type, {in, {}, 64 * i})));
  Value any = masks[0], all = masks[0];
  for (size_t i = 1; i < masks.size(); ++i) any = b.binary(Op::or_, any, masks[i]);
  for (size_t i = 1; i < masks.size(); ++i) all = b.binary(Op::and_, all, masks[i]);
  b.store({out, {}, 0}, b.select(any, x, b.select(all, x, b.vconst_splat(type, 1))));
  const auto blob = jit::emit_xbyak(legal(b));
  ASSERT_FALSE(blob.has_value());
  EXPECT_NE(blob.error().message.find("mask"), std::string::npos) << blob.error().message;
}

// More constants and masks than registers: those that find none are read from memory or made where needed.
TEST_P(XbyakBackend, ConstantsGiveWayToValues) {
  Builder b("constants", isa());
  const Type type = Type::vec(DType::i32, floats().lanes);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value trip = b.param(Param::Role::count, b.add_task("n", 9));
  Values init;
  for (int i = 0; i < registers() - 4; ++i) init.push_back(b.vconst_splat(type, i));
  const auto loop = b.begin_loop(trip, init);
  const Value x = b.load(type, {in, {{loop.iv, 64}}, 0});
  Values next;
  for (size_t i = 0; i < init.size(); ++i) {
    std::vector<int64_t> lanes(static_cast<size_t>(type.lanes), 0);
    lanes[i % lanes.size()] = 1;
    const Value chosen = b.select(b.vmask(type.mask_of(), lanes), x, loop.carried[i]);
    next.push_back(b.binary(Op::add, chosen, b.vconst_splat(type, 1000 + static_cast<int64_t>(i))));
  }
  const Values finals = b.end_loop(next);
  for (size_t i = 0; i < finals.size(); ++i) b.store({out, {}, static_cast<int64_t>(64 * i)}, finals[i]);
  expect_agreement("constants", b, 9);
}

// Pointers and counters beyond the general registers lie on the stack.
TEST_P(XbyakBackend, PointersSpill) {
  Builder b("pointers", isa());
  const Type type = Type::vec(DType::i32, 4);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value count = b.param(Param::Role::count, b.add_task("n", 3));
  Values init;
  for (int i = 0; i < 24; ++i) init.push_back(b.ptradd({in, {}, 16 * i}));
  const auto outer = b.begin_loop(count, init);
  const auto inner = b.begin_loop(count, outer.carried);
  Value sum = b.load(type, {inner.carried[0], {}, 0});
  for (size_t i = 1; i < init.size(); ++i)
    sum = b.binary(Op::add, sum, b.load(type, {inner.carried[i], {}, 0}));
  b.store({out, {{outer.iv, 256}, {inner.iv, 16}}, 0}, sum);
  Values moved = {inner.carried.back()};  // they also change places
  for (size_t i = 0; i + 1 < init.size(); ++i) moved.push_back(b.ptradd({inner.carried[i], {}, 4}));
  b.end_loop(b.end_loop(moved));
  expect_agreement("pointers", b, 3);
}

TEST_P(XbyakBackend, CarriedVectorsChangePlaces) {
  Builder b("cycle", isa());
  const Type type = Type::vec(DType::i32, 4);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value count = b.param(Param::Role::count, b.add_task("n", 7));
  Values init;
  for (int i = 0; i < 5; ++i) init.push_back(b.load(type, {in, {}, 16 * i}));
  const auto loop = b.begin_loop(count, init);
  const Values& c = loop.carried;
  const Values finals = b.end_loop({c[2], c[0], c[1], c[4], c[3]});  // a cycle of three and one of two
  for (int i = 0; i < 5; ++i) b.store({out, {}, 16 * i}, finals[static_cast<size_t>(i)]);
  expect_agreement("cycle", b, 7);
}

// A load with one reader is that one's memory operand, unless a store stands between them.
TEST_P(XbyakBackend, FoldsLoads) {
  Builder b("fold", isa());
  const Type type = floats();
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value x = b.load(type, {in, {}, 0}), y = b.load(type, {in, {}, 64}), z = b.load(type, {in, {}, 128});
  b.store({out, {}, 0}, b.binary(Op::add, x, y));
  b.store({out, {}, 64}, b.binary(Op::add, z, z));
  const Program program = legal(b);
  const auto map = jit::RegisterMap::make(program);
  ASSERT_TRUE(map.has_value());
  std::vector<bool> folded;
  for (const ir::Inst& inst : program.insts)
    if (inst.op == Op::load) folded.push_back(map->liveness().is_folded(inst.results[0]));
  EXPECT_EQ(folded, (std::vector<bool>{false, true, false}));
}

// Moves at the loops' ends take far more bytes than an instruction usually does: the buffer grows.
TEST_P(XbyakBackend, CodeMayBeLong) {
  Builder b("long", isa());
  const Type type = Type::vec(DType::i32, 4);
  const Value out = b.param(Param::Role::output);
  const Value count = b.param(Param::Role::count, b.add_task("n", 2));
  for (int repeat = 0; repeat < 300; ++repeat) {
    Values init;
    for (int i = 0; i < 12; ++i) init.push_back(b.vconst_splat(type, repeat % 3 + i));
    const auto loop = b.begin_loop(count, init);
    const Values& c = loop.carried;
    const Values finals =
        b.end_loop({c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], c[0]});
    for (int i = 0; i < 12; ++i) b.store({out, {}, 16 * i}, finals[static_cast<size_t>(i)]);
  }
  expect_agreement("long", b, 2);
}

TEST_P(XbyakBackend, LinesAscendAndNameInstructions) {
  Builder b("lines", isa());
  add_up(b, floats(), 4);
  const Program program = legal(b);
  const auto blob = jit::emit_xbyak(program);
  ASSERT_TRUE(blob.has_value());
  ASSERT_GT(blob->lines.size(), 2u);
  EXPECT_EQ(blob->lines[0].inst, -1);
  for (size_t i = 1; i < blob->lines.size(); ++i) {
    EXPECT_LT(blob->lines[i - 1].offset, blob->lines[i].offset);
    EXPECT_LT(blob->lines[i].offset, blob->code.size());
    EXPECT_LT(static_cast<size_t>(blob->lines[i].inst), program.insts.size());
  }
}

INSTANTIATE_TEST_SUITE_P(, XbyakBackend, testing::ValuesIn(ir::all_isas),
                         [](const auto& info) { return std::string(ir::info(info.param).text); });

// -------------------------------------------------------------------------------------------- code memory
std::string protection_of(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char protection[5] = {};
    std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, protection);
    if (wanted >= begin && wanted < end) return protection;
  }
  return "unmapped";
}

constexpr uint8_t one_ret[] = {0xc3};

TEST(CodeMemory, IsExecutableAndNotWritableUntilItsLastOwnerGoes) {
  auto memory = jit::make_executable(one_ret);
  ASSERT_TRUE(memory.has_value());
  const uint8_t* const bytes = memory->bytes;
  const auto second_owner = memory->owner;
  memory->owner.reset();
  EXPECT_EQ(protection_of(bytes), "r-xp");
}

TEST(CodeMemory, GoesWithItsOwner) {
  const uint8_t* bytes = nullptr;
  {
    const auto memory = jit::make_executable(one_ret);
    ASSERT_TRUE(memory.has_value());
    bytes = memory->bytes;
  }
  EXPECT_NE(protection_of(bytes), "r-xp");
}

// What make_executable says in a process to which `restrict_process` was done; "skipped" if it cannot be.
template <typename Restrict>
std::string refusal(Restrict restrict_process) {
  int pipes[2];
  EXPECT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  if (child == 0) {
    constexpr int most = 100;  // some memory may have been mapped before
    std::string said = "skipped";
    std::vector<ir::Result<jit::CodeMemory>> made;
    made.reserve(most);
    if (restrict_process()) {
      for (int i = 0; i < most && (made.empty() || made.back()); ++i)
        made.push_back(jit::make_executable(one_ret));
      said = made.back() ? "executable" : ir::to_string(made.back().error());
    }
    const bool sent = write(pipes[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    _exit(sent ? 0 : 1);
  }
  close(pipes[1]);
  std::string said(1000, '\0');
  const ssize_t size = read(pipes[0], said.data(), said.size());
  said.resize(size > 0 ? static_cast<size_t>(size) : 0);
  close(pipes[0]);
  waitpid(child, nullptr, 0);
  return said;
}

TEST(CodeMemory, SaysWhenThereIsNone) {
  const std::string said = refusal([] {
    const rlimit none{1, 1};
    return setrlimit(RLIMIT_AS, &none) == 0;
  });
  EXPECT_EQ(said.rfind("jit.memory: no memory for code", 0), 0u) << said;
}

bool refuse_exec_gain() {
  constexpr int set_mdwe = 65, refuse_gain = 1;  // PR_SET_MDWE, since Linux 6.3
  return prctl(set_mdwe, refuse_gain, 0, 0, 0) == 0;
}

TEST(CodeMemory, IsASealedFileWherePagesMayNotBecomeExecutable) {
  const std::string said = refusal(refuse_exec_gain);
  if (said == "skipped") GTEST_SKIP() << "this kernel cannot refuse executable memory";
  EXPECT_EQ(said, "executable");
}

TEST(CodeMemory, SaysWhenItMayNotBeExecutable) {
  // Nor may files be written, files in memory included.
  const std::string said = refusal([] {
    const rlimit none{0, 0};
    return refuse_exec_gain() && setrlimit(RLIMIT_FSIZE, &none) == 0;
  });
  if (said == "skipped") GTEST_SKIP() << "this kernel cannot refuse executable memory";
  EXPECT_EQ(said.rfind("jit.executable: code may not be made executable", 0), 0u) << said;
}

// ------------------------------------------------------------------------------------------- merged selects
enum class Kept { dies, lives_on, is_carried, is_outside };

// Vectors whose negative lanes become 7 minus themselves: one masked subtraction where the vector is not
// needed any more.
Program mirrored(Builder& b, Kept kept) {
  const Type type = Type::vec(DType::i16, 32);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  Value x = b.load(type, {in, {}, 0});
  if (kept == Kept::is_outside) b.begin_loop(b.iconst(3));
  if (kept == Kept::is_carried) x = b.begin_loop(b.iconst(3), {x}).carried[0];
  const Value negative = b.cmp(ir::Predicate::lt, x, b.vconst_splat(type, 50));
  const Value mirror = b.binary(Op::sub, b.vconst_splat(type, 7), x);
  const Value result = b.select(negative, mirror, x);
  b.store({out, {}, 0}, result);
  if (kept == Kept::lives_on) b.store({out, {}, 64}, x);
  if (kept == Kept::is_outside) b.end_loop();
  if (kept == Kept::is_carried) b.end_loop({result});
  return legal(b);
}

TEST(XbyakMerges, SelectsOfWhatDies) {
  for (const Kept kept : {Kept::dies, Kept::lives_on, Kept::is_carried, Kept::is_outside}) {
    Builder b("merged", Isa::avx512);
    const Program program = mirrored(b, kept);
    const jit::Liveness live(program);
    int merged = 0;
    for (int i = 0; i < static_cast<int>(program.insts.size()); ++i) merged += live.is_merged(i);
    EXPECT_EQ(merged, kept == Kept::dies ? 2 : 0) << static_cast<int>(kept);
    Case c{"merged", program, std::vector<uint8_t>(4096), 4096};
    for (size_t i = 0; i < c.input.size(); ++i) c.input[i] = static_cast<uint8_t>(i * 7 % 101 * (i % 2));
    const auto want = run_interpreter(c, program);
    ASSERT_TRUE(want.has_value());
    if (!runtime::can_run(Isa::avx512)) continue;
    const auto got = run_native(c, program, jit::backends()[0].id);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->output, want->output) << static_cast<int>(kept);
  }
}

}  // namespace
}  // namespace pooljit::test
