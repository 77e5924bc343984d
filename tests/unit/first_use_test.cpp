// measure=: what is measured, what the result is where the times say so, and how compile() keeps it. Times
// come from a watch of the test's own, or nothing is said about them.
#include "runtime/tuning/first_use.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <set>
#include <thread>

#include "ir/choose/shortlist.h"
#include "ir/schedule_text.h"
#include "ir/schedules/family.h"
#include "ir/schedules/layer.h"
#include "ir/schedules/space.h"
#include "pooljit.h"
#include "runtime/compile.h"
#include "runtime/options.h"
#include "runtime/tuning/choose.h"
#include "runtime/tuning/numbers.h"
#include "runtime/tuning/store.h"
#include "runtime/tuning/workload.h"
#include "tests/all_isas.h"
#include "tools/temp_folder.h"

namespace pooljit::runtime {
namespace {

using test::TempFolder;

constexpr const char* layers[] = {
    "max_pool2d(float32[1,8,20,20], kernel_size=3, stride=2, padding=1)",
    "avg_pool2d(float32[2,24,14,14]:nhwc, kernel_size=3, stride=1, padding=1)",
    "avg_pool2d(float32[1,5,17,19], kernel_size=[5,2], stride=2, padding=[2,1], count_include_pad=False)",
    "max_pool2d(uint8[1,40,12,12]:nhwc, kernel_size=2)",
    "avg_pool2d(bfloat16[1,16,28,28]:nhwc, kernel_size=5, stride=2)",
    "max_pool3d(float32[1,3,9,9,9], kernel_size=3)",
    "lp_pool2d(float32[1,4,16,16], norm_type=2, kernel_size=3)",
    "max_pool2d(float32[1,8,20,20], kernel_size=2, return_indices=True)",
    "adaptive_avg_pool2d(float32[1,64,7,7], output_size=1)",
    // Long rows whose windows share none with those below: a schedule that rolls is refused, not asked.
    "lp_pool3d(float32[1,1,1,2,246], kernel_size=[1,1,24], stride=1, padding=[0,3,200,0,0,12], "
    "norm_type=0.5)",
};

ir::PoolNest nest_of(const char* spec) { return frontend::make_nest(*frontend::parse_spec(spec)); }

Choices choices_of(const Options& options) { return *resolve(options); }

// Each read of it is a second later, or as much as `step` says.
class Steps {
 public:
  explicit Steps(
      std::function<double(int)> step = [](int) { return 1.0; }, int64_t preempted_each = 0)
      : watch_{[this, step] { return now_ += step(reads_++); },
               [this, preempted_each] { return preemptions_ += preempted_each; }} {}
  const Stopwatch& watch() const { return watch_; }
  int reads() const { return reads_; }

