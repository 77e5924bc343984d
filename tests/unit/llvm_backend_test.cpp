// The LLVM back end on small Programs: loops, masks at a page's end, exact lane semantics, memory protection,
// threads, errors. All ops against the interpreter: ops_matrix_test.
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SourceMgr.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "ir/builder.h"
#include "jit/emitters.h"
#include "jit/llvm/fatal_errors.h"
#include "jit/llvm/link.h"
#include "jit/llvm/llvm_backend.h"
#include "jit/llvm/target.h"

namespace pooljit::jit {
namespace {

using ir::Address;
using ir::Builder;
using ir::DType;
using ir::Isa;
using ir::Op;
using ir::Param;
using ir::Type;
using ir::Value;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

bool host_has(Isa isa) {
  return isa == Isa::avx2 ? __builtin_cpu_supports("avx2") : __builtin_cpu_supports("avx512bw");
}

CodeBlob must_emit(const ir::Program& program) {
  auto blob = emit_llvm(program);
  EXPECT_TRUE(blob.has_value()) << (blob ? "" : ir::to_string(blob.error()));
  return blob ? *blob : CodeBlob{};
}

template <typename... Words>
void call(const CodeBlob& blob, Words... words) {
  const uint64_t args[] = {std::bit_cast<uint64_t>(words)...};
  ASSERT_NE(blob.entry, nullptr);
  blob.entry(args);
}

// An array whose last element ends where a page that cannot be touched begins.
template <typename T>
class GuardedArray {
 public:
  explicit GuardedArray(size_t count) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = 2 * page;
    map_ = static_cast<uint8_t*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(map_ + page, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(map_ + page) - count;
  }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;
  ~GuardedArray() { munmap(map_, bytes_); }
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  uint8_t* map_ = nullptr;
  size_t bytes_ = 0;
  T* data_ = nullptr;
};

class LlvmBackend : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!host_has(GetParam())) GTEST_SKIP() << "this machine has no " << ir::info(GetParam()).text;
  }
  Builder builder() const { return Builder("test", GetParam()); }
  int lanes(DType dtype) const { return ir::info(GetParam()).vector_bytes / ir::bytes(dtype); }
};

// out[i] = op(in[i], in[i + lanes]) for one vector.
ir::Program binary_program(Isa isa, Type type, Value (*make)(Builder&, Value, Value)) {
  Builder b("binary", isa);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value x = b.load(type, {in, {}, 0}), y = b.load(type, {in, {}, type.vector_bytes()});
  b.store({out, {}, 0}, make(b, x, y));
  b.ret();
  return b.finish();
}

// out[0..lanes) = init + n * in[0..lanes), n = count: a loop whose trip is known at run time only.
ir::Program counting_loop(Isa isa, int lanes) {
  Builder b("counting", isa);
  const Type type = Type::vec(DType::f32, lanes);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value count = b.param(Param::Role::count);
  auto loop = b.begin_loop(count, {b.vconst_splat(type, std::bit_cast<int32_t>(0.5f))});
  const Value x = b.load(type, {in, {{loop.iv, 4 * lanes}}, 0});
  const auto sums = b.end_loop({b.binary(Op::add, loop.carried[0], x)});
  b.store({out, {}, 0}, sums[0]);
  b.ret();
  return b.finish();
}

TEST_P(LlvmBackend, LoopsRunZeroOneAndManyTimes) {
  const int lanes = this->lanes(DType::f32);
  const CodeBlob blob = must_emit(counting_loop(GetParam(), lanes));
  for (int64_t trips : {0, 1, 2, 7}) {
    std::vector<float> in(static_cast<size_t>(lanes) * 7), out(static_cast<size_t>(lanes), -1.f);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i / static_cast<size_t>(lanes) + 1);
    call(blob, in.data(), out.data(), trips);
    const float want = 0.5f + static_cast<float>(trips * (trips + 1) / 2);
    for (float got : out) EXPECT_EQ(got, want) << trips << " trips";
  }
}

