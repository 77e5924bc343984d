// Rows of samples: what `pooljit evaluate` answers, and the file that `pooljit tune --samples` goes on with.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "runtime/compile.h"
#include "runtime/tuning/store.h"
#include "tools/examiner.h"
#include "tools/sample_file.h"
#include "tools/sample_rows.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using namespace of_tuners;
using test::Outcome;
using test::read_file;
using test::shell;
using test::TempFolder;

TEST(Evaluate, AnswersEachLine) {
  const TempFolder folder;
  const Outcome outcome = shell(
      "printf '%s\\n' 'channels_last(lanes=1)' '' '{\"family\": \"channels_last\", \"lanes\": 1, \"tail\": "
      "\"split\"}' "
      "'{\"schedule\": \"channels_last(lanes=1)\"}' 'channels_last(lanes=3)' | " +
          on("evaluate", "--threads 1 --seconds 0.002 --proof verify"),
      folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  std::vector<Json> rows = lines(outcome.out);
  ASSERT_EQ(rows.size(), 4U);
  for (const Json& row : rows) expect_description(row, layer);
  EXPECT_EQ(rows[3]["status"], "refused");
  rows.pop_back();
  for (const Json& row : rows) {
    expect_measurement(row);
    EXPECT_EQ(row["proof"]["verdict"], "proved") << row;
    EXPECT_FALSE(row["default"]);
  }
  EXPECT_EQ(rows[0]["schedule"], rows[2]["schedule"]);
  const Outcome standard = shell("echo '" + rows[0]["reference"]["schedule"].get<std::string>() + "' | " +
                                     on("evaluate", "--threads 1 --seconds 0.002 --proof none"),
                                 folder);
  EXPECT_TRUE(Json::parse(standard.out)["default"]) << standard.out;
}

TEST(Evaluate, ComparesAndRefusesWhatIsNoWork) {
  const TempFolder folder;
  for (const char* what : {layer, "avg_pool2d_backward(float32[1,2,6,6], kernel_size=2)",
                           "avg_pool2d(float32[1,2,6,6], kernel_size=2, epilogue=[add(float32), relu])"}) {
    const Outcome outcome = shell(
        "echo 'channels_last(lanes=1)' | " + on("evaluate", "--threads 1 --seconds 0.002", what), folder);
    EXPECT_EQ(outcome.exit, 0) << what << outcome.out << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["proof"]["verdict"], "checked") << outcome.out;
  }
  EXPECT_EQ(shell(on("evaluate", "", "max_pool1d(float32[0,3,9], kernel_size=2)"), folder).exit, 3);
  EXPECT_EQ(shell(on("evaluate", "--backend interpreter"), folder).exit, 4);
}

// Apart and in one tensor, with indices and operands of their own.
TEST(Evaluate, ComparesAndProvesSeveralPools) {
  const TempFolder folder;
  for (const char* what :
       {several,
        "pools(float32[2,3,6,6]:nhwc, max_pool2d(2, return_indices=True), min_pool2d(3, "
        "return_indices=True))",
        "pools(float32[1,4,6,6], max_pool2d(2, epilogue=[mul_channel]), avg_pool2d(2, epilogue=[add]))"}) {
    const Json space = Json::parse(shell(on("schedules", "--json", what), folder).out);
    std::string configurations;
    for (const Json& row : {space["schedules"].front(), space["schedules"].back()})
      configurations += row["parameters"].dump() + "\n";
    test::write_file(folder / "configurations", configurations);
    for (const auto& [proof, verdict] : {std::pair("compare", "checked"), std::pair("verify", "proved")}) {
      const Outcome outcome =
          shell(on("evaluate", "--threads 1 --seconds 0.001 --proof ", what) + proof + " <$T/configurations",
                folder);
      ASSERT_EQ(outcome.exit, 0) << what << outcome.out << outcome.err;
      const std::vector<Json> rows = lines(outcome.out);
      ASSERT_EQ(rows.size(), 2U);
      for (const Json& row : rows) EXPECT_EQ(row["proof"]["verdict"], verdict) << row;
    }
  }
}

// The comparison of several pools can fail: a kernel whose results are others'.
TEST(Evaluate, SeesAWrongResultOfOnePool) {
  const auto make = [](const std::string& spec) {
    auto kernel = runtime::compile_uncached(spec, {.threads = 1});
    EXPECT_TRUE(kernel) << ir::to_string(kernel.error());
    return *kernel;
  };
  const runtime::KernelPtr right = make("pools(float32[1,2,6,6], max_pool2d(2), avg_pool2d(3))"),
                           wrong = make("pools(float32[1,2,6,6], max_pool2d(2), max_pool2d(3))");
  auto examiner = Examiner::make(*right, {.threads = 1}, Verdict::compare);
  ASSERT_TRUE(examiner);
  const Json found = *examiner->examine(*wrong);
  EXPECT_EQ(found["verdict"], "wrong");
  EXPECT_NE(found["why"].get<std::string>().find("pool 1"), std::string::npos) << found;
  EXPECT_EQ((*examiner->examine(*right))["verdict"], "checked");
}

