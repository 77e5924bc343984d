// A process that ends while its threads compile, run, measure and prove: exit() ends what is static in the
// order that it chooses, and the threads go on for as long as that takes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cache.h"
#include "runtime/compile.h"
#include "runtime/engines.h"

namespace pooljit::runtime {
namespace {

// Made before anything of the library's that is static, so it ends after that, and lets the threads work on
// meanwhile.
struct EndsLast {
  std::atomic<bool> waits = false;
  ~EndsLast() {
    if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
} ends_last;

using Work = std::function<void(const std::string& spec)>;

[[noreturn]] void exit_beside(const Work& work) {
  std::atomic<int> at_work = 0;
  for (int number = 0; number < 3; ++number)
    std::thread([work, number, &at_work] {
      for (int64_t i = 0;; ++i) {
        work("max_pool2d(float32[1," + std::to_string(1 + i % 40) +
             ",9,9], kernel_size=" + std::to_string(2 + number) + ")");
        if (i == 0) ++at_work;
        cache().clear();
      }
    }).detach();
  while (at_work < 3) std::this_thread::yield();
  ends_last.waits = true;
  std::exit(0);
}

Work compiles(const Options& options) {
  return [options](const std::string& spec) {
    const auto kernel = runtime::compile(spec, options);
    if (!kernel && kernel.error().id == "jit.llvm.exit") return;
    if (!kernel) std::abort();
    std::vector<std::byte> input(size_t((*kernel)->input_view().span_bytes())),
        output(size_t((*kernel)->output_view().span_bytes()));
    if (!(*kernel)->run(input.data(), output.data(), nullptr)) std::abort();
  };
}

struct Row {
  const char* name;
  Options options;
};
const Row rows[] = {
    {"xbyak", {.threads = 2}},
    {"llvm", {.backend = "llvm", .threads = 1}},
    {"verify", {.threads = 1, .verify = true}},
    {"measure", {.threads = 1, .measure = "2"}},
};

class Exit : public testing::TestWithParam<Row> {};
TEST_P(Exit, EndsBesideThreadsAtWork) {
  const Options& options = GetParam().options;
  if (options.backend == "llvm" && !is_built(Engine::llvm)) GTEST_SKIP() << "this build lacks LLVM";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_beside(compiles(options)), testing::ExitedWithCode(0), "");
}
INSTANTIATE_TEST_SUITE_P(Options, Exit, testing::ValuesIn(rows),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pooljit::runtime
