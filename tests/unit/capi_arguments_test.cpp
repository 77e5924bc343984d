// Nothing that a caller says is ignored: each argument that a run, a compile or a measurement has no use for
// is an error, in C and in C++.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "c_words.h"
#include "pooljit.hpp"

namespace pooljit {
namespace {

constexpr int max_threads = 256;

// A kernel with a free batch, one with indices and an operand, and the buffers of both.
struct Setting {
  Kernel plain = compile("max_pool2d(float32[N,1,4,4], kernel_size=2)"),
         full = compile("max_pool2d(float32[2,1,4,4], kernel_size=2, return_indices=True, epilogue=[add])"),
         unbatched = compile("max_pool2d(float32[1,4,4], kernel_size=2)");
  std::vector<float> input = std::vector<float>(32, 1), output = std::vector<float>(8, -1),
                     operand = std::vector<float>(8, 2);
  std::vector<int64_t> indices = std::vector<int64_t>(8);
  void* outputs[2] = {output.data(), output.data()};
  void* index_lists[1] = {indices.data()};
  const void* operands[1] = {operand.data()};
  int64_t output_bytes[1] = {32}, indices_bytes[1] = {64}, operand_bytes[1] = {32};
  alignas(64) char scratch[128] = {};

  pooljit_args args_of_plain() {
    pooljit_args args = {};
    args.size = sizeof args;
    args.input = input.data();
    args.outputs = outputs, args.output_count = 1;
    args.has_batch = 1, args.batch = 2;
    return args;
  }
  pooljit_args args_of_full() {
    pooljit_args args = args_of_plain();
    args.has_batch = 0, args.batch = 0;
    args.indices = index_lists, args.indices_count = 1;
    args.operands = operands, args.operand_count = 1;
    return args;
  }
  pooljit_args with_bytes() {
    pooljit_args args = args_of_full();
    args.has_bytes = 1;
    args.input_bytes = 128;
    args.output_bytes = output_bytes, args.indices_bytes = indices_bytes, args.operand_bytes = operand_bytes;
    return args;
  }
};

void do_all(void* /*context*/, int64_t tasks, pooljit_task task, void* argument) {
  for (int64_t i = 0; i < tasks; ++i) task(argument, i);
}
void do_none(void* /*context*/, int64_t /*tasks*/, pooljit_task /*task*/, void* /*argument*/) {}
void do_first_twice(void* /*context*/, int64_t tasks, pooljit_task task, void* argument) {
  for (int64_t i = 0; i < tasks; ++i) task(argument, i == 1 ? 0 : i);
}
void do_others(void* /*context*/, int64_t tasks, pooljit_task task, void* argument) {
  for (int64_t i = 0; i < tasks; ++i) task(argument, i + 1);
}

struct Row {
  const char* what;
  const char* id;     // of the error; "": there is none
  const char* value;  // that the message names
  std::function<void(Setting&, pooljit_args&)> change;
  bool of_full = false, with_bytes = false;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.what; }

class Arguments : public testing::TestWithParam<Row> {
 protected:
  // The kernel and the arguments of the row.
  const Kernel& kernel() {
    return GetParam().of_full || GetParam().with_bytes ? setting.full : setting.plain;
  }
  pooljit_args args() {
    pooljit_args args = GetParam().with_bytes ? setting.with_bytes()
                        : GetParam().of_full  ? setting.args_of_full()
                                              : setting.args_of_plain();
    GetParam().change(setting, args);
    return args;
  }
  Setting setting;
};

TEST_P(Arguments, AreUsedOrRefusedInC) {
  const pooljit_args given = args();
  const int code = pooljit_run_with(kernel().c_handle(), &given);
  if (*GetParam().id == '\0') {
    EXPECT_EQ(code, POOLJIT_OK) << pooljit_last_error();
    EXPECT_EQ(setting.output[7], kernel().has_indices() ? 3 : 1);
    return;
  }
  ASSERT_EQ(code, POOLJIT_INVALID);
  pooljit_error error = {};
  error.size = sizeof error;
  ASSERT_EQ(pooljit_last_error_info(&error), POOLJIT_OK);
  EXPECT_STREQ(error.id, GetParam().id) << error.message;
  EXPECT_NE(std::string(error.message).find(GetParam().value), std::string::npos) << error.message;
  EXPECT_TRUE(*error.hint != '\0' || std::string(error.id) == "runtime.null" ||
              std::string(error.id) == "run.null");
  EXPECT_EQ(setting.output, std::vector<float>(8, -1));
}

TEST_P(Arguments, AreUsedOrRefusedInCxx) {
  try {
    kernel().run_with(args());
    EXPECT_STREQ(GetParam().id, "");
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), GetParam().id);
    EXPECT_NE(error.message().find(GetParam().value), std::string::npos) << error.message();
    EXPECT_EQ(error.kind(), Error::Kind::invalid);
  }
}

