// The built-in pool: each task once, whoever asks, and with as many threads as the system grants.
#include "runtime/threads.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "pooljit.hpp"

namespace pooljit::runtime {
namespace {

std::vector<int> counts_of(ThreadPool& pool, int64_t tasks) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(tasks));
  pool.parallel(tasks, [&](int64_t i) { ++counts[size_t(i)]; });
  return {counts.begin(), counts.end()};
}

TEST(Threads, ThePoolDoesEachTaskOnce) {
  for (const int threads : {1, 2, 3, 7})
    for (const int64_t tasks : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{8}, int64_t{1000}})
      EXPECT_EQ(counts_of(builtin_pool(threads), tasks), std::vector<int>(size_t(tasks), 1))
          << threads << " threads";
}

// Workers that sleep, workers that look for tasks, and such that come too late.
TEST(Threads, ThePoolWorksAtAnyPace) {
  int64_t sum = 0;
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int64_t> done = 0;
    builtin_pool(4).parallel(1 + round % 9, [&](int64_t i) { done += i + 1; });
    sum += done;
    if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  int64_t expected = 0;
  for (int round = 0; round < 2000; ++round) expected += (1 + round % 9) * (2 + round % 9) / 2;
  EXPECT_EQ(sum, expected);
}

TEST(Threads, ATaskSeesWhatTheCallerWroteAndTheCallerWhatTasksWrote) {
  std::vector<int64_t> from(64), to(64);
  for (int64_t round = 0; round < 500; ++round) {
    for (int64_t& value : from) value = round;
    builtin_pool(4).parallel(64, [&](int64_t i) { to[size_t(i)] = from[size_t(i)] + i; });
    for (int64_t i = 0; i < 64; ++i) ASSERT_EQ(to[size_t(i)], round + i);
  }
}

TEST(Threads, ManyCallersAndTasksOfTasksShareOnePool) {
  std::atomic<int64_t> done = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        builtin_pool(3).parallel(4, [&](int64_t) { builtin_pool(3).parallel(5, [&](int64_t) { ++done; }); });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 8 * 50 * 4 * 5);
}

// --- where the system refuses threads

constexpr auto pooled_spec = "max_pool2d(float32[16,64,56,56], kernel_size=3)";

// 0 if a kernel runs with the default options and gives what it gives on one thread.
int run_with_default_options() {
  const pooljit::Kernel kernel = pooljit::compile(pooled_spec, {.threads = 8}),
                        alone = pooljit::compile(pooled_spec, {.threads = 1});
  std::vector<float> input(kernel.input_bytes() / sizeof(float)),
      output(kernel.output_bytes() / sizeof(float)), expected(output.size());
  for (size_t i = 0; i < input.size(); ++i) input[i] = float(i * 7919 % 1000);
  alone.run(input.data(), expected.data());
  for (int round = 0; round < 3; ++round) {
    std::fill(output.begin(), output.end(), -1.F);
    kernel.run(input.data(), output.data());
    if (output != expected) return 1;
  }
  return 0;
}

// Of a child that ends by SIGALRM if it hangs; 2: the limit does not hold here.
int exit_under(bool (*limit)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(limit() ? run_with_default_options() : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool threads_are_refused() {
  pthread_t thread;
  if (pthread_create(
          &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) != 0)
    return true;
  pthread_join(thread, nullptr);
  return false;
}

// The limit counts the threads of a user, and not root's: one that has none.
bool forbid_threads() {
  const uid_t nobody = 61234;
  if (getuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0))
    return false;
  const rlimit none = {0, 0};
  return setrlimit(RLIMIT_NPROC, &none) == 0 && threads_are_refused();
}

// Room for buffers and code, but not for the stacks that threads are to have.
[[maybe_unused]] bool forbid_stacks() {
  constexpr size_t room = size_t{1} << 36, stack = 2 * room;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const rlimit limit = {room, room};
  return pthread_attr_setstacksize(&attributes, stack) == 0 && pthread_setattr_default_np(&attributes) == 0 &&
         setrlimit(RLIMIT_AS, &limit) == 0 && threads_are_refused();
}

TEST(Threads, AKernelRunsWhereTheUserMayHaveNoMoreThreads) {
  const int ended = exit_under(forbid_threads);
  if (ended == 2) GTEST_SKIP() << "this user's limit of threads cannot be lowered here";
  EXPECT_EQ(ended, 0);
}

TEST(Threads, AKernelRunsWhereThereIsNoMemoryForStacks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers need more address space than the limit leaves";
#else
  EXPECT_EQ(exit_under(forbid_stacks), 0);
#endif
}

}  // namespace
}  // namespace pooljit::runtime