 private:
  double now_ = 0;
  int reads_ = 0;
  int64_t preemptions_ = 0;
  const Stopwatch watch_;
};

ir::Result<FirstUse> measured(const char* spec, const Stopwatch& watch,
                              const Options& options = {.measure = "6"}) {
  return measure_first_use(*frontend::parse_spec(spec), choices_of(options),
                           {.budget_seconds = 0, .watch = watch});
}

// --- the shortlist

TEST(Shortlist, HasLegalSchedulesOfTheSpaceEachOnce) {
  for (const char* spec : layers)
    for (const ir::Isa isa : ir::all_isas) {
      const ir::PoolNest nest = nest_of(spec);
      const auto layer = ir::Layer::of(nest, isa);
      const std::vector<ir::Schedule> found = ir::shortlist(nest, isa, 12),
                                      space = ir::schedule_space(nest, isa);
      EXPECT_FALSE(found.empty()) << spec;
      EXPECT_LE(found.size(), 12U);
      for (const ir::Schedule& one : found) {
        EXPECT_TRUE(ir::check(*layer, one)) << spec << ir::print(one);
        EXPECT_NE(std::ranges::find(space, one), space.end()) << spec << ir::print(one);
        EXPECT_EQ(std::ranges::count(found, one), 1) << spec << ir::print(one);
      }
      const std::vector<ir::Schedule> fewer = ir::shortlist(nest, isa, 3);
      EXPECT_TRUE(std::ranges::equal(fewer, std::span(found).first(fewer.size()))) << spec;
    }
}

// The default and what is tried beside it, as measure=2 does.
std::vector<std::shared_ptr<Code>> tried(const char* spec) {
  const ir::PoolNest nest = nest_of(spec);
  const Choices choices = choices_of({.measure = "2"});
  std::vector<std::shared_ptr<Code>> all = {*info(choices.engine).make(nest, choices)};
  for_each_candidate(nest, choices, *all.front(), [&](std::shared_ptr<Code> code) {
    all.push_back(std::move(code));
    return true;
  });
  return all;
}

TEST(FirstUse, CandidatesAreOtherCodeThanTheDefaultAndEachOther) {
  for (const char* spec : layers) {
    const auto all = tried(spec);
    EXPECT_GT(all.size(), 1U) << spec;
    EXPECT_LE(all.size(), 9U) << spec;
    std::set<std::vector<uint8_t>> images;
    for (const std::shared_ptr<Code>& one : all) {
      const auto image = one->versions()[0]->machine()->blob->image;
      EXPECT_TRUE(images.emplace(image.begin(), image.end()).second) << spec << one->info.schedule;
    }
  }
}

TEST(FirstUse, TriesNoMoreThanItIsAskedFor) {
  const ir::PoolNest nest = nest_of(layers[0]);
  const Choices choices = choices_of({.measure = "6"});
  int visits = 0;
  for_each_candidate(nest, choices, **info(choices.engine).make(nest, choices),
                     [&](const std::shared_ptr<Code>&) { return ++visits < 3; });
  EXPECT_EQ(visits, 3);
}

// --- the numbers that kernels are compared on

std::vector<std::byte> results_of(const char* spec, const std::string& schedule, const Fill& fill) {
  Options options;
  options.schedule = schedule;
  const auto kernel = compile_uncached(spec, options);
  EXPECT_TRUE(kernel) << spec << schedule;
  auto workload = Workload::make(**kernel, fill);
  workload->clear_results();
  EXPECT_TRUE(workload->run(**kernel));
  EXPECT_TRUE(workload->has_results(workload->results()));
  return workload->results();
}

TEST(Numbers, HaveSumsThatNoOrderChanges) {
  for (const char* spec : layers) {
    const ir::PoolNest nest = nest_of(spec);
    const Fill fill = [&](ir::DType dtype, std::span<std::byte> bytes) {
      fill_with_exact_sums(nest, 0, dtype, bytes);
    };
    const auto all = tried(spec);
    const auto expected = results_of(spec, all.front()->info.schedule, fill);
    for (const std::shared_ptr<Code>& one : all)
      EXPECT_EQ(results_of(spec, one->info.schedule, fill), expected) << spec << one->info.schedule;
  }
}

// Two schedules that add in different orders: of sums in a row, and of what rows share.
TEST(Numbers, TellOrders) {
  const struct {
    const char *spec, *one, *other;
  } table[] = {
      {"avg_pool2d(float32[1,2,16,16], kernel_size=3)",
       "channels_first(lanes=8, scan=rows_first, tap_code=straight, tail=mask)",
       "channels_first(lanes=8, scan=tap_by_tap, tap_code=straight, tail=mask)"},
      {"avg_pool2d(bfloat16[1,16,9,9]:nhwc, kernel_size=3, stride=1)",
       "channels_last(lanes=8, scan=windows, tap_code=straight, tail=split)",
       "channels_last(lanes=8, scan=rolling, tap_code=straight, tail=split)"},
  };
  for (const auto& row : table) {
    const ir::PoolNest nest = nest_of(row.spec);
    const auto telling = [&](ir::DType dtype, std::span<std::byte> bytes) {
      fill_telling_orders(nest, 0, dtype, bytes);
    };
    EXPECT_NE(results_of(row.spec, row.one, telling), results_of(row.spec, row.other, telling)) << row.spec;
  }
}

// --- what the times say

TEST(FirstUse, TakesTheDefaultWhereNoneIsFaster) {
  for (const char* spec : layers) {
    const Steps steps;
    const auto found = measured(spec, steps.watch());
    ASSERT_TRUE(found) << spec;
    ASSERT_TRUE(found->times) << spec << found->origin;
    EXPECT_TRUE(found->times->is_default);
    EXPECT_TRUE(
        std::regex_match(found->origin, std::regex("measured, ([2-9]|1[0-9]|2[0-5]) candidates, [0-9.]+ ms")))
        << found->origin;
    Options usual;
    EXPECT_EQ(found->code->info.schedule, (*compile_uncached(spec, usual))->code().info.schedule);
  }
}

TEST(FirstUse, KeepsTheDefaultOnANoisyMachine) {
  const Steps noisy([](int read) { return 1 + (read * 7) % 5; });
  const auto found = measured(layers[0], noisy.watch());
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->times);
  EXPECT_NE(found->origin.find("the default; not measured: the machine is too noisy"), std::string::npos)
      << found->origin;
}

TEST(FirstUse, KeepsTheDefaultWhereAnotherThreadIsOnTheCore) {
  const Steps shared([](int) { return 1.0; }, 1);
  const auto found = measured(layers[0], shared.watch());
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->times);
  EXPECT_EQ(found->origin, "the default; not measured: another thread is on the core");
}

