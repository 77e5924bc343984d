// `pooljit schedules` and `pooljit tune`: what they print, and that the database survives whatever happens.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/tuner.h"
#include "runtime/tuning/store.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::read_file;
using test::shell;
using test::TempFolder;
using test::write_file;

constexpr const char* small = "max_pool1d(float32[1,3,40], kernel_size=2)";

std::string with_width(int width) {
  return "max_pool1d(float32[1,3," + std::to_string(width) + "], kernel_size=2)";
}

runtime::TuneEntry entry_for(const std::string& spec) {
  runtime::TuneEntry entry = *runtime::tune_key(spec, {.threads = 1});
  entry.schedule = "channels_last(lanes=1, scan=windows, tap_code=straight, tail=mask)";
  entry.proof = "default";
  return entry;
}

TEST(Schedules, AreListedWithPredictions) {
  const TempFolder folder;
  const std::string command = std::string("$P schedules '") + small + "' --isa avx2 --costs --json --all";
  const Outcome outcome = shell(command, folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["isa"], "avx2");
  int legal = 0, illegal = 0;
  for (const auto& row : json["schedules"]) {
    ++(row["legal"] ? legal : illegal);
    if (row["legal"]) {
      EXPECT_GT(row["predicted_seconds"], 0);
      EXPECT_GT(row["loads_per_output"], 0);
    } else {
      EXPECT_TRUE(std::string(row["id"]).starts_with("schedule.")) << row;
      EXPECT_FALSE(std::string(row["why"]).empty());
    }
  }
  EXPECT_GT(legal, 1);
  EXPECT_GT(illegal, 1);
  EXPECT_EQ(shell(command, folder).out, outcome.out);
}

TEST(Schedules, TheTableNamesTheDefault) {
  const TempFolder folder;
  for (const char* options : {"--all", "--all --costs"}) {
    const Outcome outcome = shell(std::string("$P schedules '") + small + "' " + options, folder);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("(default)"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("not legal: schedule."), std::string::npos) << outcome.out;
  }
  EXPECT_EQ(shell("$P schedules 'max_unpool2d(float32[1,1,2,2], kernel_size=2)'", folder).exit, 4);
}

// Several pools: how they go together, then each as alone.
TEST(Schedules, SaysWhySeveralPoolsGoTogetherAsTheyDo) {
  const TempFolder folder;
  const struct {
    const char *members, *because;
  } all[] = {
      {"float32[1,8,64,64], avg_pool2d(2), max_pool2d(2)", "the windows are the same"},
      {"float32[1,8,19,19], max_pool2d(5, 1, 2), max_pool2d(9, 1, 4)", "made of the results of smaller ones"},
      {"float32[1,8,9,9], max_pool2d(2), avg_pool2d(3)", "the whole tensor"},
      {"float32[1,2048,60,60], adaptive_avg_pool2d(1), adaptive_avg_pool2d(2)", "groups of channels"}};
  for (const auto& one : all) {
    const std::string command = std::string("$P schedules 'pools(") + one.members + ")' --isa avx2 --why";
    const Outcome outcome = shell(command, folder);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(one.because), std::string::npos) << outcome.out;
    const auto json = nlohmann::json::parse(shell(command + " --json", folder).out);
    EXPECT_NE(json["decided_by"].get<std::string>().find(one.because), std::string::npos);
    EXPECT_EQ(json["members"].size(), 2U);
    EXPECT_TRUE(json["members"][0]["why"].contains("families"));
  }
}

