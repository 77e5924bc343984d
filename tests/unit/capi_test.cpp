// The C interface: every code, last_error per thread, null arguments.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "c_words.h"
#include "pooljit.h"

namespace {

constexpr const char* spec = "max_pool2d(float32[2,1,2,4], kernel_size=2)";
constexpr const char* index_spec = "max_pool2d(float32[2,1,2,4], kernel_size=2, return_indices=True)";
constexpr const char* plain = "backend=reference";

std::string last_id() {
  const std::string text = pooljit_last_error();
  return text.substr(0, text.find(':'));
}

class Kernel {
 public:
  explicit Kernel(const char* text, const char* options = plain) {
    code = pooljit::tests::compile_words(text, options, &kernel);
  }
  ~Kernel() { pooljit_release(kernel); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  int code = -1;
  pooljit_kernel* kernel = nullptr;
};

TEST(CApi, CompilesRunsAndReleases) {
  const Kernel kernel(index_spec);
  ASSERT_EQ(kernel.code, POOLJIT_OK) << pooljit_last_error();
  pooljit_tensor output_tensor = {};
  int64_t bytes = 0;
  ASSERT_EQ(pooljit_kernel_output(kernel.kernel, 0, &output_tensor, &bytes), POOLJIT_OK);
  EXPECT_EQ(std::vector<int64_t>(output_tensor.dims, output_tensor.dims + output_tensor.rank),
            (std::vector<int64_t>{2, 1, 1, 2}));
  EXPECT_EQ(bytes, 16);
  const float input[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2};
  float output[4] = {};
  int64_t indices[4] = {};
  ASSERT_EQ(pooljit_run(kernel.kernel, input, output, indices), POOLJIT_OK) << pooljit_last_error();
  EXPECT_EQ(std::vector<float>(output, output + 4), (std::vector<float>{6, 8, 9, 7}));
  EXPECT_EQ(std::vector<int64_t>(indices, indices + 4), (std::vector<int64_t>{5, 7, 0, 2}));
}

struct Failure {
  const char* spec;
  const char* options;
  int code;
  const char* id;
};
void PrintTo(const Failure& failure, std::ostream* out) { *out << failure.id; }

class CompileFails : public testing::TestWithParam<Failure> {};
TEST_P(CompileFails, WithACodeAnIdAndNoKernel) {
  const Failure& failure = GetParam();
  auto* kernel = reinterpret_cast<pooljit_kernel*>(1);
  EXPECT_EQ(pooljit::tests::compile_words(failure.spec, failure.options, &kernel), failure.code);
  EXPECT_EQ(kernel, nullptr);
  EXPECT_EQ(last_id(), failure.id) << pooljit_last_error();
}
INSTANTIATE_TEST_SUITE_P(Reasons, CompileFails,
                         testing::Values(Failure{nullptr, nullptr, POOLJIT_INVALID, "runtime.null"},
                                         Failure{"", plain, POOLJIT_INVALID, "spec.syntax"},
                                         Failure{"max_pool2d(float32[1,1,4,4], kernel_size=9)", plain,
                                                 POOLJIT_INVALID, "spec.output_size"},
                                         Failure{
                                             "max_pool2d(float32[1,1,4611686018427387904,4], kernel_size=1)",
                                             plain, POOLJIT_INVALID, "spec.overflow"},
                                         Failure{"max_pool2d(uint16[1,1,4,4], kernel_size=2)", plain,
                                                 POOLJIT_UNSUPPORTED, "spec.unsupported_dtype"},
                                         Failure{spec, "colour=red", POOLJIT_INVALID, "runtime.options"},
                                         Failure{spec, "threads=-1", POOLJIT_INVALID, "runtime.options"},
                                         Failure{spec, "backend=gpu", POOLJIT_INVALID, "runtime.options"}));

TEST_P(CompileFails, SoDoesASpecObject) {
  const Failure& failure = GetParam();
  auto* object = reinterpret_cast<pooljit_spec*>(1);
  EXPECT_EQ(pooljit::tests::read_words(failure.spec, failure.options, &object), failure.code);
  EXPECT_EQ(object, nullptr);
  EXPECT_EQ(last_id(), failure.id) << pooljit_last_error();
}

TEST(CApi, ASpecObjectFindsItsKernel) {
  pooljit_spec* object = nullptr;
  ASSERT_EQ(pooljit::tests::read_words(spec, plain, &object), POOLJIT_OK) << pooljit_last_error();
  pooljit_kernel *first = nullptr, *again = nullptr;
  ASSERT_EQ(pooljit_spec_compile(object, &first), POOLJIT_OK) << pooljit_last_error();
  ASSERT_EQ(pooljit_spec_compile(object, &again), POOLJIT_OK) << pooljit_last_error();
  pooljit_spec_release(object);
  const float input[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2};
  for (pooljit_kernel* kernel : {first, again}) {
    float output[4] = {};
    ASSERT_EQ(pooljit_run(kernel, input, output, nullptr), POOLJIT_OK) << pooljit_last_error();
    EXPECT_EQ(std::vector<float>(output, output + 4), (std::vector<float>{6, 8, 9, 7}));
    pooljit_release(kernel);
  }
}

// What only compiling shows.
TEST(CApi, ASpecObjectSaysWhatCompilingRefuses) {
  pooljit_spec* object = nullptr;
  ASSERT_EQ(pooljit::tests::read_words(spec, "schedule=channels_first(lanes=3)", &object), POOLJIT_OK);
  auto* kernel = reinterpret_cast<pooljit_kernel*>(1);
  EXPECT_EQ(pooljit_spec_compile(object, &kernel), POOLJIT_INVALID);
  EXPECT_EQ(kernel, nullptr);
  EXPECT_EQ(last_id(), "schedule.lanes");
  pooljit_spec_release(object);
}

TEST(CApi, NullArgumentsAreErrors) {
  const Kernel kernel(spec);
  pooljit_tensor tensor;
  float value = 0;
  EXPECT_EQ(pooljit_compile(spec, nullptr, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.null");
  EXPECT_EQ(pooljit_spec_read(spec, nullptr, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.null");
  pooljit_kernel* none = nullptr;
  EXPECT_EQ(pooljit_spec_compile(nullptr, &none), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.null");
  pooljit_spec_release(nullptr);
  EXPECT_EQ(pooljit_kernel_output(nullptr, 0, &tensor, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.null");
  EXPECT_EQ(pooljit_kernel_output(kernel.kernel, 0, nullptr, nullptr), POOLJIT_OK);
  EXPECT_EQ(pooljit_run_with(kernel.kernel, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.null");
  EXPECT_EQ(pooljit_run(nullptr, &value, &value, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "runtime.null");
  EXPECT_EQ(pooljit_run(kernel.kernel, nullptr, &value, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "run.null");
  pooljit_release(nullptr);
}

TEST(CApi, AVerifiedKernelSaysWhatWasProved) {
  pooljit_kernel* kernel = nullptr;
  ASSERT_EQ(pooljit::tests::compile_words(spec, "verify=1 backend=xbyak", &kernel), POOLJIT_OK)
      << pooljit_last_error();
  const auto proof_of = [](const pooljit_kernel* one) {
    pooljit_info info = {};
    info.size = sizeof info;
    EXPECT_EQ(pooljit_kernel_info(one, &info), POOLJIT_OK);
    return std::string(info.proof);
  };
  EXPECT_EQ(proof_of(kernel).substr(0, 8), "proved: ");
  pooljit_release(kernel);
  EXPECT_EQ(proof_of(Kernel(spec).kernel), "");
}

TEST(CApi, RunRefusesIndicesAndOverlap) {
  const Kernel kernel(spec), index_kernel(index_spec);
  float input[16] = {}, output[4] = {-1, -1, -1, -1};
  int64_t indices[4];
  EXPECT_EQ(pooljit_run(kernel.kernel, input, output, indices), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "run.indices");
  EXPECT_EQ(pooljit_run(index_kernel.kernel, input, output, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "run.null");
  EXPECT_EQ(pooljit_run(kernel.kernel, input, input + 1, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "run.overlap");
  EXPECT_EQ(output[0], -1);
}

TEST(CApi, OperandsAreWhatTheEpilogueTakes) {
  const Kernel plain_kernel(spec);
  const Kernel kernel("max_pool2d(float32[1,1,4,4], kernel_size=2, epilogue=[scale_channel, add])");
  ASSERT_EQ(kernel.code, POOLJIT_OK) << pooljit_last_error();
  const float input[16] = {1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}, a = 10, b = 5, addend[4] = {100, 200, 300, 400};
  float output[4] = {-1, -1, -1, -1};
  const auto id_of = [&](const Kernel& one, const void* const* operands, int count) {
    pooljit_args args = {};
    void* const outputs[] = {output};
    args.size = sizeof args;
    args.input = input;
    args.outputs = outputs, args.output_count = 1;
    args.operands = operands, args.operand_count = count;
    return pooljit_run_with(one.kernel, &args) == POOLJIT_OK ? "" : last_id();
  };
  const void* const operands[] = {&a, &b, addend};
  EXPECT_EQ(pooljit_run(kernel.kernel, input, output, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "run.operands");
  EXPECT_EQ(id_of(kernel, operands, 2), "run.operands");
  EXPECT_EQ(id_of(kernel, operands, -1), "run.operands");
  EXPECT_EQ(id_of(kernel, operands, 0), "run.operands");
  EXPECT_EQ(id_of(kernel, nullptr, 3), "runtime.null");
  EXPECT_EQ(output[0], -1);
  EXPECT_EQ(id_of(kernel, operands, 3), "");
  EXPECT_EQ(std::vector<float>(output, output + 4), (std::vector<float>{115, 225, 335, 445}));
  EXPECT_EQ(id_of(plain_kernel, nullptr, 0), "");
}

TEST(CApi, AnEmptyBatchNeedsNoBuffers) {
  const Kernel kernel("max_pool2d(float32[0,1,2,4], kernel_size=2)");
  ASSERT_EQ(kernel.code, POOLJIT_OK);
  EXPECT_EQ(pooljit_run(kernel.kernel, nullptr, nullptr, nullptr), POOLJIT_OK);
  pooljit_tensor output;
  ASSERT_EQ(pooljit_kernel_output(kernel.kernel, 0, &output, nullptr), POOLJIT_OK);
  EXPECT_EQ(output.dims[0], 0);
}

TEST(CApi, LastErrorBelongsToTheThreadAndSurvivesSuccess) {
  const Kernel wrong("nonsense");
  ASSERT_EQ(wrong.code, POOLJIT_INVALID);
  const std::string text = pooljit_last_error();
  EXPECT_FALSE(text.empty());
  std::thread([] {
    EXPECT_STREQ(pooljit_last_error(), "");
    const Kernel refused(spec, "backend=gpu");
    EXPECT_EQ(last_id(), "runtime.options");
  }).join();
  const Kernel right(spec);
  EXPECT_EQ(right.code, POOLJIT_OK);
  EXPECT_EQ(pooljit_last_error(), text);
}

TEST(CApi, TheLastErrorComesInParts) {
  std::thread([] {
    pooljit_error error = {};
    error.size = sizeof error;
    ASSERT_EQ(pooljit_last_error_info(&error), POOLJIT_OK);
    EXPECT_EQ(error.code, POOLJIT_OK);
    EXPECT_STREQ(error.id, "");
    const Kernel refused("max_pool2d(float32[1,1,4,4], kernel_size=9)");
    ASSERT_EQ(pooljit_last_error_info(&error), POOLJIT_OK);
    EXPECT_EQ(error.code, POOLJIT_INVALID);
    EXPECT_STREQ(error.id, "spec.output_size");
    EXPECT_STRNE(error.message, "");
    const std::string all = std::string(error.id) + ": " + error.message + " (" + error.hint + ")";
    EXPECT_EQ(all, pooljit_last_error());
    error.size = 0;
    EXPECT_EQ(pooljit_last_error_info(&error), POOLJIT_INVALID);
    EXPECT_EQ(last_id(), "runtime.struct");
  }).join();
}

TEST(CApi, ALongTextIsCutNotOverrun) {
  const std::string options(5000, 'x');
  const Kernel refused(spec, options.c_str());
  EXPECT_EQ(refused.code, POOLJIT_INVALID);
  EXPECT_LT(std::string(pooljit_last_error()).size(), 2000U);
}

TEST(CApi, TheHeaderHasTheVersionOfTheLibrary) {
  int major = -1, minor = -1, patch = -1;
  EXPECT_EQ(std::sscanf(pooljit_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  EXPECT_EQ(major, POOLJIT_VERSION_MAJOR);
  EXPECT_EQ(minor, POOLJIT_VERSION_MINOR);
  EXPECT_EQ(patch, POOLJIT_VERSION_PATCH);
}

}  // namespace