// Where the budget is spent by the time that the shortlist was looked at: five rounds, whatever they take.
TEST(FirstUse, TakesFiveSamplesOfEach) {
  const Steps steps([](int read) { return read < 40 ? 1.0 : 100.0; });
  const auto found = measured(layers[0], steps.watch());
  ASSERT_TRUE(found && found->times) << found->origin;
  EXPECT_EQ(found->times->winner.samples, 5);
}

// The first look goes by the least of two times: who is slow there does not run to the end.
TEST(FirstUse, LooksAtMoreThanItMeasures) {
  const Steps steps([](int) { return 1e-6; });
  const auto found = measured(layers[0], steps.watch(), {.measure = "2"});
  ASSERT_TRUE(found && found->times) << found->origin;
  int candidates = 0;
  ASSERT_EQ(std::sscanf(found->origin.c_str(), "measured, %d", &candidates), 1);
  EXPECT_GT(candidates, 2);
}

TEST(FirstUse, MeasuresSeveralPoolsAsOne) {
  constexpr const char* spec = "pools(float32[1,8,20,20], max_pool2d(3), avg_pool2d(3))";
  const auto found = measured(spec, Steps().watch(), {.measure = "6,same_bits"});
  ASSERT_TRUE(found && found->origin.starts_with("measured, ")) << found->origin;
  EXPECT_GT(tried(spec).size(), 2U);
}

TEST(FirstUse, SaysWhyNothingIsMeasured) {
  const struct {
    const char *spec, *backend, *origin;
  } table[] = {
      {"max_pool2d(float32[1,8,20,20], kernel_size=3)", "interpreter", "interpreter runs no machine code"},
      {"max_pool2d(float32[0,8,20,20], kernel_size=3)", "auto", "a batch of 0 is no work"},
  };
  for (const auto& row : table) {
    const Steps steps;
    const auto found = measured(row.spec, steps.watch(), {.backend = row.backend, .measure = "6"});
    ASSERT_TRUE(found) << row.spec << to_string(found.error());
    EXPECT_EQ(found->origin, std::string("the default; not measured: ") + row.origin);
  }
}

// --- compile

class MeasuredCompile : public testing::Test {
 protected:
  MeasuredCompile() { cache().clear(); }
  ~MeasuredCompile() override {
    unsetenv("POOLJIT_MEASURE");
    EXPECT_TRUE(set_measure(""));
  }
  static bool was_measured(const std::string& origin) {
    return origin.starts_with("measured, ") || origin.starts_with("the default; not measured: ");
  }
  static std::string origin(const Options& options, const char* spec = layers[0]) {
    const auto kernel = runtime::compile(spec, options);
    return kernel ? (*kernel)->schedule_origin() : to_string(kernel.error());
  }
  TempFolder folder_;
};

TEST_F(MeasuredCompile, IsAskedForByOptionsTheProcessOrTheEnvironment) {
  EXPECT_EQ(origin({}), "the default");
  EXPECT_TRUE(was_measured(origin({.measure = "3"}))) << origin({.measure = "3"});
  setenv("POOLJIT_MEASURE", "4", 1);
  EXPECT_TRUE(was_measured(origin({})));
  EXPECT_EQ(origin({.measure = "0"}), "the default");
  EXPECT_TRUE(set_measure("0"));
  EXPECT_EQ(origin({}), "the default");
  EXPECT_TRUE(set_measure("5"));
  EXPECT_TRUE(was_measured(origin({})));
  EXPECT_EQ(pooljit_set_measure("0"), POOLJIT_OK);
  EXPECT_EQ(origin({}), "the default");
  EXPECT_EQ(pooljit_set_measure(nullptr), POOLJIT_OK);
  EXPECT_TRUE(was_measured(origin({})));
  EXPECT_EQ(set_measure("fast").error().id, "runtime.options");
  EXPECT_TRUE(was_measured(origin({})));
  setenv("POOLJIT_MEASURE", "fast", 1);
  EXPECT_NE(origin({.threads = 1}).find("runtime.options: measure=fast"), std::string::npos);
}

TEST_F(MeasuredCompile, AScheduleThatIsAskedForIsTaken) {
  const std::string wanted = "channels_last(lanes=1, scan=windows, tap_code=straight, tail=split)";
  const auto kernel = runtime::compile(layers[0], {.schedule = wanted, .measure = "6"});
  ASSERT_TRUE(kernel);
  EXPECT_EQ((*kernel)->code().info.schedule, wanted);
  EXPECT_EQ((*kernel)->schedule_origin(), "asked for");
}