using A = pooljit_args;
using S = Setting;
INSTANTIATE_TEST_SUITE_P(
    Who, Arguments,
    testing::Values(
        Row{"threads alone", "", "", [](S&, A& a) { a.threads = 1; }},
        Row{"two threads alone", "", "", [](S&, A& a) { a.threads = 2; }},
        Row{"threads below 0", "run.threads", "-3", [](S&, A& a) { a.threads = -3; }},
        Row{"too many threads", "run.threads", "257", [](S&, A& a) { a.threads = max_threads + 1; }},
        Row{"parallel", "", "", [](S&, A& a) { a.parallel = do_all, a.threads = 2; }},
        Row{"threads below 0 and parallel", "run.threads", "-3",
            [](S&, A& a) { a.parallel = do_all, a.threads = -3; }},
        Row{"context without parallel", "run.parallel", "context", [](S& s, A& a) { a.context = &s; }},
        Row{"part without parts", "run.part", "part 1 of 0", [](S&, A& a) { a.part = 1; }},
        Row{"part of itself", "run.part", "part 2 of 2", [](S&, A& a) { a.part = a.parts = 2; }},
        Row{"part below 0", "run.part", "part -1 of 2", [](S&, A& a) { a.part = -1, a.parts = 2; }},
        Row{"parts below 0", "run.part", "part 0 of -2", [](S&, A& a) { a.parts = -2; }},
        Row{"part and parallel", "run.part", "parallel", [](S&, A& a) { a.parts = 1, a.parallel = do_all; }},
        Row{"part and threads", "run.part", "threads", [](S&, A& a) { a.parts = 1, a.threads = 1; }},
        Row{"one part", "", "", [](S&, A& a) { a.parts = 1; }},
        Row{"scratch of a part", "", "", [](S& s, A& a) { a.parts = 1, a.scratch = s.scratch; }},
        Row{"scratch without parts", "run.scratch", "parts is 0", [](S& s, A& a) { a.scratch = s.scratch; }},
        Row{"scratch between lines", "run.scratch", "64",
            [](S& s, A& a) { a.parts = 1, a.scratch = s.scratch + 1; }},
        Row{"size", "runtime.struct", "0", [](S&, A& a) { a.size = 0; }}));
INSTANTIATE_TEST_SUITE_P(
    Batch, Arguments,
    testing::Values(
        Row{"batch", "", "", [](S&, A&) {}},
        Row{"batch without has_batch", "run.batch", "2", [](S&, A& a) { a.has_batch = 0; }},
        Row{"no batch of a free one", "run.batch", "free", [](S&, A& a) { a.has_batch = 0, a.batch = 0; }},
        Row{"has_batch of another number", "run.batch", "7", [](S&, A& a) { a.has_batch = 7; }},
        Row{"below 0", "run.batch", "-5", [](S&, A& a) { a.batch = -5; }},
        Row{"more than memory", "run.batch", "1152921504606846976",
            [](S&, A& a) { a.batch = int64_t{1} << 60; }},
        Row{"more than memory, of a part", "run.batch", "1152921504606846976",
            [](S&, A& a) { a.batch = int64_t{1} << 60, a.parts = 2; }},
        Row{"the largest", "run.batch", "9223372036854775807", [](S&, A& a) { a.batch = INT64_MAX; }}));
