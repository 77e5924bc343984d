// A lack of memory while LLVM compiles: an error comes back and the next call succeeds, wherever LLVM lets an
// exception through. Each try is a process of its own, because LLVM does not everywhere.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>

#include "pooljit.h"
#include "runtime/cache.h"
#include "runtime/cpu_features.h"

// The sanitizers have allocators of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
thread_local int64_t allocations_left = -1;  // counts down, then one is refused; -1: never
bool is_refused() {
  if (allocations_left < 0 || allocations_left-- > 0) return false;
  errno = ENOMEM;
  return true;
}
}  // namespace

// operator new, of all libraries, and LLVM's own containers come to these, if libraries may see them.
#pragma GCC visibility push(default)
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): glibc's names
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
// NOLINTEND(bugprone-reserved-identifier)
void* malloc(size_t size) { return is_refused() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return is_refused() ? nullptr : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return is_refused() ? nullptr : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return is_refused() ? nullptr : __libc_memalign(alignment, size);
}
}
#pragma GCC visibility pop

namespace pooljit {
namespace {

constexpr const char* options = "threads=1 backend=llvm";

int compile(const char* spec) {
  pooljit_kernel* kernel = nullptr;
  const int code = pooljit_compile(spec, options, &kernel);
  pooljit_release(kernel);
  return code;
}

// How a try ended; what is no word of these is a signal's number.
enum End : int { refused, done_without, all_allocated, wrong_code, not_again, half_made };

End attempt(int64_t point) {
  constexpr const char* spec = "max_pool2d(float32[1,3,9,9], kernel_size=3)";
  const size_t known = runtime::cache().stats().entries;
  alarm(60);  // a lock that is held for ever
  allocations_left = point;
  const int code = compile(spec);
  const bool is_through = allocations_left >= 0;
  allocations_left = -1;
  if (is_through) return code == POOLJIT_OK ? all_allocated : wrong_code;
  if (code == POOLJIT_OK) return done_without;
  if (code != POOLJIT_SYSTEM) return wrong_code;
  if (runtime::cache().stats().entries > known + 1) return half_made;
  return compile(spec) == POOLJIT_OK ? refused : not_again;
}

// The exit code of a child, or 100 + the signal that ended it.
int end_of(int64_t point) {
  const pid_t child = fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    _exit(attempt(point));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST(LlvmMemory, ARefusalIsAnErrorOrLlvmsOwnEnd) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  // The first compile of a process fills LLVM's registries, under locks that an exception does not give back:
  // nothing is promised for it.
  ASSERT_EQ(compile("avg_pool1d(float32[1,2,8], kernel_size=2)"), POOLJIT_OK) << pooljit_last_error();
  constexpr int64_t step = 47;  // of some 7000 allocations
  std::map<int, int> ends;
  for (int64_t point = 0; ends[all_allocated] == 0; point += step) {
    const int end = end_of(point);
    ++ends[end];
    // Functions of LLVM's that may throw nothing end the process.
    EXPECT_TRUE(end <= all_allocated || end == 100 + SIGABRT) << end << " at allocation " << point;
    ASSERT_LT(point, 1000000);
  }
  EXPECT_GT(ends[refused], 50);
  EXPECT_LE(ends[100 + SIGABRT] * 30, ends[refused]);
}

}  // namespace
}  // namespace pooljit

#endif