// Nested loops with table-driven trips: out[i] = sum of in[first(i) .. first(i) + taps(i)).
TEST_P(LlvmBackend, TablesDriveTripsAndAddresses) {
  Builder b = builder();
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const int number = b.add_table({0, 2, 1, 0, 2, 3});  // rows: first element, taps
  const Value table = b.param(Param::Role::table, number);
  const Value begin = b.param(Param::Role::begin), count = b.param(Param::Role::count);
  const Type type = Type::vec(DType::f32, 1);
  auto rows = b.begin_loop(count);
  const Value row = b.iadd(begin, rows.iv);
  const Value entry = b.ptradd({table, {}, 0}, b.imul(row, b.iconst(16)));
  const Value first = b.iload({entry, {}, 0}), taps = b.iload({entry, {}, 8});
  const Value from = b.ptradd({in, {}, 0}, b.imul(first, b.iconst(4)));
  auto window = b.begin_loop(taps, {b.vconst(type, {0})});
  const Value x = b.load(type, {from, {{window.iv, 4}}, 0});
  const auto sum = b.end_loop({b.binary(Op::add, window.carried[0], x)});
  b.store({b.ptradd({out, {}, 0}, b.imul(row, b.iconst(4))), {}, 0}, sum[0]);
  b.end_loop();
  b.ret();
  const ir::Program program = b.finish();
  const CodeBlob blob = must_emit(program);
  const float in_data[] = {1, 10, 100, 1000, 10000};
  float out_data[] = {-1, -1, -1};
  call(blob, in_data, out_data, program.tables[0].data(), int64_t{1}, int64_t{2});
  EXPECT_EQ(out_data[0], -1);
  EXPECT_EQ(out_data[1], 0);
  EXPECT_EQ(out_data[2], 11100);
}

// For each dtype, width and split point: a masked access at the end of a page takes exactly its lanes.
TEST_P(LlvmBackend, MaskedAccessStopsAtItsLanes) {
  for (DType dtype : {DType::u8, DType::i16, DType::f32, DType::i64}) {
    const int lanes = this->lanes(dtype);
    const auto size = static_cast<size_t>(ir::bytes(dtype));
    for (int on : {1, 3, lanes / 2 + 1, lanes - 1}) {
      const Type type = Type::vec(dtype, lanes);
      Builder b = builder();
      std::vector<int64_t> bits(static_cast<size_t>(lanes), 0);
      std::fill_n(bits.begin(), on, 1);
      const Value mask = b.vmask(type.mask_of(), bits);
      const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
      const Value x = b.load(type, {in, {}, 0}, mask, b.vconst_splat(type, 0));
      b.store({out, {}, 0}, x, mask);
      b.ret();
      const CodeBlob blob = must_emit(b.finish());
      const size_t bytes = size * static_cast<size_t>(on);
      GuardedArray<uint8_t> from(bytes), to(bytes);
      for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<uint8_t>(i * 7 + 1);
      call(blob, from.data(), to.data());
      EXPECT_EQ(std::memcmp(from.data(), to.data(), bytes), 0) << ir::info(dtype).text << " " << on;
    }
  }
}

TEST_P(LlvmBackend, MaskedOffLanesPassThrough) {
  Builder b = builder();
  const Type type = Type::vec(DType::i32, 8);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value mask = b.vmask(type.mask_of(), {0, 1, 1, 0, 0, 0, 1, 0});
  b.store({out, {}, 0}, b.load(type, {in, {}, 0}, mask, b.vconst_splat(type, -5)));
  b.ret();
  const int32_t in_data[] = {1, 2, 3, 4, 5, 6, 7, 8};
  int32_t out_data[8] = {};
  call(must_emit(b.finish()), in_data, out_data);
  const int32_t want[] = {-5, 2, 3, -5, -5, -5, 7, -5};
  EXPECT_EQ(std::memcmp(out_data, want, sizeof want), 0);
}

