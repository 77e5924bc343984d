// The tuning database as others may leave it, and compile() with it.
#include "runtime/tuning/database.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "lab/tuner.h"
#include "runtime/compile.h"
#include "runtime/options.h"
#include "runtime/tuning/choose.h"
#include "tools/temp_folder.h"

namespace pooljit::runtime {
namespace {

using test::TempFolder;
using test::write_file;

constexpr const char* spec = "max_pool2d(float32[1,8,20,20]:nhwc, kernel_size=3)";
constexpr const char* tuned = "channels_last(lanes=4, scan=windows, tap_code=straight, tail=mask)";
const Options one_thread = {.threads = 1};

// An entry for `spec` that this machine would use.
TuneEntry own_entry() {
  TuneEntry entry = *tune_key(spec, one_thread);
  entry.schedule = tuned;
  entry.seconds = 1e-6;
  entry.spread = 0.01;
  entry.default_seconds = 2e-6;
  entry.proof = "verify";
  return entry;
}

std::string text_of(const TuneEntry& entry) { return std::string(tune_header) + "\n" + print(entry) + "\n"; }

TEST(TuneDatabase, PrintsAndParsesBack) {
  const std::string text = text_of(own_entry());
  const auto database = parse_tune_database(text);
  ASSERT_TRUE(database);
  EXPECT_TRUE(database->ignored.empty());
  EXPECT_EQ(print(*database), text);
}

TEST(TuneDatabase, ALineThatIsNoEntryIsIgnoredWithAReason) {
  const std::string line = print(own_entry());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = line;
    return changed.replace(changed.find(from), from.size(), to);
  };
  const struct {
    std::string line, reason;
  } table[] = {
      {"", "1 fields instead of 12"},
      {"a\tb", "2 fields"},
      {line + "\tmore", "13 fields"},
      {with("\t1\tavx", "\t0\tavx"), "threads '0'"},
      {with("\t1\tavx", "\tmany\tavx"), "threads 'many'"},
      {with("lanes=4", "lanes=four"), "unknown schedule"},
      {with("channels_last(", "spiral("), "unknown schedule"},
      {with("1e-06", "nan"), "'nan' is no number"},
      {with("1e-06", "inf"), "'inf' is no number"},
      {with("1e-06", "-1"), "'-1' is no number"},
      {with("1e-06", "1e-06x"), "no number"},
      {with("verify", "believe"), "'believe' is no kind of proof"},
      {with("max_pool2d", std::string("max\0pool", 8)), "no printable text"},
      {with("max_pool2d", "\x80"), "no printable text"},
      {line + std::string(1 << 20, 'x'), "too long"},
  };
  for (const auto& row : table) {
    const auto database =
        parse_tune_database(std::string(tune_header) + "\n" + row.line + "\n" + line + "\n");
    ASSERT_TRUE(database);
    EXPECT_EQ(database->entries.size(), 1U) << row.reason;
    ASSERT_EQ(database->ignored.size(), 1U) << row.reason;
    EXPECT_EQ(database->ignored[0].line, 2);
    EXPECT_NE(database->ignored[0].reason.find(row.reason), std::string::npos) << database->ignored[0].reason;
  }
}

TEST(TuneDatabase, AnotherKindOfFileIsRefused) {
  for (const std::string text : {"", "\n", "pooljit tuning database 2\n",
                                 "\x7f"
                                 "ELF",
                                 "pooljit tuning database 1x\n"})
    EXPECT_EQ(parse_tune_database(text).error().id, "tune.format") << text;
  const TempFolder folder;
  EXPECT_EQ(read_tune_database(folder / "missing").error().id, "tune.open");
  EXPECT_EQ(read_tune_database(folder.path()).error().id, "tune.format");
  EXPECT_EQ(read_tune_database("/dev/zero").error().id, "tune.format");
}

TEST(TuneDatabase, NoDamageCrashes) {
  const std::string whole = text_of(own_entry()) + print(own_entry()) + "\n";
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (int damage = 0; damage <= i % 4; ++damage) {
      const size_t at = tune_header.size() + 1 + random() % (text.size() - tune_header.size() - 1);
      if (random() % 8 == 0)
        text.resize(at);
      else
        text[at] = static_cast<char>(random());
      if (text.size() <= tune_header.size() + 1) break;
    }
    const auto database = parse_tune_database(text);
    ASSERT_TRUE(database);
    for (const TuneEntry& entry : database->entries) {
      const auto again = parse_tune_entry(print(entry));
      ASSERT_TRUE(again) << print(entry);
      EXPECT_EQ(print(*again), print(entry));
    }
  }
}

