// What memory LLVM takes for the costliest layers; and a lack of memory while it compiles: an error comes
// back and the next call succeeds, wherever LLVM lets an exception through. Each such try is a process of its
// own, because LLVM does not everywhere.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <string>

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

// Bytes that this thread holds, and held at most.
thread_local int64_t held = 0, most_held = 0;
void* counted(void* memory) {
  held += static_cast<int64_t>(malloc_usable_size(memory));
  most_held = std::max(most_held, held);
  return memory;
}
void forget(void* memory) { held -= static_cast<int64_t>(malloc_usable_size(memory)); }
}  // namespace

// operator new, of all libraries, and LLVM's own containers come to these, if libraries may see them.
#pragma GCC visibility push(default)
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): glibc's names
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
// NOLINTEND(bugprone-reserved-identifier)
void* malloc(size_t size) { return is_refused() ? nullptr : counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) {
  return is_refused() ? nullptr : counted(__libc_calloc(count, size));
}
void* realloc(void* old, size_t size) {
  if (is_refused()) return nullptr;
  forget(old);
  return counted(__libc_realloc(old, size));
}
void* aligned_alloc(size_t alignment, size_t size) {
  return is_refused() ? nullptr : counted(__libc_memalign(alignment, size));
}
void free(void* memory) {
  forget(memory);
  __libc_free(memory);
}
}
#pragma GCC visibility pop

namespace pooljit {
namespace {

const pooljit_options options = [] {
  pooljit_options made = {};
  made.size = sizeof made;
  made.backend = "llvm";
  made.threads = 1;
  return made;
}();

int compile(const char* spec) {
  pooljit_kernel* kernel = nullptr;
  const int code = pooljit_compile(spec, &options, &kernel);
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

// The costliest that random layers and changes of their numbers led to: LLVM's memory and time grew with the
// square of their Programs.
TEST(LlvmMemory, IsBounded) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  constexpr const char* specs[] = {
      "lp_pool2d(float64[1,16,50,273], 3, [16,18], [1,9], padding=[0,9], ceil_mode=True)",
      "min_pool3d(float16[1,17,110,19,137]:nhwc, [9,3,6], [8,2,2], [4,0,0])",
      "min_pool3d(float64[1,17,109,28,137]:nhwc, [10,4,6], [6,2,2], [5,0,0])",
      "min_pool3d(float32[14,31,34,82,433], [9,82,6], [4,1,4], [4,0,31], output_layout=nchw16c)",
      "sum_pool3d(float16[2,23,82,249,35]:nhwc, [60,10,4], [2,1,2], [5,2,4])",
      "sum_pool3d(bfloat16[1,23,38,248,36]:nhwc, [48,9,5], [2,1,2], [5,0,2])",
      "sum_pool3d(int32[2,17,21,65,101]:nhwc, [6,5,3], [1,1,2], [0,2,0], dilation=[4,1,1])",
  };
  for (const char* const spec : specs) {
    const int64_t before = most_held = held;
    const int code = compile(spec);
    EXPECT_LE(most_held - before, int64_t{256} << 20) << spec;
    const bool is_refused = std::string(pooljit_last_error()).find("jit.llvm.size") != std::string::npos;
    EXPECT_TRUE(code == POOLJIT_OK || (code == POOLJIT_UNSUPPORTED && is_refused))
        << spec << ": " << pooljit_last_error();
  }
}

}  // namespace
}  // namespace pooljit

#endif