TEST_P(LlvmBackend, MaxAndMinTakeTheSecondOperandWhereEqualOrUnordered) {
  const float signalling = std::bit_cast<float>(0x7f800001u);
  const float a[] = {1, 2, -0.f, 0.f, nan_value, 3, signalling, 4};
  const float c[] = {2, 1, 0.f, -0.f, 5, nan_value, 6, signalling};
  const float max[] = {2, 2, 0.f, -0.f, 5, nan_value, 6, signalling};
  const float min[] = {1, 1, 0.f, -0.f, 5, nan_value, 6, signalling};
  float in[16], out[8];
  std::copy_n(a, 8, in);
  std::copy_n(c, 8, in + 8);
  const Type type = Type::vec(DType::f32, 8);
  const auto maximum = [](Builder& b, Value x, Value y) { return b.binary(Op::max, x, y); };
  const auto minimum = [](Builder& b, Value x, Value y) { return b.binary(Op::min, x, y); };
  call(must_emit(binary_program(GetParam(), type, maximum)), in, out);
  EXPECT_EQ(std::memcmp(out, max, sizeof max), 0);
  call(must_emit(binary_program(GetParam(), type, minimum)), in, out);
  EXPECT_EQ(std::memcmp(out, min, sizeof min), 0);
}

TEST_P(LlvmBackend, MulThenAddIsRoundedTwice) {
  Builder b = builder();
  const Type type = Type::vec(DType::f32, 8);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value x = b.load(type, {in, {}, 0}), y = b.load(type, {in, {}, 32});
  b.store({out, {}, 0}, b.binary(Op::add, b.binary(Op::mul, x, x), y));
  b.store({out, {}, 32}, b.fma(x, x, y));
  b.ret();
  float in_data[16], out_data[16];
  std::fill_n(in_data, 8, 1.0000001f);
  std::fill_n(in_data + 8, 8, -1.0000002f);
  call(must_emit(b.finish()), in_data, out_data);
  volatile float product = in_data[0] * in_data[0];
  EXPECT_EQ(out_data[0], product + in_data[8]);
  EXPECT_EQ(out_data[8], std::fma(in_data[0], in_data[0], in_data[8]));
  EXPECT_NE(out_data[0], out_data[8]);
}

TEST_P(LlvmBackend, ConversionsRoundToEvenAndClamp) {
  Builder b = builder();
  const Type floats = Type::vec(DType::f32, 8);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value whole = b.cvt(DType::i32, b.load(floats, {in, {}, 0}));
  b.store({out, {}, 0}, whole);
  b.store({out, {}, 32}, b.cvt(DType::u8, whole, true));
  b.store({out, {}, 40}, b.cvt(DType::u8, whole));
  b.store({out, {}, 48}, b.cvt(DType::i8, whole, true));
  b.ret();
  const float in_data[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 255.4f, 300.f, -129.f};
  struct {
    int32_t whole[8];
    uint8_t clamped[8], wrapped[8];
    int8_t clamped_signed[8];
  } got;
  call(must_emit(b.finish()), in_data, &got);
  const int32_t whole_want[] = {0, 2, 2, 0, -2, 255, 300, -129};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(got.whole[i], whole_want[i]);
    EXPECT_EQ(got.clamped[i], std::clamp(whole_want[i], 0, 255));
    EXPECT_EQ(got.wrapped[i], static_cast<uint8_t>(whole_want[i]));
    EXPECT_EQ(got.clamped_signed[i], std::clamp(whole_want[i], -128, 127));
  }
}

// --- memory, threads, lines

std::string protection_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char protection[8] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, protection) != 3) continue;
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (begin <= at && at < end) return protection;
  }
  return "";
}

int writable_and_executable_mappings() {
  int count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find(" rwx") != std::string::npos;
  return count;
}

TEST_P(LlvmBackend, CodeIsNeverWritableAndExecutable) {
  std::atomic<bool> stop = false;
  std::atomic<int> bad = 0;
  std::thread watch([&] {
    while (!stop) bad += writable_and_executable_mappings();
  });
  for (int i = 0; i < 20; ++i) {
    const CodeBlob blob = must_emit(counting_loop(GetParam(), 8));
    EXPECT_EQ(protection_of(blob.code.data()), "r-xp");
  }
  stop = true;
  watch.join();
  EXPECT_EQ(bad, 0);
}

