// What the tests of the LLVM back end share: a test per ISA, a kernel of known meaning, calls.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "ir/builder.h"
#include "jit/emitters.h"
#include "runtime/cpu_features.h"

namespace pooljit::jit {

inline CodeBlob must_emit(const ir::Program& program) {
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

class LlvmTest : public testing::TestWithParam<ir::Isa> {
 protected:
  void SetUp() override {
    if (!runtime::can_run(GetParam())) GTEST_SKIP() << "this machine has no " << ir::info(GetParam()).text;
  }
  ir::Builder builder() const { return ir::Builder("test", GetParam()); }
  int lanes(ir::DType dtype) const { return ir::info(GetParam()).vector_bytes / ir::bytes(dtype); }
};

// out[0..lanes) = init + n * in[0..lanes), n = count: a loop whose trip is known at run time only.
inline ir::Program counting_loop(ir::Isa isa, int lanes) {
  ir::Builder b("counting", isa);
  const ir::Type type = ir::Type::vec(ir::DType::f32, lanes);
  const ir::Value in = b.param(ir::Param::Role::input), out = b.param(ir::Param::Role::output);
  const ir::Value count = b.param(ir::Param::Role::count, b.add_task("n", 100));
  auto loop = b.begin_loop(count, {b.vconst_splat(type, std::bit_cast<int32_t>(0.5f))});
  const ir::Value x = b.load(type, {in, {{loop.iv, 4 * lanes}}, 0});
  const auto sums = b.end_loop({b.binary(ir::Op::add, loop.carried[0], x)});
  b.store({out, {}, 0}, sums[0]);
  b.ret();
  return b.finish();
}

}  // namespace pooljit::jit
