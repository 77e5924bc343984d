// A child of a process whose other threads compile and run: it runs what it inherits and compiles more.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "jit/fork_gate.h"
#include "runtime/cache.h"
#include "runtime/compile.h"
#include "runtime/engines.h"

namespace pooljit::runtime {
namespace {

constexpr const char* inherited_spec = "max_pool2d(float32[1,16,64,64], kernel_size=2)";

bool runs(const KernelPtr& kernel) {
  std::vector<std::byte> input(size_t(kernel->input_view().span_bytes())),
      output(size_t(kernel->output_view().span_bytes()));
  return kernel->run(input.data(), output.data(), nullptr).has_value();
}

// How a child ended that did the work: its exit code, or 128 + signal; SIGALRM if it hangs.
int exit_of_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Threads that do their work again and again until the end.
class Busy {
 public:
  using Work = std::function<void(int64_t)>;
  explicit Busy(const std::vector<Work>& works) {
    for (const Work& work : works)
      threads_.emplace_back([this, work] {
        for (int64_t i = 0; !is_over_; ++i) {
          work(i);
          ++rounds_;
        }
      });
    while (rounds_ == 0) std::this_thread::yield();
  }
  ~Busy() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::atomic<int64_t> rounds_ = 0;
  std::vector<std::thread> threads_;
};

std::string spec_number(int64_t number) {
  return "max_pool2d(float32[1,4,9," + std::to_string(8 + number % 40) + "], kernel_size=3)";
}

// 0, or what went wrong.
int use_all(const KernelPtr& inherited, const Options& options, int64_t number) {
  if (!runs(inherited)) return 1;
  for (int64_t i = 0; i < 3; ++i) {
    const auto kernel = runtime::compile(spec_number(number + i), options);
    if (!kernel || !runs(*kernel)) return 2;
  }
  return 0;
}

TEST(Fork, AChildRunsWhatItInheritsAndCompilesMore) {
  const auto kernel = runtime::compile(inherited_spec, {.threads = 2});
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(runs(*kernel));  // the pool's threads are there, in the parent
  EXPECT_EQ(exit_of_child([&] {
              const Options pooled = {.threads = 2};
              if (const int wrong = use_all(*kernel, pooled, 0)) return wrong;
              const auto more = runtime::compile("avg_pool2d(float32[1,16,64,64], kernel_size=3)", pooled);
              return more && runs(*more) ? 0 : 3;
            }),
            0);
}

// What gcc 12's sanitizers cannot do. AddressSanitizer does not hold the locks of its allocator over a fork:
// a child waits for ever for one that a thread had which it does not have. ThreadSanitizer still counts the
// parent's threads in the child, and ends it ("dup thread with used id") when a new one gets the stack, and
// so the id, of one of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool may_fork_beside_threads = false;
#else
constexpr bool may_fork_beside_threads = true;
#endif
constexpr const char* why_not = "the sanitizer's own state does not survive a fork beside other threads";

TEST(Fork, ChildrenOfABusyParentRunAndCompile) {
  if (!may_fork_beside_threads) GTEST_SKIP() << why_not;
  const auto kernel = runtime::compile(inherited_spec, {.threads = 2});
  ASSERT_TRUE(kernel);
  const auto compile_with = [](const Options& options) {
    return [options](int64_t i) {
      if (const auto made = runtime::compile(spec_number(i), options)) (void)runs(*made);
      if (i % 7 == 0) cache().clear();
    };
  };
  const Busy busy({compile_with({.threads = 1}), compile_with({.threads = 1, .names = "gdb"}),
                   compile_with({.threads = 1, .measure = "2"}), [&](int64_t) { (void)runs(*kernel); }});
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(exit_of_child([&] { return use_all(*kernel, {.threads = 1}, i); }), 0) << i;
}

TEST(Fork, ChildrenOfAParentThatCompilesWithLlvm) {
  if (!is_built(Engine::llvm)) GTEST_SKIP() << "this build lacks LLVM";
  if (!may_fork_beside_threads) GTEST_SKIP() << why_not;
  const Options options = {.backend = "llvm", .threads = 1};
  const auto kernel = runtime::compile(inherited_spec, options);
  ASSERT_TRUE(kernel);
  const Busy busy({[&](int64_t i) { (void)runtime::compile_uncached(spec_number(i), options); }});
  for (int i = 0; i < 10; ++i) ASSERT_EQ(exit_of_child([&] { return use_all(*kernel, options, i); }), 0) << i;
}

// A thread inside, or about to let forks through, when the process forks.
enum class Held { until_it_ends, not_while_it_lets };
class Gate : public testing::TestWithParam<Held> {};
TEST_P(Gate, HoldsForksUpOnlyWhereItIsHeld) {
  const bool lets = GetParam() == Held::not_while_it_lets;
  std::atomic<bool> is_inside = false, is_forked = false, has_ended = false;
  std::thread other([&] {
    const jit::HoldForks hold;
    {
      const jit::HoldForks nested;
      is_inside = !lets;
    }
    if (lets) {
      const jit::LetForks let;
      is_inside = true;
      while (!is_forked) std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    has_ended = true;
  });
  while (!is_inside) std::this_thread::yield();
  const int code = exit_of_child([&] {
    const jit::HoldForks hold;  // the child may
    return has_ended ? 1 : 2;
  });
  is_forked = true;
  other.join();
  EXPECT_EQ(code, lets ? 2 : 1);
}
INSTANTIATE_TEST_SUITE_P(Fork, Gate, testing::Values(Held::until_it_ends, Held::not_while_it_lets));

Cache::Made code_of(const char* spec) {
  const auto kernel = runtime::compile_uncached(spec, {.threads = 1});
  if (!kernel) return tl::unexpected(kernel.error());
  return CodePtr(*kernel, &(*kernel)->code());
}

// Whoever made it in the parent will not come back.
TEST(Fork, AChildMakesAnewWhatItsParentWasMaking) {
  Cache shared;
  std::atomic<bool> is_making = false, may_end = false;
  std::thread maker([&] {
    (void)shared.get("key", [&] {
      is_making = true;
      while (!may_end) std::this_thread::yield();
      return code_of(inherited_spec);
    });
  });
  while (!is_making) std::this_thread::yield();
  shared.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    shared.after_fork_in_child();
    const auto made = shared.get("key", [] { return code_of(inherited_spec); });
    const bool is_kept = shared.get("key", [] { return Cache::Made(); }).value() == *made;
    _exit(made && is_kept && shared.stats().made == 1 ? 0 : 1);
  }
  shared.after_fork_in_parent();
  int status = -1;
  waitpid(child, &status, 0);
  may_end = true;
  maker.join();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace pooljit::runtime