INSTANTIATE_TEST_SUITE_P(
    Lists, Arguments,
    testing::Values(
        Row{"all", "", "", [](S&, A&) {}, true},
        Row{"more outputs", "run.outputs", "2", [](S&, A& a) { a.output_count = 2; }, true},
        Row{"no count of outputs", "run.outputs", "0", [](S&, A& a) { a.output_count = 0; }, true},
        Row{"no outputs", "runtime.null", "outputs", [](S&, A& a) { a.outputs = nullptr; }, true},
        Row{"neither", "run.outputs", "0", [](S&, A& a) { a.outputs = nullptr, a.output_count = 0; }, true},
        Row{"no count of indices", "run.indices", "0", [](S&, A& a) { a.indices_count = 0; }, true},
        Row{"indices not asked for", "run.indices", "1",
            [](S& s, A& a) { a.indices = s.index_lists, a.indices_count = 1; }},
        Row{"operands not asked for", "run.operands", "1",
            [](S& s, A& a) { a.operands = s.operands, a.operand_count = 1; }},
        Row{"operands without a count", "run.operands", "0", [](S& s, A& a) { a.operands = s.operands; }},
        Row{"a count below 0", "run.operands", "-1", [](S&, A& a) { a.operand_count = -1; }, true},
        Row{"no input", "run.null", "input", [](S&, A& a) { a.input = nullptr; }, true},
        Row{"overlap", "run.overlap", "overlap", [](S& s, A&) { s.outputs[0] = s.input.data(); }, true}));
INSTANTIATE_TEST_SUITE_P(
    Bytes, Arguments,
    testing::Values(
        Row{"right", "", "", [](S&, A&) {}, true, true},
        Row{"more than needed", "", "", [](S& s, A& a) { a.input_bytes = 1000, s.output_bytes[0] = 33; },
            true, true},
        Row{"the input", "run.buffer", "127", [](S&, A& a) { a.input_bytes = 127; }, true, true},
        Row{"the output", "run.buffer", "31", [](S& s, A&) { s.output_bytes[0] = 31; }, true, true},
        Row{"the indices", "run.buffer", "63", [](S& s, A&) { s.indices_bytes[0] = 63; }, true, true},
        Row{"the operand", "run.buffer", "0 bytes", [](S& s, A&) { s.operand_bytes[0] = 0; }, true, true},
        Row{"below 0", "run.buffer", "-1", [](S&, A& a) { a.input_bytes = -1; }, true, true},
        Row{"of a larger batch", "run.buffer", "128 bytes, the kernel needs 256",
            [](S&, A& a) { a.has_batch = 1, a.batch = 4; }, true, true},
        Row{"no flag", "run.buffer", "has_bytes is 0", [](S&, A& a) { a.has_bytes = 0; }, true, true},
        Row{"another flag", "run.buffer", "3", [](S&, A& a) { a.has_bytes = 3; }, true, true},
        Row{"no list", "runtime.null", "output_bytes", [](S&, A& a) { a.output_bytes = nullptr; }, true,
            true},
        Row{"a list for nothing", "run.buffer", "operand_bytes", [](S& s, A& a) {
              a.has_bytes = 1, a.input_bytes = 128, a.output_bytes = s.output_bytes;
              a.operand_bytes = s.operand_bytes;
            }}));

