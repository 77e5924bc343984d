// What the library promises to the process that it runs in: no page that is writable and executable, a clean
// error where executable memory is forbidden, a cache that a lack of memory leaves whole, limits that no spec
// gets past.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedules/lower.h"
#include "pooljit.h"
#include "proof/program/prove.h"
#include "runtime/cache.h"
#include "runtime/compile.h"
#include "runtime/cpu_features.h"
#include "tests/allocations.h"

namespace pooljit::runtime {
namespace {

using tests::allocations;
using tests::allocations_left;

constexpr const char* small_spec = "max_pool1d(float32[1,2,8], kernel_size=2)";

std::string spec_number(int64_t number) {
  return "max_pool2d(float32[1,4,9," + std::to_string(8 + number % 40) +
         "], kernel_size=" + std::to_string(2 + number / 40 % 3) + ")";
}

bool runs(const KernelPtr& kernel) {
  std::vector<std::byte> input(size_t(kernel->input_view().span_bytes())),
      output(size_t(kernel->output_view().span_bytes()));
  return kernel->run(input.data(), output.data(), nullptr).has_value();
}

void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

// How a child ended that did the work: its exit code, or 128 + signal.
int exit_of_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Safety, NoPageIsEverWritableAndExecutable) {
  std::atomic<bool> is_over = false;
  std::atomic<int> looks = 0;
  std::string found;
  std::thread watcher([&] {
    do {
      std::ifstream maps("/proc/self/maps");
      for (std::string line; std::getline(maps, line);)
        if (line.find(" rwx") != std::string::npos) found = line;
      ++looks;
    } while (!is_over);
  });
  in_threads(8, [](int thread) {
    for (const char* backend : {"xbyak", "llvm"})
      for (int i = 0; i < (backend[0] == 'x' ? 40 : 3); ++i)
        (void)compile_uncached(spec_number(thread * 40 + i), {.backend = backend});
  });
  is_over = true;
  watcher.join();
  EXPECT_EQ(found, "");
  EXPECT_GT(looks, 1);
}

TEST(Safety, SixtyFourThreadsCompileRunAndEvict) {
  std::atomic<int> done = 0;
  in_threads(64, [&](int thread) {
    for (int i = 0; i < 30; ++i) {
      const auto kernel = compile(spec_number((thread * 7 + i * 3) % 120), {.threads = 1});
      if (kernel && runs(*kernel)) ++done;
      if (i % 13 == 12) cache().clear();
    }
  });
  EXPECT_EQ(done, 64 * 30);
  EXPECT_LE(cache().stats().entries, cache_entries);
}

// What a thread keeps for its next compile has gone by then.
TEST(Safety, CompilesWhileItsThreadEnds) {
  static std::atomic<int> compiled = 0;
  struct AtTheEnd {
    ~AtTheEnd() {
      for (int i = 0; i < 3; ++i)
        if (const auto kernel = compile_uncached(spec_number(i), {.threads = 1}); kernel && runs(*kernel))
          ++compiled;
    }
  };
  std::thread([] {
    thread_local const AtTheEnd at_the_end;
    (void)&at_the_end;
    (void)compile_uncached(spec_number(3), {.threads = 1});
  }).join();
  EXPECT_EQ(compiled, 3);
}

// Refuses what of these two calls wants executable memory.
bool refuse_executable(std::initializer_list<uint32_t> calls) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (size_t i = 0; i < calls.size(); ++i)
    filter.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls.begin()[i], static_cast<uint8_t>(calls.size() - i), 0));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 8 * 2));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// A system that refuses executable memory, in part or altogether.
struct Hardening {
  const char* name;
  bool (*apply)();
  bool compiles;
};
constexpr Hardening hardenings[] = {
    // PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN: Linux 6.3
    {"mdwe", [] { return prctl(65, 1, 0, 0, 0) == 0; }, true},
    {"mprotect_refused", [] { return refuse_executable({SYS_mprotect}); }, true},
    {"all_refused",
     [] {
       return refuse_executable({SYS_mprotect, SYS_mmap});
     },
     false},
};

size_t open_descriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd"), end;
  return static_cast<size_t>(std::distance(begin, end));
}

// Mappings that are writable and executable, or writable files of code.
bool code_may_be_changed() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(" rwx") != std::string::npos ||
        (line.find("memfd:pooljit") != std::string::npos && line.find(" r-xp ") == std::string::npos))
      return true;
  return false;
}

