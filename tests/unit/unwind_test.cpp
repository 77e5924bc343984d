// Unwind tables: at every instruction of a kernel, of both back ends, backtrace() finds who called it. The
// processor traps after each instruction; the handler looks whether the caller is there.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <vector>

#include "runtime/compile.h"
#include "runtime/cpu_features.h"

namespace pooljit::runtime {
namespace {

constexpr greg_t trap_flag = 0x100;

// What the handler sees; one test at a time.
struct Watched {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;
  void* caller = nullptr;  // a return address that every backtrace from within has to have
  std::vector<bool> seen;  // by offset: an instruction
  size_t lost = SIZE_MAX;  // the first offset whose backtrace has it not
  volatile sig_atomic_t is_over = 0;
};
Watched watched;

void look_from(size_t offset) {
  if (watched.lost != SIZE_MAX || watched.seen[offset]) return;
  watched.seen[offset] = true;
  std::array<void*, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  if (std::find(frames.begin(), frames.begin() + count, watched.caller) == frames.begin() + count)
    watched.lost = offset;
}

// ThreadSanitizer's own code is trapped too, while it holds its locks: outside kernels nothing here may take
// them.
[[gnu::no_sanitize_thread]] void after_each_instruction(int, siginfo_t*, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (watched.is_over)
    registers[REG_EFL] &= ~trap_flag;
  else
    registers[REG_EFL] |= trap_flag;
  const auto* const at = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  if (at >= watched.begin && at < watched.end) look_from(static_cast<size_t>(at - watched.begin));
}

[[gnu::noinline]] bool run_trapped(const Kernel& kernel, const void* input, void* output, void* indices) {
  watched.caller = __builtin_return_address(0);
  watched.is_over = 0;
  raise(SIGTRAP);  // sets the flag
  const bool ran = kernel.run(input, output, indices).has_value();
  watched.is_over = 1;
  return ran;
}

struct Row {
  const char* name;
  const char* spec;
};
constexpr Row rows[] = {
    {"small", "max_pool1d(float32[1,2,8], kernel_size=2)"},
    {"rows", "max_pool2d(float32[1,3,9,9], kernel_size=3, stride=2, padding=1)"},
    {"indices", "max_pool3d(float32[1,2,5,6,7], kernel_size=3, padding=1, return_indices=True)"},
    {"bytes", "avg_pool2d(uint8[1,16,6,6]:nhwc, kernel_size=2, count_include_pad=False, padding=1)"},
    {"adaptive", "adaptive_avg_pool2d(float16[1,3,11,13], output_size=[4,5])"},
};

class Unwind : public testing::TestWithParam<std::tuple<Row, const char*>> {};
TEST_P(Unwind, FindsTheCallerFromEveryInstruction) {
  if (!best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  const auto& [row, backend] = GetParam();
  if (!is_built(*find_engine(backend))) GTEST_SKIP() << "this build lacks " << backend;
  const auto kernel = compile_uncached(row.spec, {.backend = backend, .threads = 1});
  ASSERT_TRUE(kernel) << to_string(kernel.error());
  const jit::CodeBlob& blob = *(*kernel)->code().machine()->blob;
  std::vector<std::byte> input(size_t((*kernel)->input_view().span_bytes())),
      output(size_t((*kernel)->output_view().span_bytes())),
      indices((*kernel)->index_views().empty() ? 0 : size_t((*kernel)->index_views()[0].span_bytes()));
  void* warm[1];
  backtrace(warm, 1);  // it loads libgcc
  watched.begin = blob.code.data();
  watched.end = blob.code.data() + blob.code.size();
  watched.seen.assign(blob.code.size(), false);
  watched.lost = SIZE_MAX;
  struct sigaction action = {}, before = {};
  action.sa_sigaction = after_each_instruction;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  const bool ran =
      run_trapped(**kernel, input.data(), output.data(), indices.empty() ? nullptr : indices.data());
  sigaction(SIGTRAP, &before, nullptr);
  EXPECT_TRUE(ran);
  EXPECT_EQ(watched.lost, SIZE_MAX);
  EXPECT_GT(std::ranges::count(watched.seen, true), 20);
  EXPECT_TRUE(watched.seen[0]);
}
INSTANTIATE_TEST_SUITE_P(BackEnds, Unwind,
                         testing::Combine(testing::ValuesIn(rows), testing::Values("xbyak", "llvm")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
                         });

}  // namespace
}  // namespace pooljit::runtime
