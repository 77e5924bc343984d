// Running kernels on an engine's own threads. Prints "equal" if the result is that of the built-in pool.
#include <atomic>
#include <cstdio>
#include <future>
#include <pooljit.hpp>
#include <vector>

// Stands for an engine's pool. Each worker takes the next task until none is left.
struct EnginePool {
  static constexpr int threads = 3;

  template <typename Task>
  void operator()(int64_t tasks, Task task) const {
    std::atomic<int64_t> next{0};
    const auto work = [&] {
      for (int64_t i = next++; i < tasks; i = next++) task(i);
    };
    std::vector<std::future<void>> workers;
    for (int i = 1; i < threads; ++i) workers.push_back(std::async(std::launch::async, work));
    work();  // the calling thread works too
    for (std::future<void>& worker : workers) worker.wait();
  }
};

int main() {
  const pooljit::Kernel pool =
      pooljit::compile("max_pool2d(float32[8,64,56,56], kernel_size=3, stride=2, padding=1)");
  std::vector<float> input(pool.input_bytes() / sizeof(float));
  for (size_t i = 0; i < input.size(); ++i) input[i] = float((i * 2654435761U) % 1000);
  std::vector<float> ours(pool.output_bytes() / sizeof(float)), theirs(ours.size());

  pool.run(input.data(), ours.data());

  const EnginePool engine_pool;
  const std::vector<void*> outputs = {theirs.data()};
  pooljit::Args args;
  args.input = input.data();
  args.set_outputs(outputs);
  args.set_parallel(engine_pool, EnginePool::threads);
  pool.run_with(args);
  std::puts(ours == theirs ? "equal" : "different");
  return ours == theirs ? 0 : 1;
}