bool runs_as_interpreted(const KernelPtr& kernel) {
  const auto interpreted = compile_uncached(kernel->text(), {.backend = "interpreter"});
  std::vector<float> input(size_t(kernel->input_view().span_bytes()) / sizeof(float));
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 37 % 101);
  const auto outputs = size_t(kernel->output_view().span_bytes()) / sizeof(float);
  std::vector<float> output(outputs, -1), expected(outputs, -2);
  return interpreted && kernel->run(input.data(), output.data(), nullptr) &&
         (*interpreted)->run(input.data(), expected.data(), nullptr) && output == expected;
}

// Compiles under a hardening: 0, or what went wrong.
int compile_hardened(const Options& options, bool compiles) {
  const size_t descriptors = open_descriptors();
  std::vector<KernelPtr> kernels;
  for (int i = 0; i < 40; ++i) {
    const auto kernel = compile_uncached(spec_number(i), options);
    if (!kernel && !compiles) {
      const bool is_todays = kernel.error().id == "jit.executable" &&
                             kernel.error().message.rfind("code may not be made executable", 0) == 0;
      const auto interpreted = compile(small_spec, {.backend = "interpreter"});
      return is_todays && interpreted && runs(*interpreted) ? 0 : 1;
    }
    if (!kernel || !compiles || !runs_as_interpreted(*kernel)) return 2;
    kernels.push_back(*kernel);
  }
  if (open_descriptors() != descriptors) return 3;
  if (code_may_be_changed()) return 4;
  return exit_of_child([&] {
    for (const KernelPtr& kernel : kernels)
      if (!runs_as_interpreted(kernel)) return 5;
    const auto more = compile_uncached(spec_number(41), options);
    return more && runs_as_interpreted(*more) ? 0 : 6;
  });
}