TEST_F(MeasuredCompile, MeasuresASignatureOnceHoweverManyAsk) {
  constexpr int threads = 8;
  const uint64_t before = cache().stats().misses;
  std::vector<KernelPtr> kernels(threads);
  std::vector<std::thread> askers;
  for (int i = 0; i < threads; ++i)
    askers.emplace_back([&, i] {
      const std::string spec =
          "avg_pool2d(float32[" + std::to_string(i + 1) + ",24,14,14]:nhwc, kernel_size=3)";
      kernels[size_t(i)] = *runtime::compile(spec, {.threads = 1, .measure = "6"});
    });
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(cache().stats().misses, before + 1);
  for (const KernelPtr& kernel : kernels) {
    EXPECT_EQ(&kernel->code(), &kernels[0]->code());
    EXPECT_EQ(kernel->schedule_origin(), kernels[0]->schedule_origin());
  }
}

TEST_F(MeasuredCompile, WorksInAChildOfAFork) {
  ASSERT_TRUE(runtime::compile(layers[0], {.measure = "6"}));
  const pid_t child = fork();
  if (child == 0) _exit(runtime::compile(layers[1], {.measure = "6"}) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Bit for bit the default's, on numbers that tell orders.
TEST_F(MeasuredCompile, SameBitsMeansTheDefaultsBits) {
  for (const char* spec : layers) {
    const auto standard = runtime::compile(spec, {.threads = 1});
    const auto kernel = runtime::compile(spec, {.threads = 1, .measure = "8,same_bits"});
    ASSERT_TRUE(standard && kernel) << spec;
    const ir::PoolNest nest = nest_of(spec);
    auto workload = Workload::make(**standard, [&](ir::DType dtype, std::span<std::byte> bytes) {
      fill_telling_orders(nest, 99, dtype, bytes);
    });
    workload->clear_results();
    ASSERT_TRUE(workload->run(**standard));
    const auto expected = workload->results();
    workload->clear_results();
    ASSERT_TRUE(workload->run(**kernel));
    EXPECT_TRUE(workload->has_results(expected)) << spec << (*kernel)->code().info.schedule;
  }
}

// --- the tuning database

FirstUse some_result() {
  auto code = info(Engine::xbyak).make(nest_of(layers[0]), choices_of({}));
  return {*code, "measured, 6 candidates, 2.1 ms",
          FirstUse::Times{{.median = 1e-6}, {.median = 2e-6}, false}};
}

TEST_F(MeasuredCompile, AddsWhatWasMeasuredToTheDatabase) {
  const std::string path = folder_ / "new.db";
  const Options options = {.threads = 1, .tune_db = path, .measure = "6"};
  const Choices choices = choices_of(options);
  const TuneEntry key = tune_key(*frontend::parse_spec(layers[0]), choices, 1);
  const FirstUse found = some_result();
  EXPECT_EQ(keep(found, key, path), ", kept in " + path);
  EXPECT_EQ(keep(found, key, ""), "");
  EXPECT_EQ(keep({found.code, "", std::nullopt}, key, path), "");
  const auto database = load_entries(path);
  ASSERT_TRUE(database && database->entries.size() == 1 && database->ignored.empty());
  EXPECT_EQ(database->entries[0].proof, "measured");
  EXPECT_EQ(database->entries[0].schedule, found.code->info.schedule);
  EXPECT_EQ(database->entries[0].default_seconds, 2e-6);
  // Later compiles take it from there.
  EXPECT_EQ(origin(options), "measured: " + path);
  EXPECT_EQ(origin({.threads = 1, .tune_db = path}), "measured: " + path);
}

TEST_F(MeasuredCompile, MakesTheDatabaseThatIsNamed) {
  const std::string path = folder_ / "made.db";
  const std::string found = origin({.threads = 1, .tune_db = path, .measure = "6"});
  ASSERT_TRUE(was_measured(found)) << found;
  EXPECT_EQ(found.ends_with(", kept in " + path), found.starts_with("measured, ")) << found;
  EXPECT_EQ(is_there(path), found.starts_with("measured, ")) << found;
}

TEST_F(MeasuredCompile, SaysWhatKeepsItFromTheDatabase) {
  const Choices choices = choices_of({});
  const TuneEntry key = tune_key(*frontend::parse_spec(layers[0]), choices, 1);
  const std::string told = keep(some_result(), key, folder_ / "no/such/folder.db");
  EXPECT_TRUE(told.starts_with(", not kept: file.create")) << told;
}

TEST_F(MeasuredCompile, SameBitsLeavesTheDatabaseAlone) {
  const std::string path = folder_ / "other.db";
  EXPECT_TRUE(was_measured(origin({.threads = 1, .tune_db = path, .measure = "same_bits"})));
  EXPECT_FALSE(is_there(path));
}

}  // namespace
}  // namespace pooljit::runtime