// Threads of the caller's that do not do what they are told, for a layer that is worth several tasks.
TEST(Parallel, WhatWasNotDoneIsAnError) {
  const Kernel kernel = compile("max_pool2d(float32[8,16,64,64], kernel_size=2)");
  std::vector<float> input(kernel.input_bytes() / 4, 1), output(kernel.output_bytes() / 4);
  const tests::Lists lists = {.outputs = {output.data()}};
  Args args = tests::args_of(input.data(), lists);
  args.threads = 4;
  const auto id_of = [&](pooljit_parallel parallel) {
    args.parallel = parallel;
    try {
      kernel.run_with(args);
    } catch (const Error& error) {
      return error.id();
    }
    return std::string();
  };
  EXPECT_EQ(id_of(do_all), "");
  EXPECT_EQ(output, std::vector<float>(output.size(), 1));
  EXPECT_EQ(id_of(do_none), "run.parallel");
  EXPECT_EQ(id_of(do_first_twice), "run.parallel");
  EXPECT_EQ(id_of(do_others), "run.parallel");
}

TEST(Batch, OfAnUnbatchedSpecIsOne) {
  Setting setting;
  pooljit_args args = setting.args_of_plain();
  EXPECT_EQ(pooljit_run_with(setting.unbatched.c_handle(), &args), POOLJIT_INVALID);
  EXPECT_EQ(Error::last().id(), "run.batch");
}

// --- options

std::string id_of_options(const std::function<void(pooljit_options&)>& change) {
  pooljit_options options = {};
  options.size = sizeof options;
  change(options);
  pooljit_kernel* kernel = nullptr;
  const int code = pooljit_compile("max_pool2d(float32[1,1,4,4], kernel_size=2)", &options, &kernel);
  pooljit_release(kernel);
  return code == POOLJIT_OK ? "" : Error::last().id();
}

TEST(OptionsStruct, ZeroIsTheDefaultAndNothingIsIgnored) {
  using O = pooljit_options;
  EXPECT_EQ(id_of_options([](O&) {}), "");
  EXPECT_EQ(id_of_options([](O& o) { o.size = 0; }), "runtime.struct");
  EXPECT_EQ(id_of_options([](O& o) { o.backend = "gpu"; }), "runtime.options");
  EXPECT_EQ(id_of_options([](O& o) { o.isa = "sse2"; }), "runtime.options");
  EXPECT_EQ(id_of_options([](O& o) { o.threads = -1; }), "runtime.options");
  EXPECT_EQ(id_of_options([](O& o) { o.verify = 2; }), "runtime.options");
  EXPECT_EQ(id_of_options([](O& o) { o.measure = "many"; }), "runtime.options");
  EXPECT_EQ(id_of_options([](O& o) { o.names = "strace"; }), "runtime.options");
  EXPECT_EQ(id_of_options([](O& o) { o.schedule = "none"; }), "schedule.text");
  EXPECT_EQ(id_of_options([](O& o) { o.tune_db = "/nowhere/db"; }), "tune.open");
}

TEST(OptionsStruct, IsWhatTheWordsSay) {
  const char* const words =
      "backend=xbyak isa=avx2 threads=3 verify=1 schedule=each(channels=4, rows=1)[a(x=1); b(y=2)] "
      "tune_db=a/b measure=6 names=perf,gdb";
  const Options read = options_read(words);
  EXPECT_EQ(read.backend, "xbyak");
  EXPECT_EQ(read.isa, "avx2");
  EXPECT_EQ(read.threads, 3);
  EXPECT_TRUE(read.verify);
  EXPECT_EQ(read.schedule, "each(channels=4, rows=1)[a(x=1); b(y=2)]");
  EXPECT_EQ(read.tune_db, "a/b");
  EXPECT_EQ(read.measure, "6");
  EXPECT_EQ(read.names, "perf,gdb");
  pooljit_options options = {};
  options.size = sizeof options;
  char room[8];
  EXPECT_EQ(pooljit_options_read("backend=reference", &options, room, sizeof room), POOLJIT_INVALID);
  EXPECT_EQ(Error::last().id(), "runtime.options");
  EXPECT_EQ(pooljit_options_read("backend=reference", &options, nullptr, 0), POOLJIT_INVALID);
  EXPECT_EQ(Error::last().id(), "runtime.null");
  EXPECT_EQ(pooljit_options_read("isa=avx2", &options, room, sizeof room), POOLJIT_OK);
  EXPECT_STREQ(options.isa, "avx2");
  EXPECT_EQ(pooljit_options_read("threads=4 isa=auto", &options, nullptr, 0), POOLJIT_OK);
  EXPECT_EQ(options.threads, 4);
  EXPECT_EQ(options.isa, nullptr);
}