class Hardened : public testing::TestWithParam<std::tuple<Hardening, const char*>> {};
TEST_P(Hardened, CompilesOrSaysWhyNot) {
  if (!best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  const auto& [hardening, backend] = GetParam();
  const Options options = {.backend = backend, .threads = 1};
  const auto tried = compile_uncached(small_spec, options);
  if (!tried && tried.error().id == "backend.missing") GTEST_SKIP() << "this build lacks " << backend;
  constexpr int not_here = 77;
  const int code = exit_of_child([&, harden = &hardening] {
    return harden->apply() ? compile_hardened(options, harden->compiles) : not_here;
  });
  if (code == not_here) GTEST_SKIP() << "this kernel knows no " << hardening.name;
  EXPECT_EQ(code, 0);
}
INSTANTIATE_TEST_SUITE_P(BackEnds, Hardened,
                         testing::Combine(testing::ValuesIn(hardenings), testing::Values("xbyak", "llvm")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
                         });

// Where all of it is refused, backend=auto is the reference, and says why; who forbids that gets the error.
int compile_with_fallback() {
  const auto kernel = compile(small_spec, {.threads = 1});
  if (!kernel) return 1;
  if ((*kernel)->code().info.backend != "reference") return 2;
  if ((*kernel)->fallback().rfind("code may not be made executable: ", 0) != 0) return 3;
  if (!runs_as_interpreted(*kernel)) return 4;
  const auto asked_for = compile(small_spec, {.backend = "reference", .threads = 1});
  if (!asked_for || !(*asked_for)->fallback().empty()) return 5;
  if (&(*asked_for)->code() != &(*kernel)->code()) return 6;  // the cache has it once
  const auto measured = compile(small_spec, {.threads = 1, .measure = "3"});
  if (!measured || (*measured)->fallback().empty()) return 7;
  for (const Options& options :
       {Options{.threads = 1, .fallback = "never"}, Options{.backend = "xbyak"}, Options{.isa = "avx2"}}) {
    const auto refused = runtime::compile(small_spec, options);
    if (refused || refused.error().id != "jit.executable") return 8;
  }
  return 0;
}

TEST(Safety, FallsBackToTheReferenceWhereCodeMayNotBeExecuted) {
  if (!best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  constexpr int not_here = 77;
  const int code = exit_of_child([] {
    cache().clear();
    return refuse_executable({SYS_mprotect, SYS_mmap}) ? compile_with_fallback() : not_here;
  });
  if (code == not_here) GTEST_SKIP() << "this kernel knows no filters of calls";
  EXPECT_EQ(code, 0);
}

#ifdef POOLJIT_REFUSES_MEMORY
// Every allocation of a compile is refused once: an error comes back, and afterwards all is as if nothing had
// been tried.
class NoMemory : public testing::TestWithParam<const char*> {};
TEST_P(NoMemory, AtAnyPointLeavesTheCacheWhole) {
  const std::string spec = GetParam();
  pooljit_options options = {};
  options.size = sizeof options;
  options.threads = 1;
  int64_t refused = 0;
  for (int64_t point = 0;; ++point) {
    cache().clear();
    pooljit_kernel* kernel = nullptr;
    allocations_left = point;
    const int code = pooljit_compile(spec.c_str(), &options, &kernel);
    const bool is_through = allocations_left >= 0;
    allocations_left = -1;
    if (code != POOLJIT_OK) {
      ++refused;
      EXPECT_EQ(code, POOLJIT_SYSTEM) << point << pooljit_last_error();
      EXPECT_EQ(kernel, nullptr);
      EXPECT_LE(cache().stats().texts, cache().stats().entries * cache_texts_per_entry);
      ASSERT_EQ(pooljit_compile(spec.c_str(), &options, &kernel), POOLJIT_OK)
          << point << pooljit_last_error();
    }
    pooljit_release(kernel);
    if (is_through) break;
    ASSERT_LT(point, 100000);
  }
  EXPECT_GT(refused, 20);
  EXPECT_LE(cache().stats().entries, 1U);
}
INSTANTIATE_TEST_SUITE_P(
    Specs, NoMemory,
    testing::Values(small_spec, "avg_pool2d(uint8[1,17,9,9]:nhwc, kernel_size=3, stride=2, padding=1)",
                    "max_pool2d(float32[1,3,9,9], kernel_size=3, return_indices=True)"));
#endif

// --- limits: no text takes more than a stated time or memory

#ifdef POOLJIT_REFUSES_MEMORY
// Each thread keeps 256 KiB for kernels that need scratch memory; where it gets none, threads share a
// reserve.
TEST(Safety, AKernelRunsWhereItsThreadGetsNoScratchMemory) {
  const auto kernel =
      compile("max_pool2d(float32[1,64,24,24]:nhwc, kernel_size=9, stride=1, padding=4)", {.threads = 1});
  ASSERT_TRUE(kernel) << ir::to_string(kernel.error());
  ASSERT_GT((*kernel)->code().info.scratch_bytes, 0);
  std::vector<float> input(64 * 24 * 24), expected(input.size()), output(input.size());
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 7919 % 1009);
  in_threads(1, [&](int) { ASSERT_TRUE((*kernel)->run(input.data(), expected.data(), nullptr)); });
  EXPECT_EQ(exit_of_child([&] {
              const rlimit none{0, 0};
              if (setrlimit(RLIMIT_AS, &none) != 0) return 1;
              for (void* volatile taken = &expected; taken;) taken = std::malloc(size_t{1} << 14);
              if (!(*kernel)->run(input.data(), output.data(), nullptr)) return 2;
              return output == expected ? 0 : 3;
            }),
            0);
  // And from many threads at once.
  std::atomic<int> wrong = 0;
  in_threads(8, [&](int) {
    std::vector<float> own(input.size());
    for (int i = 0; i < 20; ++i)
      wrong += !(*kernel)->run(input.data(), own.data(), nullptr) || own != expected ? 1 : 0;
  });
  EXPECT_EQ(wrong, 0);
}
#endif

// A winner is read tap by tap. What is known after each tap takes no memory of its own.
TEST(Limits, AProofTakesMemoryInProportionToTheWindow) {
  const auto most_held = [](int64_t taps) {
    const std::string spec =
        "global_min_pool1d(uint8[1,8," + std::to_string(taps) + "]:nhwc, return_indices=True)";
    const ir::PoolNest nest = make_nest(*frontend::parse_spec(spec));
    const ir::Schedule schedule = ir::enumerate_schedules(nest, ir::Isa::avx2)[0];
    const ir::Program program = *ir::lower(nest, schedule, ir::Isa::avx2);
    allocations = {};
    const auto proof = ir::prove(program, nest);
    EXPECT_TRUE(proof) << ir::to_string(proof.error());
    return allocations.most_held;
  };
  EXPECT_LE(most_held(2000), 3 * most_held(1000));
}

TEST(Limits, ALongTextIsRefusedUnread) {
  const std::string text = "max_pool2d(float32[1,1,4,4], kernel_size=2" + std::string(65536, ' ') + ")";
  EXPECT_EQ(compile(text, {}).error().id, "spec.length");
}

}  // namespace
}  // namespace pooljit::runtime
