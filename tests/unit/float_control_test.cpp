// A kernel gives its bits under any control word (MXCSR) of the caller and of the threads that work, and
// leaves the caller's as it was.
#include "runtime/float_control.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "c_words.h"
#include "pooljit.h"
#include "pooljit.hpp"
#include "runtime/cpu_features.h"
#include "runtime/engines.h"

namespace pooljit {
namespace {

using runtime::FloatControl;

constexpr unsigned masked = 0x1f80, sticky = 0x3f;
constexpr unsigned denormals_are_zero = 0x0040, flush_to_zero = 0x8000, down = 0x2000, up = 0x4000,
                   to_zero = 0x6000;

struct Word {
  const char* name;
  unsigned control;
};
constexpr Word words[] = {
    {"denormals_are_zero", masked | denormals_are_zero},
    {"flush_to_zero", masked | flush_to_zero},
    {"as_audio_engines_set_it", masked | denormals_are_zero | flush_to_zero},
    {"down", masked | down},
    {"up", masked | up},
    {"to_zero", masked | to_zero},
    {"unmasked", 0},
    {"all_at_once", denormals_are_zero | flush_to_zero | up},
};

// Sets the control word for a scope, with an exception that has happened already.
class Under {
 public:
  explicit Under(unsigned control) : before_(_mm_getcsr()) { _mm_setcsr(control | happened); }
  ~Under() { _mm_setcsr(before_); }
  Under(const Under&) = delete;
  Under& operator=(const Under&) = delete;
  static constexpr unsigned happened = 0x20;  // inexact: what every program has