TEST_P(LlvmBackend, TheLastCopyFreesTheCode) {
  CodeBlob first = must_emit(counting_loop(GetParam(), 8));
  const void* const code = first.code.data();
  CodeBlob second = first;
  first = {};
  EXPECT_EQ(protection_of(code), "r-xp");
  second = {};
  EXPECT_NE(protection_of(code), "r-xp");
}

TEST_P(LlvmBackend, ManyThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 4; ++round) {
        const auto blob = emit_llvm(counting_loop(GetParam(), 8));
        float in[8 * 3], out[8];
        std::fill_n(in, 24, static_cast<float>(t));
        const uint64_t args[] = {std::bit_cast<uint64_t>(&in[0]), std::bit_cast<uint64_t>(&out[0]), 3};
        if (blob) blob->entry(args);
        good += blob && out[7] == 0.5f + 3 * static_cast<float>(t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 32);
}

TEST_P(LlvmBackend, LinesPointIntoTheCode) {
  const ir::Program program = counting_loop(GetParam(), 8);
  const CodeBlob blob = must_emit(program);
  EXPECT_GE(blob.bytes, blob.code.size());
  ASSERT_FALSE(blob.lines.empty());
  std::vector<bool> seen(program.insts.size());
  for (size_t i = 0; i < blob.lines.size(); ++i) {
    EXPECT_LT(blob.lines[i].offset, blob.code.size());
    if (i > 0) {
      EXPECT_GT(blob.lines[i].offset, blob.lines[i - 1].offset);
    }
    ASSERT_LT(blob.lines[i].inst, static_cast<int32_t>(program.insts.size()));
    if (blob.lines[i].inst >= 0) seen[static_cast<size_t>(blob.lines[i].inst)] = true;
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    const Op op = program.insts[i].op;
    EXPECT_TRUE(seen[i] || (op != Op::store && op != Op::ret)) << "inst " << i;
  }
}

TEST_P(LlvmBackend, TextNamesTheProgramsValues) {
  const auto text = llvm_ir(counting_loop(GetParam(), 8));
  ASSERT_TRUE(text.has_value());
  EXPECT_NE(text->find("fadd <8 x float> %v"), std::string::npos) << *text;
  EXPECT_EQ(text->find("!dbg"), std::string::npos);
}

// --- errors

TEST_P(LlvmBackend, AProgramWithoutAnEndIsRefused) {
  Builder b = builder();
  b.param(Param::Role::input);
  const auto blob = emit_llvm(b.finish());
  ASSERT_FALSE(blob.has_value());
  EXPECT_EQ(blob.error().id, "jit.llvm.program");
}

TEST_P(LlvmBackend, CodeThatCallsOutIsRefused) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(
      "declare void @memset(ptr)\n"
      "define void @pooljit_kernel(ptr %p) {\n call void @memset(ptr %p)\n ret void\n}\n",
      diagnostic, context);
  ASSERT_NE(module, nullptr) << diagnostic.getMessage().str();
  llvm::TargetMachine& target = target_machine(GetParam());
  module->setDataLayout(target.createDataLayout());
  module->setTargetTriple(target.getTargetTriple().str());
  const auto object = emit_object(*module, target);
  ASSERT_TRUE(object.has_value());
  const auto linked = link_object(**object);
  ASSERT_FALSE(linked.has_value());
  EXPECT_EQ(linked.error().id, "jit.llvm.codegen");
  EXPECT_NE(linked.error().message.find("memset"), std::string::npos) << linked.error().message;
}

TEST(LlvmFatalErrors, BecomeValues) {
  const auto result = with_fatal_errors_as_values<int, std::string>(
      [](std::string&) -> ir::Result<int> { llvm::report_fatal_error("cannot select"); });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().id, "jit.llvm.fatal");
  EXPECT_EQ(result.error().message, "cannot select");
}

INSTANTIATE_TEST_SUITE_P(Isas, LlvmBackend, testing::Values(Isa::avx2, Isa::avx512),
                         [](const auto& info) { return std::string(ir::info(info.param).text); });

}  // namespace
}  // namespace pooljit::jit