TEST(Tune, GivesEachOfSeveralPoolsItsOperands) {
  const TempFolder folder;
  const Outcome outcome = shell(
      "$P tune 'pools(float32[1,4,8,8], max_pool2d(2, epilogue=[mul_channel]), avg_pool2d(2, "
      "epilogue=[add]))' "
      "--db $T/db --threads 1 --time-budget 0.2",
      folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_EQ(runtime::read_tune_database(folder / "db")->entries.size(), 1U);
}

// An entry of measure= is taken by compiles, not by the tuner, which proves.
TEST(Tune, MeasuresAgainWhatWasMeasuredAtFirstUse) {
  const TempFolder folder;
  runtime::TuneEntry entry = entry_for(small);
  entry.proof = runtime::measured_proof;
  ASSERT_TRUE(runtime::store_entries(folder / "db", {entry}));
  const Outcome outcome =
      shell(std::string("$P tune '") + small + "' --db $T/db --threads 1 --time-budget 0.2", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 tuned, 0 had a fresh entry"), std::string::npos) << outcome.out;
  const auto database = runtime::read_tune_database(folder / "db");
  ASSERT_EQ(database->entries.size(), 1U);
  EXPECT_NE(database->entries[0].proof, runtime::measured_proof);
}

TEST(Tune, RemembersAndResumes) {
  const TempFolder folder;
  write_file(folder / "specs.txt", std::string("first\t") + small + "\nsecond\t" + with_width(50) +
                                       "\nwrong\tmax_pool1d(float32[1,3,9], kernel_size=0)\n");
  const char* command = "$P tune --file $T/specs.txt --db $T/db --threads 1 --time-budget 2";
  const Outcome first = shell(command, folder);
  EXPECT_EQ(first.exit, 3) << first.out << first.err;
  EXPECT_EQ(first.err, "");  // quiet in a pipe
  EXPECT_NE(first.out.find("wrong: spec.kernel_size"), std::string::npos) << first.out;
  EXPECT_NE(first.out.find("3 of 3 specs: 2 tuned, 0 had a fresh entry, 1 failed"), std::string::npos)
      << first.out;
  EXPECT_EQ(runtime::read_tune_database(folder / "db")->entries.size(), 2U);

  const Outcome second = shell(command, folder);
  EXPECT_NE(second.out.find("0 tuned, 2 had a fresh entry"), std::string::npos) << second.out;
  const Outcome again = shell(std::string(command) + " --again", folder);
  EXPECT_NE(again.out.find("2 tuned, 0 had a fresh entry"), std::string::npos) << again.out;
  EXPECT_EQ(runtime::read_tune_database(folder / "db")->entries.size(), 2U);

  const Outcome used =
      shell(std::string("$P bench '") + small + "' --threads 1 --tune-db $T/db --json", folder);
  ASSERT_EQ(used.exit, 0) << used.err;
  EXPECT_EQ(nlohmann::json::parse(used.out)["schedule_origin"], "tuned: " + (folder / "db"));
}

TEST(Tune, LeavesAnotherKindOfFileAlone) {
  const TempFolder folder;
  write_file(folder / "db", "precious\n");
  const Outcome outcome = shell(std::string("$P tune '") + small + "' --db $T/db --time-budget 0.1", folder);
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_NE(outcome.err.find("tune.format"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_file(folder / "db"), "precious\n");
}

TEST(Tune, BadLinesAreNamedAndGo) {
  const TempFolder folder;
  write_file(folder / "db", std::string(runtime::tune_header) + "\nnonsense\n");
  const Outcome outcome =
      shell(std::string("$P tune '") + small + "' --db $T/db --threads 1 --time-budget 0.1", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("line 2 is ignored"), std::string::npos) << outcome.err;
  EXPECT_TRUE(runtime::read_tune_database(folder / "db")->ignored.empty());
}

TEST(Tune, CtrlCKeepsWhatItHas) {
  const TempFolder folder;
  std::string specs = std::string(small) + "\n";
  for (int width = 100; width < 200; ++width) specs += with_width(width) + "\n";
  write_file(folder / "specs.txt", specs);
  const Outcome outcome = shell(
      "$P tune --file $T/specs.txt --db $T/db --threads 1 --time-budget 60 & pid=$!\n"
      "until [ -s $T/db ]; do sleep 0.05; done\n"
      "kill -TERM $pid; wait $pid",
      folder);
  EXPECT_EQ(outcome.exit, 130) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find(" of 101 specs: "), std::string::npos) << outcome.out;
  const auto database = runtime::read_tune_database(folder / "db");
  ASSERT_TRUE(database);
  EXPECT_GE(database->entries.size(), 1U);
  EXPECT_LT(database->entries.size(), 101U);
}

TEST(Tune, KilledTenTimesTheDatabaseIsWholeAndTuningGoesOn) {
  const TempFolder folder;
  std::string specs;
  for (int width = 10; width < 210; ++width) specs += with_width(width) + "\n";
  write_file(folder / "specs.txt", specs);
  size_t entries = 0;
  for (int i = 0; i < 10; ++i) {
    const double seconds = 0.1 + 0.037 * i;
    shell("$P tune --file $T/specs.txt --db $T/db --threads 1 --time-budget 2 & pid=$!\nsleep " +
              std::to_string(seconds) + "; kill -KILL $pid; wait $pid",
          folder);
    if (!std::filesystem::exists(folder / "db")) continue;
    const auto database = runtime::read_tune_database(folder / "db");
    ASSERT_TRUE(database) << to_string(database.error());
    EXPECT_TRUE(database->ignored.empty());
    EXPECT_GE(database->entries.size(), entries);  // nothing is lost
    entries = database->entries.size();
  }
  const Outcome rest = shell("$P tune --file $T/specs.txt --db $T/db --threads 1 --time-budget 1", folder);
  EXPECT_EQ(rest.exit, 0) << rest.out;
  EXPECT_GE(runtime::read_tune_database(folder / "db")->entries.size(), std::max(entries, size_t{1}));
  EXPECT_NE(rest.out.find(std::to_string(entries) + " had a fresh entry"), std::string::npos) << rest.out;
}

TEST(TuneStore, ConcurrentWritersLoseNothing) {
  const TempFolder folder;
  const std::string path = folder / "db";
  std::vector<pid_t> children;
  constexpr int writers = 8, each = 10;
  for (int writer = 0; writer < writers; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < each; ++i)
        if (!runtime::store_entries(path, {entry_for(with_width(10 + writer * each + i))})) _exit(1);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto database = runtime::read_tune_database(path);
  ASSERT_TRUE(database);
  EXPECT_EQ(database->entries.size(), size_t{writers * each});
  EXPECT_TRUE(database->ignored.empty());
}

TEST(TuneStore, ALinkStaysOne) {
  const TempFolder folder;
  ASSERT_TRUE(runtime::store_entries(folder / "real", {}));
  std::filesystem::create_symlink(folder / "real", folder / "link");
  ASSERT_TRUE(runtime::store_entries(folder / "link", {entry_for(small)}));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(runtime::read_tune_database(folder / "real")->entries.size(), 1U);
  EXPECT_EQ(runtime::store_entries(folder / "no/such/folder/db", {}).error().id, "file.create");
}

}  // namespace
}  // namespace pooljit::tools