TEST(TuneDatabase, TheLastLineOfAKeyCounts) {
  TuneEntry later = own_entry();
  later.seconds = 3e-6;
  const auto database = parse_tune_database(text_of(own_entry()) + print(later) + "\n");
  ASSERT_EQ(database->entries.size(), 1U);
  EXPECT_EQ(database->entries[0].seconds, 3e-6);
}

TEST(TuneDatabase, ForeignAndStaleEntriesAreIgnoredWithAReason) {
  const struct {
    std::string TuneEntry::*field;
    std::string value, reason;
  } table[] = {
      {&TuneEntry::signature, "max_pool1d(float32[8,20], kernel_size=3)", "no entry for this spec"},
      {&TuneEntry::cpu, "Another CPU", "another machine: Another CPU"},
      {&TuneEntry::caches, "1K 2K 3K", "another machine"},
      {&TuneEntry::isa, "avx9", "measured for xbyak avx9"},
      {&TuneEntry::backend, "other", "measured for other"},
      {&TuneEntry::version, "0.0.1", "measured by pooljit 0.0.1"},
  };
  for (const auto& row : table) {
    TuneDatabase database{.entries = {own_entry()}, .ignored = {}};
    EXPECT_NE(look_up(database, own_entry()).entry, nullptr);
    database.entries[0].*row.field = row.value;
    const TuneLookup found = look_up(database, own_entry());
    EXPECT_EQ(found.entry, nullptr) << row.reason;
    EXPECT_NE(found.reason.find(row.reason), std::string::npos) << found.reason;
  }
  TuneDatabase database{.entries = {own_entry()}, .ignored = {}};
  database.entries[0].threads = 7;
  EXPECT_EQ(look_up(database, own_entry()).reason, "measured with 7 threads");
}

// --- compile

class TunedCompile : public testing::Test {
 protected:
  TempFolder folder_;
  // The name is new for each test: kernels are remembered by it.
  std::string path_ = folder_ / "tuned.db";
  Options with_database() const {
    Options options = one_thread;
    options.tune_db = path_;
    return options;
  }
  ~TunedCompile() override { unsetenv("POOLJIT_TUNE_DB"); }
};

TEST_F(TunedCompile, TakesTheSchedule) {
  write_file(path_, text_of(own_entry()));
  const auto kernel = runtime::compile(spec, with_database());
  ASSERT_TRUE(kernel) << to_string(kernel.error());
  EXPECT_EQ((*kernel)->code().info.schedule, tuned);
  EXPECT_EQ((*kernel)->schedule_origin(), "tuned: " + path_);
  const auto untuned = runtime::compile(spec, one_thread);
  EXPECT_NE((*untuned)->code().info.schedule, tuned);
  EXPECT_EQ((*untuned)->schedule_origin(), "the default");
  EXPECT_NE(&(*kernel)->code(), &(*untuned)->code());
  // Code is known by its schedule, wherever that came from.
  Options asked = one_thread;
  asked.schedule = tuned;
  EXPECT_EQ(&(*runtime::compile(spec, asked))->code(), &(*kernel)->code());
}

TEST_F(TunedCompile, TheEnvironmentNamesTheFile) {
  write_file(path_, text_of(own_entry()));
  setenv("POOLJIT_TUNE_DB", path_.c_str(), 1);
  EXPECT_EQ((*runtime::compile(spec, one_thread))->code().info.schedule, tuned);
  setenv("POOLJIT_TUNE_DB", (folder_ / "missing").c_str(), 1);
  const auto kernel = runtime::compile(spec, one_thread);
  ASSERT_TRUE(kernel);
  EXPECT_NE((*kernel)->code().info.schedule, tuned);
  EXPECT_NE((*kernel)->schedule_origin().find("cannot open"), std::string::npos)
      << (*kernel)->schedule_origin();
}

TEST_F(TunedCompile, AnOptionNamesAFileThatIsThere) {
  EXPECT_EQ(runtime::compile(spec, with_database()).error().id, "tune.open");
  write_file(path_, "something else\n");
  EXPECT_EQ(runtime::compile(spec, with_database()).error().id, "tune.format");
}

