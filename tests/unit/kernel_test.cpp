// Running a kernel: arguments, splitting over threads and pools, what is refused. The code is a function of
// this file that counts the tasks it was given.
#include "runtime/kernel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/compile.h"
#include "runtime/native_code.h"
#include "runtime/threads.h"

namespace pooljit::runtime {
namespace {

// 64 x 8 outputs of 2 inputs each, and their indices; 4 batches.
constexpr std::string_view spec_text =
    "max_pool2d(float32[4,64,1,16], kernel_size=[1,2], return_indices=True)";
constexpr int64_t batches = 4, channels = 64, outputs = 8;
constexpr int64_t table_row[] = {7, 11};

// Adds 1 to each output of its tasks, and puts the table's second number into the index.
void count_tasks(const uint64_t* args) {
  auto* const output = reinterpret_cast<float*>(args[1]);
  auto* const indices = reinterpret_cast<int64_t*>(args[2]);
  const auto* const table = reinterpret_cast<const int64_t*>(args[3]);
  for (uint64_t n = args[4]; n < args[4] + args[5]; ++n)
    for (uint64_t c = args[6]; c < args[6] + args[7]; ++c)
      for (int64_t i = 0; i < outputs; ++i) {
        const size_t at = (n * channels + c) * outputs + size_t(i);
        output[at] += 1;
        indices[at] = table[1];
      }
}

KernelPtr make_kernel(int threads, std::string_view text = spec_text) {
  using Role = ir::Param::Role;
  ir::Program program;
  program.params = {{Role::input, 0}, {Role::output, 0}, {Role::indices, 0}, {Role::table, 0},
                    {Role::begin, 0}, {Role::count, 0},  {Role::begin, 1},   {Role::count, 1}};
  program.tables = {{table_row[0], table_row[1]}};
  auto spec = *frontend::parse_spec(text);
  CodeInfo info;
  info.nest = frontend::make_nest(spec);
  info.tasks = {{"n", ir::TaskDim::batch_extent}, {"c", channels}};
  jit::CodeBlob blob;
  blob.entry = count_tasks;
  auto code = std::make_shared<NativeCode>(std::move(info), program, blob);
  return std::make_shared<Kernel>(std::move(spec), std::move(code), threads);
}

struct Buffers {
  explicit Buffers(int64_t batch = batches)
      : input(size_t(batch * channels * outputs * 2)),
        output(size_t(batch * channels * outputs)),
        indices(output.size()) {}
  std::vector<float> input, output;
  std::vector<int64_t> indices;
};

// Runs tasks on threads of its own, and remembers how it was used.
struct CountingPool : ThreadPool {
  explicit CountingPool(int count) : count_(count) {}
  int threads() const override { return count_; }
  void parallel(int64_t count, FunctionRef<void(int64_t)> task) override {
    ++calls;
    tasks = count;
    std::vector<std::thread> workers;
    for (int64_t i = 0; i < count; ++i) workers.emplace_back([&task, i] { task(i); });
    for (std::thread& worker : workers) worker.join();
  }
  int calls = 0;
  int64_t tasks = 0;

 private:
  int count_;
};

void expect_each_task_once(const Buffers& buffers) {
  for (size_t i = 0; i < buffers.output.size(); ++i) {
    ASSERT_EQ(buffers.output[i], 1) << i;
    ASSERT_EQ(buffers.indices[i], table_row[1]) << i;
  }
}

TEST(Kernel, DoesEachTaskOnceOnAnyNumberOfThreads) {
  for (int threads = 1; threads <= 4; ++threads) {
    const KernelPtr kernel = make_kernel(threads);
    for (int64_t batch : {4, 1, 3, 40}) {
      Buffers buffers(batch);
      ASSERT_TRUE(
          kernel->run(buffers.input.data(), buffers.output.data(), buffers.indices.data(), nullptr, batch));
      expect_each_task_once(buffers);
    }
  }
}

TEST(Kernel, UsesThePoolItIsGiven) {
  CountingPool pool(3);
  Buffers buffers(400);
  ASSERT_TRUE(
      make_kernel(1)->run(buffers.input.data(), buffers.output.data(), buffers.indices.data(), &pool, 400));
  expect_each_task_once(buffers);
  EXPECT_EQ(pool.calls, 1);
  EXPECT_GE(pool.tasks, 3);
}

TEST(Kernel, TinyWorkStaysOnTheCallingThread) {
  CountingPool pool(3);
  Buffers buffers(1);
  ASSERT_TRUE(
      make_kernel(1)->run(buffers.input.data(), buffers.output.data(), buffers.indices.data(), &pool, 1));
  expect_each_task_once(buffers);
  EXPECT_EQ(pool.calls, 0);
}

TEST(Kernel, RunsFromManyThreadsAtOnceOnOnePool) {
  const KernelPtr kernel = make_kernel(2);
  std::vector<Buffers> buffers(8, Buffers(40));
  std::vector<std::thread> threads;
  for (Buffers& mine : buffers)
    threads.emplace_back([&] {
      EXPECT_TRUE(kernel->run(mine.input.data(), mine.output.data(), mine.indices.data(), nullptr, 40));
    });
  for (std::thread& thread : threads) thread.join();
  for (const Buffers& each : buffers) expect_each_task_once(each);
}

TEST(Kernel, RunsFromWithinATaskOfItsOwnPool) {
  const KernelPtr kernel = make_kernel(2);
  std::vector<Buffers> buffers(4, Buffers(40));
  builtin_pool(2).parallel(4, [&](int64_t i) {
    Buffers& mine = buffers[size_t(i)];
    EXPECT_TRUE(kernel->run(mine.input.data(), mine.output.data(), mine.indices.data(), nullptr, 40));
  });
  for (const Buffers& each : buffers) expect_each_task_once(each);
}

TEST(Kernel, AnEmptyBatchTouchesNothing) {
  EXPECT_TRUE(make_kernel(2)->run(nullptr, nullptr, nullptr, nullptr, 0));
}

struct Refusal {
  const char* id;
  bool input, output, indices;
  int64_t batch = -1;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.id; }

class Refused : public testing::TestWithParam<Refusal> {};
TEST_P(Refused, BeforeAnythingIsWritten) {
  const Refusal& refusal = GetParam();
  Buffers buffers;
  const auto done = make_kernel(1)->run(refusal.input ? buffers.input.data() : nullptr,
                                        refusal.output ? buffers.output.data() : nullptr,
                                        refusal.indices ? buffers.indices.data() : nullptr);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().id, refusal.id);
  EXPECT_EQ(buffers.output, Buffers().output);
}
INSTANTIATE_TEST_SUITE_P(Pointers, Refused,
                         testing::Values(Refusal{"run.null", false, true, true},
                                         Refusal{"run.null", true, false, true},
                                         Refusal{"run.null", true, true, false}));

TEST(Kernel, RefusesIndicesThatItDoesNotMake) {
  Buffers buffers;
  const auto done = make_kernel(1, "max_pool2d(float32[4,64,1,16], kernel_size=[1,2])")
                        ->run(buffers.input.data(), buffers.output.data(), buffers.indices.data());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().id, "run.indices");
}

