// What the LLVM back end's kernels compute, on small Programs: loops, tables, masks at a page's end, exact
// lane semantics. All ops against the interpreter: ops_matrix_test.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/llvm_kernels.h"

namespace pooljit::jit {
namespace {

using ir::Builder;
using ir::DType;
using ir::Isa;
using ir::Op;
using ir::Param;
using ir::Type;
using ir::Value;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

using LlvmBackend = LlvmTest;

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

// out[i] = op(in[i], in[i + lanes]) for one vector.
ir::Program binary_program(Isa isa, Type type, Value (*make)(Builder&, Value, Value)) {
  Builder b("binary", isa);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const Value x = b.load(type, {in, {}, 0}), y = b.load(type, {in, {}, type.vector_bytes()});
  b.store({out, {}, 0}, make(b, x, y));
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
  const int task = b.add_task("row", 3);
  const Value begin = b.param(Param::Role::begin, task), count = b.param(Param::Role::count, task);
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

INSTANTIATE_TEST_SUITE_P(Isas, LlvmBackend, testing::Values(Isa::avx2, Isa::avx512),
                         [](const auto& info) { return std::string(ir::info(info.param).text); });

}  // namespace
}  // namespace pooljit::jit
