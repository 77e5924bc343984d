// The C interface as engines use it: batches, pools and parts of their own, layers as data, what is known of
// kernels and the cache, and what tuners use.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "c_words.h"
#include "matrix/specs.h"
#include "pooljit.h"
#include "pooljit_tuning.h"
#include "runtime/proof/guarded_buffer.h"

namespace {

constexpr const char* stem = "max_pool2d(float32[2,8,30,31], kernel_size=3, stride=2, padding=1)";

std::string last_id() {
  const std::string text = pooljit_last_error();
  return text.substr(0, text.find(':'));
}

class Kernel {
 public:
  explicit Kernel(const std::string& text, const char* options = nullptr) {
    EXPECT_EQ(pooljit::tests::compile_words(text.c_str(), options, &kernel), POOLJIT_OK)
        << pooljit_last_error();
    EXPECT_EQ(pooljit_kernel_info(kernel, &info), POOLJIT_OK);
  }
  ~Kernel() { pooljit_release(kernel); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  pooljit_kernel* kernel = nullptr;
  pooljit_info info = [] {
    pooljit_info empty = {};
    empty.size = sizeof empty;
    return empty;
  }();
};

// What a kernel reads and writes, filled with bytes that are valid numbers of any type.
struct Data {
  explicit Data(const pooljit_info& info, int64_t batch = 1)
      : input(size_t(batch * info.input_bytes)),
        output(size_t(batch * info.output_bytes), 0xEE),
        indices(size_t(batch * info.indices_bytes), 0),
        indices_count(info.indices_count) {
    for (size_t i = 0; i < input.size(); ++i)
      input[i] = static_cast<unsigned char>((i * 2654435761U) >> 9 & 0x3F);
    for (int32_t i = 0; i < info.operand_count; ++i)
      operands.emplace_back(size_t(batch * info.operand_bytes[i]), 0x3C);
    for (const auto& operand : operands) pointers.push_back(operand.data());
  }
  // That points into this.
  pooljit_args args() {
    pooljit_args args = {};
    args.size = sizeof args;
    args.input = input.data();
    args.outputs = &output_pointer, args.output_count = 1;
    if (indices_count > 0) args.indices = &index_pointer, args.indices_count = indices_count;
    args.operands = pointers.empty() ? nullptr : pointers.data();
    args.operand_count = static_cast<int32_t>(pointers.size());
    return args;
  }
  std::vector<unsigned char> input, output, indices;
  int32_t indices_count;
  std::vector<std::vector<unsigned char>> operands;
  std::vector<const void*> pointers;
  void* output_pointer = output.data();
  void* index_pointer = indices.data();
};

// A pool that does the tasks backwards, on two threads.
struct TwoThreads {
  std::atomic<int> calls = 0;
  static void parallel(void* context, int64_t tasks, pooljit_task task, void* argument) {
    ++static_cast<TwoThreads*>(context)->calls;
    std::atomic<int64_t> left = tasks;
    const auto work = [&] {
      for (int64_t i; (i = --left) >= 0;) task(argument, i);
    };
    std::thread other(work);
    work();
    other.join();
  }
};

TEST(CApiRun, TakesTheCallersPoolAndBatch) {
  const Kernel one("max_pool2d(float32[1,64,40,40], kernel_size=3)", "threads=1");
  const Kernel free_batch("max_pool2d(float32[N,64,40,40], kernel_size=3)");
  Data expected(one.info, 5), data(one.info, 5);
  for (size_t n = 0; n < 5; ++n)
    ASSERT_EQ(pooljit_run(one.kernel, expected.input.data() + n * size_t(one.info.input_bytes),
                          expected.output.data() + n * size_t(one.info.output_bytes), nullptr),
              POOLJIT_OK);
  TwoThreads pool;
  pooljit_args args = data.args();
  args.parallel = TwoThreads::parallel;
  args.context = &pool;
  args.threads = 2;
  args.has_batch = 1;
  args.batch = 5;
  for (const Kernel* kernel : {&one, &free_batch}) {
    std::fill(data.output.begin(), data.output.end(), 0);
    ASSERT_EQ(pooljit_run_with(kernel->kernel, &args), POOLJIT_OK) << pooljit_last_error();
    EXPECT_EQ(data.output, expected.output);
  }
  EXPECT_EQ(pool.calls, 2);
}

// Every hundredth spec of the matrix, in as many parts as an engine may have threads.
TEST(CApiRun, PartsAreTogetherOneRun) {
  const auto specs = pooljit::tests::matrix_specs();
  for (size_t i = 0; i < specs.size(); i += 100) {
    if (specs[i].find("unpool") != std::string::npos || specs[i].find("backward") != std::string::npos)
      continue;
    const Kernel kernel(specs[i], "threads=1");
    Data whole(kernel.info);
    const pooljit_args all = whole.args();
    ASSERT_EQ(pooljit_run_with(kernel.kernel, &all), POOLJIT_OK) << specs[i] << pooljit_last_error();
    for (int parts = 1; parts <= 64; ++parts) {
      Data data(kernel.info);
      pooljit_args args = data.args();
      args.parts = parts;
      for (args.part = parts - 1; args.part >= 0; --args.part)
        ASSERT_EQ(pooljit_run_with(kernel.kernel, &args), POOLJIT_OK) << pooljit_last_error();
      ASSERT_EQ(data.output, whole.output) << specs[i] << " in " << parts << " parts";
      ASSERT_EQ(data.indices, whole.indices) << specs[i] << " in " << parts << " parts";
    }
  }
}

TEST(CApiRun, PartsRunOnThreadsOfTheCaller) {
  const Kernel kernel("avg_pool2d(float32[N,16,40,40], kernel_size=5, stride=2)", "threads=1");
  Data whole(kernel.info, 3), data(kernel.info, 3);
  for (Data* each : {&whole, &data}) {
    pooljit_args args = each->args();
    args.has_batch = 1;
    args.batch = 3;
    if (each == &whole) {
      ASSERT_EQ(pooljit_run_with(kernel.kernel, &args), POOLJIT_OK);
      continue;
    }
    std::vector<std::thread> threads;
    args.parts = 4;
    for (args.part = 0; args.part < 4; ++args.part)
      threads.emplace_back([&, args] { EXPECT_EQ(pooljit_run_with(kernel.kernel, &args), POOLJIT_OK); });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(data.output, whole.output);
}

// Scratch memory of the caller's, and no more of it than the kernel says.
TEST(CApiRun, PartsUseTheCallersScratchMemory) {
  const Kernel kernel("max_pool2d(float32[1,4,64,64]:nhwc, kernel_size=13, stride=1)", "threads=1");
  ASSERT_GT(kernel.info.scratch_bytes, 0);
  Data whole(kernel.info), data(kernel.info);
  ASSERT_EQ(pooljit_run(kernel.kernel, whole.input.data(), whole.output.data(), nullptr), POOLJIT_OK);
  const auto scratch = pooljit::runtime::GuardedBuffer::make(
      size_t(kernel.info.scratch_bytes), pooljit::runtime::GuardedBuffer::Flush::last_byte);
  ASSERT_TRUE(scratch);
  pooljit_args args = data.args();
  args.scratch = scratch->data();
  args.parts = 3;
  for (args.part = 0; args.part < 3; ++args.part)
    ASSERT_EQ(pooljit_run_with(kernel.kernel, &args), POOLJIT_OK);
  EXPECT_EQ(data.output, whole.output);
}

TEST(CApiRun, AnUnpoolChecksTheIndicesOfThePart) {
  const Kernel kernel("max_unpool2d(float32[1,4,2,2], kernel_size=2)", "threads=1");
  Data data(kernel.info);
  auto* const indices = reinterpret_cast<int64_t*>(data.indices.data());
  for (int i = 0; i < 16; ++i) indices[i] = i % 4;
  indices[13] = 999;  // of the last channel
  const auto run = [&](int part) {
    pooljit_args args = data.args();
    args.part = part, args.parts = 2;
    return pooljit_run_with(kernel.kernel, &args);
  };
  EXPECT_EQ(run(0), POOLJIT_OK) << pooljit_last_error();
  EXPECT_EQ(run(1), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "run.index_range");
  EXPECT_EQ(data.output.back(), 0xEE);
}

TEST(CApiRun, ArgumentsOfALaterVersionAreTakenWhereWhatIsNewIsZero) {
  const Kernel kernel(stem);
  Data data(kernel.info);
  struct Later {
    pooljit_args args;
    void* news;
  } later = {data.args(), nullptr};
  later.args.size = sizeof later;
  EXPECT_EQ(pooljit_run_with(kernel.kernel, &later.args), POOLJIT_OK) << pooljit_last_error();
  later.news = &later;
  EXPECT_EQ(pooljit_run_with(kernel.kernel, &later.args), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.struct");
}

// --- what is known

TEST(CApiInfo, OfASpecIsThatOfItsKernelWithoutCompiling) {
  for (const char* text :
       {stem, "max_pool2d(float32[N,3,8,8]:nhwc, kernel_size=2, return_indices=True, index_dtype=int32)",
        "max_pool1d(uint8[3,50], kernel_size=3, strides=[128,2])",
        "avg_pool2d(float32[2,16,6,6]:nchw16c, kernel_size=2, epilogue=[scale_channel, add(float64)])"}) {
    pooljit_spec* spec = nullptr;
    ASSERT_EQ(pooljit_spec_read(text, nullptr, &spec), POOLJIT_OK) << pooljit_last_error();
    pooljit_info of_spec = {};
    of_spec.size = sizeof of_spec;
    ASSERT_EQ(pooljit_spec_info(spec, &of_spec), POOLJIT_OK);
    const Kernel kernel(text);
    EXPECT_STREQ(of_spec.spec, kernel.info.spec);
    EXPECT_STREQ(of_spec.signature, kernel.info.signature);
    EXPECT_EQ(std::memcmp(&of_spec.input, &kernel.info.input,
                          offsetof(pooljit_info, spec) - offsetof(pooljit_info, input)),
              0)
        << text;
    EXPECT_STREQ(kernel.info.backend, "xbyak");
    EXPECT_STREQ(kernel.info.schedule_origin, "the default");
    EXPECT_GT(kernel.info.code_bytes, 0);
    EXPECT_GT(kernel.info.compile_nanoseconds, 0);
    EXPECT_EQ(of_spec.backend, nullptr);
    pooljit_spec_release(spec);
  }
}

TEST(CApiInfo, SaysShapesStridesAndBytes) {
  const Kernel kernel("max_pool2d(float32[N,3,8,10]:nhwc, kernel_size=2, return_indices=True)");
  const pooljit_info& info = kernel.info;
  EXPECT_STREQ(info.input.dtype, "float32");
  EXPECT_STREQ(info.output.layout, "nhwc");
  EXPECT_STREQ(info.indices.dtype, "int64");
  const std::vector<int64_t> dims(info.output.dims, info.output.dims + info.output.rank),
      strides(info.output.strides, info.output.strides + info.output.rank);
  EXPECT_EQ(dims, (std::vector<int64_t>{1, 3, 4, 5}));
  EXPECT_EQ(strides, (std::vector<int64_t>{60, 1, 15, 3}));
  EXPECT_EQ(info.input_bytes, 3 * 8 * 10 * 4);
  EXPECT_EQ(info.output_bytes, 3 * 4 * 5 * 4);
  EXPECT_EQ(info.indices_bytes, 3 * 4 * 5 * 8);
  EXPECT_EQ(info.free_batch, 1);
}

TEST(CApiInfo, WritesNoMoreThanTheCallerHas) {
  const Kernel kernel(stem);
  pooljit_info info = {};
  info.size = offsetof(pooljit_info, spec);
  info.spec = "untouched";
  ASSERT_EQ(pooljit_kernel_info(kernel.kernel, &info), POOLJIT_OK);
  EXPECT_STREQ(info.spec, "untouched");
  EXPECT_EQ(info.size, offsetof(pooljit_info, spec));
  EXPECT_EQ(info.output_bytes, kernel.info.output_bytes);
  info.size = 0;
  EXPECT_EQ(pooljit_kernel_info(kernel.kernel, &info), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.struct");
}

TEST(CApiInfo, ALayerMakesTheSpecThatItIsOf) {
  pooljit_spec *spec = nullptr, *again = nullptr;
  ASSERT_EQ(pooljit_spec_read(stem, nullptr, &spec), POOLJIT_OK);
  pooljit_layer layer = {};
  layer.size = sizeof layer;
  ASSERT_EQ(pooljit_spec_layer(spec, &layer), POOLJIT_OK);
  ASSERT_EQ(pooljit_spec_make(&layer, nullptr, &again), POOLJIT_OK) << pooljit_last_error();
  pooljit_kernel *kernel = nullptr, *same = nullptr;
  ASSERT_EQ(pooljit_spec_compile(spec, &kernel), POOLJIT_OK);
  pooljit_cache before = {}, after = {};
  before.size = after.size = sizeof before;
  ASSERT_EQ(pooljit_cache_info(&before), POOLJIT_OK);
  ASSERT_EQ(pooljit_spec_compile(again, &same), POOLJIT_OK);
  ASSERT_EQ(pooljit_cache_info(&after), POOLJIT_OK);
  EXPECT_EQ(after.hits, before.hits + 1);
  EXPECT_EQ(after.misses, before.misses);
  layer.kernel[0] = 0;
  pooljit_spec* wrong = spec;
  EXPECT_EQ(pooljit_spec_make(&layer, nullptr, &wrong), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "spec.kernel_size");
  EXPECT_EQ(wrong, nullptr);
  for (pooljit_kernel* each : {kernel, same}) pooljit_release(each);
  for (pooljit_spec* each : {spec, again}) pooljit_spec_release(each);
}

TEST(CApiCache, CountsAndKeepsToItsLimits) {
  pooljit_cache_clear();
  pooljit_cache start = {}, now = {};
  start.size = now.size = sizeof now;
  ASSERT_EQ(pooljit_cache_info(&start), POOLJIT_OK);
  EXPECT_EQ(start.kernels, 0U);
  const auto compile = [](int columns) {
    const Kernel kernel("max_pool2d(float32[1,1,9," + std::to_string(columns) + "], kernel_size=2)");
  };
  for (int columns = 10; columns < 20; ++columns) compile(columns);
  compile(19);
  ASSERT_EQ(pooljit_cache_info(&now), POOLJIT_OK);
  EXPECT_EQ(now.kernels, 10U);
  EXPECT_EQ(now.misses, start.misses + 10);
  EXPECT_EQ(now.hits, start.hits + 1);
  EXPECT_GT(now.compile_nanoseconds, start.compile_nanoseconds);
  EXPECT_GT(now.bytes, 0U);
  pooljit_cache_limit(4, now.byte_limit);
  ASSERT_EQ(pooljit_cache_info(&now), POOLJIT_OK);
  EXPECT_LE(now.kernels, 4U);
  EXPECT_GE(now.evictions, start.evictions + 6);
  compile(40);
  ASSERT_EQ(pooljit_cache_info(&now), POOLJIT_OK);
  EXPECT_LE(now.kernels, 4U);
  pooljit_cache_limit(start.kernel_limit, start.byte_limit);
  pooljit_cache_clear();
}

TEST(CApiTuning, ListsTimesAndProves) {
  pooljit_spec* spec = nullptr;
  ASSERT_EQ(pooljit_spec_read("max_pool2d(float32[1,8,12,12], kernel_size=2)", nullptr, &spec), POOLJIT_OK);
  pooljit_schedule_list* list = nullptr;
  ASSERT_EQ(pooljit_schedules(spec, &list), POOLJIT_OK) << pooljit_last_error();
  const size_t legal = pooljit_schedule_count(list);
  pooljit_schedule first = {};
  first.size = sizeof first;
  ASSERT_EQ(pooljit_schedule_get(list, 0, &first), POOLJIT_OK);
  EXPECT_EQ(first.is_default, 1);
  EXPECT_EQ(first.predicted_seconds, 0);
  pooljit_schedule_list_release(list);
  ASSERT_EQ(pooljit_schedules_by_cost(spec, &list), POOLJIT_OK) << pooljit_last_error();
  EXPECT_LE(pooljit_schedule_count(list), legal);
  ASSERT_GE(pooljit_schedule_count(list), 2U);
  std::vector<pooljit_kernel*> kernels;
  int defaults = 0;
  for (size_t i = 0; i < pooljit_schedule_count(list); ++i) {
    pooljit_schedule schedule = {};
    schedule.size = sizeof schedule;
    ASSERT_EQ(pooljit_schedule_get(list, i, &schedule), POOLJIT_OK);
    EXPECT_GT(schedule.predicted_seconds, 0);
    defaults += schedule.is_default;
    if (i >= 2) continue;
    const std::string options = std::string("threads=1 schedule=") + schedule.text;
    ASSERT_EQ(pooljit::tests::compile_words("max_pool2d(float32[1,8,12,12], kernel_size=2)", options.c_str(),
                                            &kernels.emplace_back()),
              POOLJIT_OK)
        << pooljit_last_error();
  }
  EXPECT_EQ(defaults, 1);
  pooljit_schedule none = {};
  none.size = sizeof none;
  EXPECT_EQ(pooljit_schedule_get(list, pooljit_schedule_count(list), &none), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.range");
  pooljit_timing timings[2] = {};
  ASSERT_EQ(pooljit_time(kernels.data(), 2, 0.01, timings), POOLJIT_OK) << pooljit_last_error();
  for (const pooljit_timing& timing : timings) EXPECT_GT(timing.median, 0);
  EXPECT_EQ(pooljit_time(kernels.data(), 2, -1, timings), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "tune.seconds");
  char* proof = nullptr;
  ASSERT_EQ(pooljit_prove(kernels[0], &proof), POOLJIT_OK) << pooljit_last_error();
  EXPECT_EQ(std::string(proof).substr(0, 8), "proved: ");
  pooljit_text_release(proof);
  EXPECT_EQ(pooljit_prove(kernels[0], nullptr), POOLJIT_OK);
  for (pooljit_kernel* kernel : kernels) pooljit_release(kernel);
  pooljit_schedule_list_release(list);
  pooljit_spec_release(spec);
}

}  // namespace
