// Bytes choose what four threads compile, run and forget in one small cache: its bounds hold, what it gives
// is what was asked for, and nobody's code is freed while it runs.
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "frontend/pool_spec.h"
#include "runtime/cache.h"
#include "runtime/compile.h"
#include "runtime/cpu_features.h"
#include "runtime/engines.h"
#include "tests/fuzz/target.h"

using namespace pooljit;

namespace {

constexpr size_t threads = 4, entries = 6;

// Of a row of 8 and a kernel of 1 to 16, the first outputs that ones make: an average of k taps of 3 is 3.
struct Work {
  int64_t kernel;
  int action;
};

std::string text_of(int64_t kernel) {
  return "avg_pool1d(float32[1,1," + std::to_string(kernel * 2) + "], kernel_size=" + std::to_string(kernel) +
         ")";
}

runtime::Cache::Made make(int64_t kernel) {
  const auto isa = runtime::best_isa();
  const runtime::Engine engine = isa ? runtime::Engine::xbyak : runtime::Engine::interpreter;
  auto made = runtime::info(engine).make(make_nest(*frontend::parse_spec(text_of(kernel))),
                                         {engine, isa.value_or(ir::Isa::avx2), {}});
  if (!made) return tl::unexpected(made.error());
  (*made)->info.signature = text_of(kernel);
  return *made;
}

void run(const runtime::KernelPtr& kernel, int64_t taps) {
  const std::vector<float> input(static_cast<size_t>(taps) * 2, 3);
  std::array<float, 2> output{};
  const auto done = kernel->run(input.data(), output.data(), nullptr);
  fuzz::demand(done && output[0] == 3 && output[1] == 3, "a kernel of the cache does something else");
}

void work(runtime::Cache& cache, const std::vector<Work>& list) {
  for (const Work& one : list) {
    const std::string text = text_of(one.kernel);
    if (auto known = cache.find({text, {}})) run(std::get<runtime::KernelPtr>(*known), one.kernel);
    if (one.action == 0) cache.clear();
    const auto code = cache.get(text, [&]() -> runtime::Cache::Made {
      if (one.action == 1) return ir::system_error("test", "now and then");
      return make(one.kernel);
    });
    if (!code) continue;
    fuzz::demand((*code)->info.signature == text, "the cache gave the code of another key", text);
    const auto kernel = std::make_shared<const runtime::Kernel>(*frontend::parse_spec(text), *code, 1);
    if (one.action != 2) cache.remember({text, {}}, text, kernel);
    run(kernel, one.kernel);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  runtime::Cache cache({.entries = entries, .bytes = 1 << 16});
  std::array<std::vector<Work>, threads> lists;
  for (size_t i = 0; i < std::min<size_t>(size, 64); ++i)
    lists[i % threads].push_back({1 + data[i] % 16, data[i] / 16});
  std::vector<std::thread> running;
  for (const auto& list : lists) running.emplace_back([&] { work(cache, list); });
  for (std::thread& thread : running) thread.join();
  const runtime::Cache::Stats stats = cache.stats();
  fuzz::demand(stats.entries <= entries && stats.bytes <= 1 << 16, "the cache is over its bounds");
  return 0;
}