TEST(Kernel, RefusesBuffersThatOverlap) {
  Buffers buffers;
  const KernelPtr kernel = make_kernel(1);
  float* const input = buffers.input.data();
  const size_t all = buffers.output.size();
  const auto error_of = [&](void* output, void* indices) {
    const auto done = kernel->run(input, output, indices);
    return done ? "" : done.error().id;
  };
  EXPECT_EQ(error_of(input, buffers.indices.data()), "run.overlap");
  EXPECT_EQ(error_of(input + buffers.input.size() - 1, buffers.indices.data()), "run.overlap");
  EXPECT_EQ(error_of(buffers.output.data(), input), "run.overlap");
  EXPECT_EQ(error_of(buffers.indices.data() + 1, buffers.indices.data()), "run.overlap");
  // Only half of the buffer is the view's: the other half is free.
  std::vector<float> shared(all * 2 + all);
  EXPECT_TRUE(kernel->run(shared.data(), shared.data() + 2 * all, buffers.indices.data()));
}

// Two images have 2^31 elements: the last index of int32 is one less.
TEST(Kernel, RefusesABatchWhoseIndicesDoNotFit) {
  const KernelPtr kernel =
      make_kernel(1,
                  "max_pool1d(float32[N,32768,32768], kernel_size=2, return_indices=True, "
                  "index_dtype=int32, index_scope=tensor)");
  Buffers buffers;  // nothing of which is looked at
  const auto done =
      kernel->run(buffers.input.data(), buffers.output.data(), buffers.indices.data(), nullptr, 2);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().id, "run.batch");
  EXPECT_NE(done.error().hint.find("at most 1 "), std::string::npos) << done.error().hint;
}

TEST(Kernel, RefusesABatchWhereTheSpecHasNone) {
  const KernelPtr kernel =
      make_kernel(1, "max_pool2d(float32[64,1,16], kernel_size=[1,2], return_indices=True)");
  Buffers buffers;
  const auto done =
      kernel->run(buffers.input.data(), buffers.output.data(), buffers.indices.data(), nullptr, 2);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().id, "run.batch");
  EXPECT_TRUE(kernel->run(buffers.input.data(), buffers.output.data(), buffers.indices.data(), nullptr, 1));
}

// A spec, its batch, and how many parts have 64 KiB to read and write, and a task.
struct Parts {
  const char* spec;
  int64_t batch;
  int parts;
};
class UsefulParts : public testing::TestWithParam<Parts> {};
TEST_P(UsefulParts, HaveEnoughToDo) {
  const auto [spec, batch, parts] = GetParam();
  const auto kernel = runtime::compile(spec, {.backend = "interpreter", .threads = 1});
  ASSERT_TRUE(kernel) << ir::to_string(kernel.error());
  EXPECT_EQ((*kernel)->useful_parts(batch).value(), parts);
}
INSTANTIATE_TEST_SUITE_P(Layers, UsefulParts,
                         testing::Values(Parts{"max_pool2d(float32[1,2,4,4], kernel_size=2)", 1, 1},
                                         Parts{"max_pool2d(float32[N,2,4,4], kernel_size=2)", 0, 1},
                                         Parts{"max_pool2d(float32[N,64,32,32], kernel_size=2)", 1, 5},
                                         Parts{"max_pool2d(float32[N,64,32,32], kernel_size=2)", 4, 20},
                                         Parts{"max_pool2d(float32[N,64,32,32], kernel_size=2)", 1 << 20,
                                               256},
                                         // 1.25 MiB in one task
                                         Parts{"max_pool1d(float32[N,1,262144], kernel_size=262144)", 1, 1},
                                         Parts{"max_pool1d(float32[N,1,262144], kernel_size=262144)", 3, 3}));

TEST(Kernel, UsefulPartsAreOfABatchThatCanBeRun) {
  const auto id_of = [](std::string_view spec, int64_t batch) {
    const auto parts = make_kernel(1, spec)->useful_parts(batch);
    return parts ? "" : parts.error().id;
  };
  EXPECT_EQ(id_of(spec_text, -1), "run.batch");
  EXPECT_EQ(id_of("max_pool2d(float32[64,1,16], kernel_size=[1,2], return_indices=True)", 2), "run.batch");
}

}  // namespace
}  // namespace pooljit::runtime