// A sweep goes on row by row, behind a line that was cut off, and not while another process writes.
TEST(Samples, ASweepGoesOnWhereItStopped) {
  const TempFolder folder;
  const std::string sweep = on("tune",
                               "--exhaustive --seconds 0.0001 --skip-scalar --proof none --samples $T/s "
                               "--threads 1 --isa avx2 --json",
                               "max_pool2d(float32[1,3,9,20], kernel_size=3)' "
                               "'avg_pool2d(uint8[2,24,8,8]:nhwc, kernel_size=2)");
  const Outcome first = shell(sweep, folder);
  ASSERT_EQ(first.exit, 0) << first.err;
  const std::string all = read_file(folder / "s");
  const std::vector<Json> rows = lines(all);
  ASSERT_EQ(rows.size(), rows.front()["space"].get<size_t>() + rows.back()["space"].get<size_t>());
  for (const Json& row : rows) EXPECT_NE(row["parameters"]["lanes"], 1) << row;
  EXPECT_FALSE(std::filesystem::exists(folder / "db"));

  const size_t kept = rows.front()["space"].get<size_t>() / 2;
  size_t whole = 0;
  for (size_t i = 0; i < kept; ++i) whole = all.find('\n', whole) + 1;
  test::write_file(folder / "s", all.substr(0, whole + 40));
  const Outcome second = shell(sweep, folder);
  ASSERT_EQ(second.exit, 0) << second.err;
  EXPECT_NE(second.err.find("40 bytes"), std::string::npos) << second.err;
  const std::vector<Json> again = lines(read_file(folder / "s"));
  ASSERT_EQ(again.size(), rows.size());
  std::set<std::string> seen;
  for (const Json& row : again)
    seen.insert(row["spec"].get<std::string>() + row["schedule"].get<std::string>());
  EXPECT_EQ(seen.size(), rows.size());

  const std::string before = read_file(folder / "s");
  EXPECT_NE(shell(sweep, folder).out.find("\"fresh\":2"), std::string::npos);
  EXPECT_EQ(read_file(folder / "s"), before);
  const auto held = SampleFile::open(folder / "s");
  ASSERT_TRUE(held);
  const Outcome locked = shell(sweep, folder);
  EXPECT_EQ(locked.exit, 5);
  EXPECT_NE(locked.err.find("tune.locked"), std::string::npos) << locked.err;
}

// Ctrl-C leaves whole rows, and what they are about is not measured again.
TEST(Samples, CtrlCKeepsWhatASweepHas) {
  const TempFolder folder;
  std::string layers;
  for (int width = 40; width < 60; ++width)
    layers += "max_pool1d(float32[1,3," + std::to_string(width) + "], kernel_size=2)\n";
  test::write_file(folder / "layers", layers);
  const std::string sweep =
      "$P tune --file $T/layers --threads 1 --exhaustive --seconds 0.0005 --proof none --samples $T/s";
  const Outcome stopped = test::interrupted(sweep, folder);
  EXPECT_EQ(stopped.exit, 130) << stopped.out << stopped.err;
  const size_t kept = lines(read_file(folder / "s")).size();
  ASSERT_EQ(shell(sweep + " --json", folder).exit, 0);
  const std::vector<Json> rows = lines(read_file(folder / "s"));
  EXPECT_LT(kept, rows.size());
  std::set<std::string> seen;
  for (const Json& row : rows)
    EXPECT_TRUE(seen.insert(row["spec"].dump() + row["schedule"].dump()).second) << row;
}

// Without a budget every row is proved, whatever that takes; the search has its own time.
TEST(Samples, OfASearchAreProvedWhenItIsOver) {
  const TempFolder folder;
  const Outcome outcome =
      shell(on("tune", "--db $T/db --threads 1 --samples $T/s --seconds 0.0002 --json"), folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  const std::vector<Json> rows = lines(read_file(folder / "s"));
  EXPECT_EQ(rows.size(), lines(outcome.out)[0]["measured"].get<size_t>() + 1);
  for (const Json& row : rows) EXPECT_EQ(row["proof"]["verdict"], "proved") << row;
}

TEST(Samples, WhatIsNoFileOfSamplesIsLeftAlone) {
  const TempFolder folder;
  const std::string sweep = on("tune", "--proof none --samples $T/s --threads 1");
  test::write_file(folder / "s", "my letters\nto nobody\n");
  EXPECT_EQ(shell(sweep, folder).exit, 3);
  EXPECT_EQ(read_file(folder / "s"), "my letters\nto nobody\n");
  std::filesystem::remove(folder / "s");
  std::filesystem::create_directory(folder / "s");
  EXPECT_EQ(shell(sweep, folder).exit, 5);
  EXPECT_EQ(shell(on("tune", "--proof none --threads 1"), folder).exit, 2);  // what would be left of it?
}

// Proofs are part of what the time is for; rows that it does not suffice for say so.
TEST(Samples, TheTimeHoldsWithSamples) {
  const TempFolder folder;
  const Outcome outcome =
      shell(on("tune", "--db $T/db --exhaustive --threads 1 --samples $T/s --time-budget 0.02"), folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("the same command goes on"), std::string::npos) << outcome.out;
  const std::vector<Json> rows = lines(read_file(folder / "s"));
  ASSERT_FALSE(rows.empty());
  EXPECT_LT(rows.size(), rows.front()["space"]);
  EXPECT_TRUE(runtime::load_entries(folder / "db")->entries.empty());
}

}  // namespace
}  // namespace pooljit::tools