 private:
  const unsigned before_;
};

// Denormals, NaNs of both kinds, infinities, zeros and what is rounded, in any type: bytes of float32.
std::vector<std::byte> data_of(size_t bytes, std::string_view dtype) {
  std::vector<std::byte> data(bytes);
  const float floats[] = {1e-40F, -3e-42F, 0.1F,    -0.0F, 1e-38F, 16777217.F,
                          -0.3F,  2e-45F,  3.3e38F, 0.F,   1e-45F};
  for (size_t i = 0; i < bytes; ++i) {
    if (dtype != "float32") {
      data[i] = std::byte(static_cast<unsigned char>((i * 2654435761U) >> 11));
      continue;
    }
    float value = floats[(i / 4) * 7 % std::size(floats)];
    if (i / 4 % 97 == 0) value = std::numeric_limits<float>::quiet_NaN();
    data[i] = std::bit_cast<std::array<std::byte, 4>>(value)[i % 4];
  }
  return data;
}

// An engine's threads, each with a control word of its own.
constexpr auto own_pool = [](int64_t tasks, auto task) {
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < tasks; ++i)
    threads.emplace_back([i, task] {
      const Under control(words[static_cast<size_t>(i) % std::size(words)].control);
      task(i);
    });
  task(0);
  for (std::thread& thread : threads) thread.join();
};

constexpr const char* specs[] = {
    "max_pool2d(float32[2,16,40,40], kernel_size=3, stride=2, padding=1, return_indices=True)",
    "max_pool2d(float32[2,16,40,40]:nhwc, kernel_size=3, nan=ignore)",
    "avg_pool2d(float32[2,16,40,40], kernel_size=3, padding=1, divisor_override=7)",
    "avg_pool2d(float64[1,16,40,40], kernel_size=3)",
    "avg_pool2d(float16[1,16,40,40]:nhwc, kernel_size=3)",
    "avg_pool2d(bfloat16[1,16,40,40], kernel_size=3)",
    "avg_pool2d(int8[1,16,40,40], kernel_size=[2,7])",
    "quantized_avg_pool2d(quint8[1,16,40,40], kernel_size=3, scale=0.1, output_scale=0.3)",
    "lp_pool2d(float32[1,16,40,40], kernel_size=2, norm_type=2)",
    "avg_pool2d(float32[1,16,40,40], kernel_size=2, epilogue=[scale(0.1,0), relu])",
    "avg_pool2d_backward(float32[1,16,40,40], kernel_size=3)",
};

struct Outputs {
  std::vector<std::byte> output, indices;
  bool operator==(const Outputs&) const = default;
};

Outputs run(const Kernel& kernel, bool on_own_pool = false) {
  const auto input = data_of(kernel.input_bytes(), kernel.dtype());
  Outputs made{std::vector<std::byte>(kernel.output_bytes()), std::vector<std::byte>(kernel.indices_bytes())};
  tests::Lists lists = {.outputs = {made.output.data()}};
  if (kernel.has_indices()) lists.indices = {made.indices.data()};
  Args args = tests::args_of(input.data(), lists);
  if (on_own_pool) args.set_parallel(own_pool, 3);
  kernel.run_with(args);
  return made;
}

class FloatControlOf : public testing::TestWithParam<const char*> {};
TEST_P(FloatControlOf, TheCallerChangesNoBit) {
  const auto engine = *runtime::find_engine(GetParam());
  if (!runtime::is_built(engine)) GTEST_SKIP() << "this build lacks it";
  if (runtime::info(engine).is_native && !runtime::best_isa())
    GTEST_SKIP() << "this machine runs no machine code of ours";
  for (const char* spec : specs) {
    const Options options{.backend = GetParam(), .threads = 3};
    const Kernel kernel = compile(spec, options);
    const Outputs expected = run(kernel);
    for (const Word& word : words) {
      cache_clear();
      Outputs once, compiled, pooled;
      unsigned after = 0;
      {
        const Under control(word.control);
        once = run(kernel);
        compiled = run(compile(spec, options));
        pooled = run(kernel, true);
        after = _mm_getcsr();
      }
      EXPECT_EQ(after & ~sticky, word.control) << spec << word.name;
      EXPECT_EQ(after & Under::happened, Under::happened) << spec << word.name;
      EXPECT_TRUE(once == expected) << spec << " run under " << word.name;
      EXPECT_TRUE(compiled == expected) << spec << " compiled under " << word.name;
      EXPECT_TRUE(pooled == expected) << spec << " on threads under " << word.name;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Engines, FloatControlOf,
                         testing::Values("xbyak", "llvm", "interpreter", "reference"),
                         [](const auto& info) { return std::string(info.param); });

// The workers keep the word of the thread that made them.
TEST(FloatControl, WorkersOfTheBuiltInPoolHaveWordsOfTheirOwn) {
  const char* const spec = "avg_pool2d(float32[4,64,64,64], kernel_size=3)";
  const Outputs expected = run(compile(spec, {.threads = 1}));
  Outputs under;
  constexpr int fresh = 13;  // threads that no other test asks for
  {
    const Under control(masked | denormals_are_zero | flush_to_zero | up);
    under = run(compile(spec, {.threads = fresh}));
  }
  EXPECT_TRUE(under == expected);
  for (int round = 0; round < 20; ++round) EXPECT_TRUE(run(compile(spec, {.threads = fresh})) == expected);
}

TEST(FloatControl, PartsToo) {
  pooljit_kernel* kernel = nullptr;
  ASSERT_EQ(tests::compile_words("avg_pool2d(float32[1,8,9,9], kernel_size=3)", "threads=1", &kernel),
            POOLJIT_OK);
  pooljit_info info = {};
  info.size = sizeof info;
  pooljit_kernel_info(kernel, &info);
  const auto input = data_of(size_t(info.input_bytes), "float32");
  std::vector<std::byte> expected(size_t(info.output_bytes)), parts(expected.size());
  ASSERT_EQ(pooljit_run(kernel, input.data(), expected.data(), nullptr), POOLJIT_OK);
  {
    const Under control(denormals_are_zero | flush_to_zero | to_zero);
    void* const outputs[] = {parts.data()};
    pooljit_args args = {};
    args.size = sizeof args;
    args.input = input.data();
    args.outputs = outputs, args.output_count = 1;
    args.parts = 5;
    for (args.part = 0; args.part < 5; ++args.part) pooljit_run_with(kernel, &args);
  }
  EXPECT_TRUE(parts == expected);
  pooljit_release(kernel);
}

// 0.1 and 1e-310 are not what they are under another rounding, or where denormals are zero.
TEST(FloatControl, NumbersOfSpecsAreReadTheSame) {
  const char* const spec =
      "quantized_avg_pool1d(qint8[1,1,4], kernel_size=2, scale=1e-310, output_scale=0.1)";
  const std::string expected(Spec(spec).spec());
  for (const Word& word : words) {
    std::string read;
    {
      const Under control(word.control);
      read = Spec(spec).spec();
    }
    EXPECT_EQ(read, expected) << word.name;
  }
}

TEST(FloatControl, FlagsAreAddedToTheCallersWord) {
  constexpr unsigned invalid = 1, control = masked | up;
  const Under scope(control);
  {
    const FloatControl standard;
    volatile float negative = -1;
    volatile float root = std::sqrt(negative);
    static_cast<void>(root);
  }
  EXPECT_EQ(_mm_getcsr(), control | Under::happened | invalid);
}

}  // namespace
}  // namespace pooljit
