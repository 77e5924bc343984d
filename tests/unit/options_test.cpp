// The words of options, and what they come to on this machine and on a lesser one.
#include "runtime/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/compile.h"
#include "runtime/cpu_features.h"
#include "runtime/threads.h"

namespace pooljit::runtime {
namespace {

std::string error_of(std::string_view words) {
  const auto options = parse_option_words(words);
  if (!options) return options.error().id;
  const auto choices = resolve(*options);
  return choices ? "" : choices.error().id;
}

TEST(Options, AreWordsInAnyOrder) {
  const auto options =
      parse_option_words("  threads=3 schedule=channels_last(lanes=16)\tisa=avx2\nbackend=interpreter ");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->threads, 3);
  EXPECT_EQ(options->schedule, "channels_last(lanes=16)");
  EXPECT_EQ(options->isa, "avx2");
  EXPECT_EQ(options->backend, "interpreter");
}

TEST(Options, NamesAreAskedForOneByOne) {
  const auto options = parse_option_words("names=gdb,perf");
  ASSERT_TRUE(options);
  const auto choices = resolve(*options);
  ASSERT_TRUE(choices);
  EXPECT_TRUE(choices->names.perf && choices->names.gdb && !choices->names.jitdump);
  EXPECT_FALSE(resolve({})->names.any());
}

TEST(Options, ALabelIsAWordOfItsOwn) {
  const std::vector<std::string> labels = {"pool1", "resnet/layer1.0/pool_2:0", "a-b+c#d@e",
                                           std::string(128, 'x')},
                                 others = {
                                     "a\"b", "a\\b", "a'b", "a;b", "a%b", "\xc3\xa9", std::string(129, 'x')};
  for (const std::string& label : labels) EXPECT_EQ(error_of("label=" + label), "") << label;
  for (const std::string& label : others) EXPECT_EQ(error_of("label=" + label), "runtime.label") << label;
  EXPECT_EQ(resolve({.label = "a b"}).error().id, "runtime.label");
  EXPECT_EQ(resolve({.label = "pool1"})->label, "pool1");
  EXPECT_EQ(error_of("label="), "runtime.options");
}

TEST(Options, NoneAreTheDefaults) {
  const auto options = parse_option_words("");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->backend, "auto");
  EXPECT_EQ(options->isa, "auto");
  EXPECT_EQ(options->threads, 0);
  EXPECT_TRUE(options->schedule.empty());
  EXPECT_EQ(thread_count(*options), available_threads());
}

class RejectedOptions : public testing::TestWithParam<const char*> {};
TEST_P(RejectedOptions, AreNamed) { EXPECT_EQ(error_of(GetParam()), "runtime.options"); }
INSTANTIATE_TEST_SUITE_P(Words, RejectedOptions,
                         testing::Values("fast", "=", "isa", "isa=", "backend=", "threads=", "threads=x",
                                         "threads=2x", "verify=", "verify=yes", "threads=-1",
                                         "threads=100000", "threads=99999999999999999999", "isa=sse2",
                                         "backend=gpu", "names=", "names=vtune", "names=perf,",
                                         "names=perf,,gdb", "measure=", "measure=fast", "measure=1",
                                         "measure=65", "measure=-2", "measure=6,", "measure=6,fast",
                                         "measure=,same_bits", "measure=same_bits,6", "colour=red",
                                         "fallback=", "fallback=always", "isa=avx2 fast"));

TEST(Options, AScheduleThatIsNoneIsRefusedByItsParser) {
  EXPECT_EQ(error_of("schedule=fastest").substr(0, 9), "schedule.");
}

TEST(Options, EveryEngineHasARow) {
  for (const EngineInfo& engine : engines()) EXPECT_EQ(find_engine(engine.text), engine.engine);
  EXPECT_FALSE(find_engine("auto"));
}

TEST(Options, ABackEndThatTheBuildLacksIsMissing) {
  for (const EngineInfo& engine : engines()) {
    const std::string error = error_of(std::string("backend=") + std::string(engine.text));
    EXPECT_EQ(error == "backend.missing", !is_built(engine.engine)) << engine.text;
  }
}