TEST_F(TunedCompile, AnIllegalScheduleIsNotTaken) {
  TuneEntry entry = own_entry();
  entry.schedule = "channels_first(lanes=16, scan=tap_by_tap, tap_code=straight, tail=mask)";
  write_file(path_, text_of(entry));
  const auto kernel = runtime::compile(spec, with_database());
  ASSERT_TRUE(kernel);
  EXPECT_NE((*kernel)->code().info.schedule, entry.schedule);
  EXPECT_NE((*kernel)->schedule_origin().find("does not suit the spec"), std::string::npos)
      << (*kernel)->schedule_origin();
}

TEST_F(TunedCompile, AForeignEntryIsNotTaken) {
  TuneEntry entry = own_entry();
  entry.cpu = "Another CPU";
  write_file(path_, text_of(entry));
  EXPECT_NE((*runtime::compile(spec, with_database()))->schedule_origin().find("another machine"),
            std::string::npos);
}

TEST_F(TunedCompile, WhatIsAskedForWeighsMore) {
  write_file(path_, text_of(own_entry()));
  Options options = with_database();
  options.schedule = "channels_last(lanes=8, scan=windows, tap_code=straight, tail=mask)";
  EXPECT_EQ((*runtime::compile(spec, options))->code().info.schedule, options.schedule);
}

TEST_F(TunedCompile, IsProvedWhereProofsAreWanted) {
  write_file(path_, text_of(own_entry()));
  Options options = with_database();
  options.verify = true;
  const auto kernel = runtime::compile(spec, options);
  ASSERT_TRUE(kernel) << to_string(kernel.error());
  EXPECT_EQ((*kernel)->code().info.schedule, tuned);
  EXPECT_NE((*kernel)->code().info.proof.find(tuned), std::string::npos);
}

TEST_F(TunedCompile, AFileThatChangedIsReadAgain) {
  write_file(path_, text_of(own_entry()));
  EXPECT_EQ((*compile_uncached(spec, with_database()))->code().info.schedule, tuned);
  write_file(path_, std::string(tune_header) + "\n");
  EXPECT_NE((*compile_uncached(spec, with_database()))->code().info.schedule, tuned);
}

// --- tuner

TEST(Tuner, OnlyMoreThanTheNoiseOfBothIsFaster) {
  const Timing holder{.median = 100, .first_quartile = 95, .third_quartile = 105};  // spread 5 %
  const auto timing = [](double median) {
    return Timing{.median = median, .first_quartile = median * 0.98, .third_quartile = median * 1.02};
  };
  EXPECT_FALSE(is_clearly_faster(timing(100), holder));
  EXPECT_FALSE(is_clearly_faster(timing(94), holder));
  EXPECT_TRUE(is_clearly_faster(timing(90), holder));
  EXPECT_FALSE(is_clearly_faster(holder, holder));
}

TEST(Tuner, FindsAnEntryThatCompiles) {
  const char* text = "max_pool1d(float32[2,3,40], kernel_size=2)";
  const auto result = tune(text, one_thread, {.seconds = 0.05});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_GT(result->measured, 0U);
  EXPECT_TRUE(parse_tune_entry(print(result->entry))) << print(result->entry);
  Options options = one_thread;
  options.schedule = result->entry.schedule;
  EXPECT_TRUE(runtime::compile(text, options));
}

TEST(Tuner, RefusesWhatHasNothingToTune) {
  const auto error = [](const char* text, const Options& options) {
    const auto result = tune(text, options, {.seconds = 0.01});
    return result ? "" : result.error().id;
  };
  Options interpreted = one_thread;
  interpreted.backend = "interpreter";
  EXPECT_EQ(error(spec, interpreted), "tune.backend");
  EXPECT_EQ(error("max_unpool2d(float32[1,1,2,2], kernel_size=2)", one_thread), "schedule.unpool");
  EXPECT_EQ(error("max_pool1d(float32[0,3,40], kernel_size=2)", one_thread), "tune.empty");
  EXPECT_EQ(error("max_pool1d(float32[1,3,40], kernel_size=0)", one_thread), "spec.kernel_size");
  const auto stopped = tune(spec, one_thread, {.seconds = 1, .stopped = [] { return true; }});
  EXPECT_EQ(stopped.error().id, "tune.stopped");
}

}  // namespace
}  // namespace pooljit::runtime