// What a kernel says of its schedule is taken as the option, by text and struct.
TEST(OptionsStruct, AKernelsOwnScheduleIsAccepted) {
  for (const char* spec :
       {"max_pool2d(float32[1,8,20,20], kernel_size=3)",
        "pools(float32[1,8,20,20], max_pool2d(3, 1, 1), avg_pool2d(3, 1, 1), max_pool2d(5, 1, 2))",
        "pools(float32[1,64,20,20]:nhwc, max_pool2d(3, 2), avg_pool2d(2))"}) {
    const Kernel kernel = compile(spec);
    const std::string schedule(kernel.schedule());
    EXPECT_EQ(compile(spec, options_read("threads=1 schedule=" + schedule)).schedule(), schedule);
    EXPECT_EQ(compile(spec, {.schedule = schedule}).schedule(), schedule);
  }
}

// --- C++

TEST(Cxx, AnEmptyKernelAndSpecAreErrorsToUse) {
  const Kernel kernel;
  const Spec spec;
  EXPECT_FALSE(kernel);
  EXPECT_FALSE(spec);
  float value = 0;
  const std::function<void()> uses[] = {[&] { kernel.run(&value, &value); },  [&] { (void)kernel.info(); },
                                        [&] { (void)kernel.output_bytes(); }, [&] { (void)compile(spec); },
                                        [&] { (void)spec.output_shape(); },   [&] { (void)prove(kernel); },
                                        [&] { (void)schedules(spec); },       [&] { (void)explain(spec); },
                                        [&] { (void)time({kernel}); }};
  for (const auto& use : uses) {
    try {
      use();
      ADD_FAILURE() << "something empty was used";
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "runtime.null");
    }
  }
}

TEST(Cxx, ASpecKnowsItsOutputsWithoutCompiling) {
  const char* const text =
      "pools(int8[2,3,4,4]:nhwc, max_pool2d(2, return_indices=True), max_pool2d(4, output_dtype=float64))";
  const Spec spec(text);
  const Kernel kernel = compile(spec);
  ASSERT_EQ(spec.output_count(), 2);
  EXPECT_EQ(spec.indices_count(), 1);
  EXPECT_EQ(spec.output_shape(1), (std::vector<int64_t>{2, 3, 1, 1}));
  EXPECT_EQ(spec.output_strides(0), (std::vector<int64_t>{12, 1, 6, 3}));
  EXPECT_EQ(spec.output_dtype(1), "float64");
  EXPECT_EQ(spec.output_bytes(1), 48U);
  EXPECT_EQ(spec.indices_bytes(0), 8U * 24);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(spec.output_shape(i), kernel.output_shape(i));
    EXPECT_EQ(spec.output_strides(i), kernel.output_strides(i));
    EXPECT_EQ(spec.output_bytes(i), kernel.output_bytes(i));
  }
  EXPECT_THROW((void)spec.output(2), Error);
  EXPECT_THROW((void)spec.indices(1), Error);
  EXPECT_EQ(Spec("max_pool1d(float32[3,8], kernel_size=2)").output_shape(), (std::vector<int64_t>{3, 4}));
}

}  // namespace
}  // namespace pooljit