// The variable limits what threads=0 is, and no number that an option says.
TEST(Options, TheEnvironmentLimitsThreads) {
  const int all = available_threads();
  for (const char* wrong : {"x", "0", "-1", "257", "2x", " 2", "99999999999999999999"}) {
    setenv("POOLJIT_THREADS", wrong, 1);
    EXPECT_EQ(error_of(""), "runtime.threads") << wrong;
    EXPECT_EQ(error_of("threads=2"), "runtime.threads") << wrong;
  }
  setenv("POOLJIT_THREADS", "1", 1);
  EXPECT_EQ(thread_count({}), 1);
  EXPECT_EQ(thread_count({.threads = 3}), 3);
  setenv("POOLJIT_THREADS", "256", 1);
  EXPECT_EQ(thread_count({}), all);
  setenv("POOLJIT_THREADS", "", 1);
  EXPECT_EQ(error_of(""), "");
  unsetenv("POOLJIT_THREADS");
  EXPECT_EQ(thread_count({}), all);
}

// Features are read once per process, so each lesser machine is a process of its own.
using Lesser = std::tuple<const char*, const char*, const char*>;  // POOLJIT_MAX_ISA, words, error
class LesserMachine : public testing::TestWithParam<Lesser> {};
TEST_P(LesserMachine, RefusesWhatItCannotRun) {
  const auto [limit, words, expected] = GetParam();
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the test's program anew
  if (!is_built(Engine::xbyak)) GTEST_SKIP() << "no native back end in this build";
  EXPECT_EXIT(
      {
        setenv("POOLJIT_MAX_ISA", limit, 1);
        const std::string error = error_of(words);
        std::fprintf(stderr, "%s", error.c_str());
        std::exit(error == expected ? 0 : 1);
      },
      testing::ExitedWithCode(0), expected);
}
INSTANTIATE_TEST_SUITE_P(
    Words, LesserMachine,
    testing::Values(Lesser{"avx2", "backend=xbyak isa=avx512", "runtime.isa"}, Lesser{"avx2", "isa=avx2", ""},
                    Lesser{"avx2", "", ""}, Lesser{"sse2", "", "runtime.max_isa"},
                    Lesser{"sse2", "backend=reference", "runtime.max_isa"}, Lesser{"none", "", "runtime.isa"},
                    Lesser{"none", "isa=avx2", "runtime.isa"},
                    Lesser{"none", "backend=interpreter isa=avx512", ""},
                    Lesser{"none", "backend=interpreter", ""}, Lesser{"none", "backend=reference", ""}));

// What compiling gives there: the engine, or the error's id.
class Fallback : public testing::TestWithParam<Lesser> {};
TEST_P(Fallback, IsTheReferenceUnlessMachineCodeIsAskedFor) {
  const auto [limit, words, expected] = GetParam();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("POOLJIT_MAX_ISA", limit, 1);
        const auto kernel =
            runtime::compile("max_pool2d(float32[1,2,4,4], kernel_size=2)", *parse_option_words(words));
        const std::string got = kernel ? std::string((*kernel)->code().info.backend) : kernel.error().id;
        const bool tells = kernel && (*kernel)->fallback() == "this machine cannot run avx2";
        std::fprintf(stderr, "%s%s", got.c_str(), tells ? " fallback" : "");
        std::exit(0);
      },
      testing::ExitedWithCode(0), std::string("^") + expected + "$");
}
INSTANTIATE_TEST_SUITE_P(Words, Fallback,
                         testing::Values(Lesser{"none", "", "reference fallback"},
                                         Lesser{"none", "measure=3 threads=2 names=perf",
                                                "reference fallback"},
                                         Lesser{"none", "verify=1", "reference fallback"},
                                         Lesser{"none", "fallback=never", "runtime.isa"},
                                         Lesser{"none", "isa=avx2", "runtime.isa"},
                                         Lesser{"none", "schedule=channels_first(lanes=8)", "runtime.isa"},
                                         Lesser{"none", "backend=xbyak", "runtime.isa"},
                                         Lesser{"none", "backend=reference", "reference"}));

}  // namespace
}  // namespace pooljit::runtime
