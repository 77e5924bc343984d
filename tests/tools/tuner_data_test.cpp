// What tuners get as data: `pooljit schedules --json`, `pooljit evaluate`, and the files of `pooljit tune`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ir/schedule_text.h"
#include "runtime/tuning/store.h"
#include "runtime/tuning/tuner.h"
#include "tools/schedule_space.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::read_file;
using test::shell;
using test::TempFolder;
using Json = nlohmann::ordered_json;

constexpr const char* layer = "max_pool2d(float32[1,3,9,20], kernel_size=3, stride=2, padding=1)";

std::string on(const std::string& command, const std::string& options, const char* what = layer) {
  return "$P " + command + " '" + what + "' " + options;
}

std::vector<Json> lines(const std::string& text) {
  std::vector<Json> rows;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) rows.push_back(Json::parse(line));
  return rows;
}

// Every way to give each parameter a value that no constraint forbids, each drawn from what those before
// allow.
void draw_all(const Json& space, std::vector<Json>& drawn, std::set<std::string>& found) {
  const Json& parameters = space["parameters"];
  if (drawn.size() == parameters.size()) {
    found.insert(Json(drawn).dump());
    return;
  }
  bool is_stuck = true;
  for (const Json& value : parameters[drawn.size()]["values"]) {
    drawn.push_back(value);
    bool is_allowed = true;
    for (const Json& constraint : space["constraints"])
      if (constraint["parameters"].size() == drawn.size()) {
        const Json& rows = constraint["allowed"];
        is_allowed = std::ranges::find(rows, Json(drawn)) != rows.end();
      }
    if (is_allowed) {
      is_stuck = false;
      draw_all(space, drawn, found);
    }
    drawn.pop_back();
  }
  EXPECT_FALSE(is_stuck) << Json(drawn);
}

TEST(Schedules, AreASpaceInWhichNoDrawIsInVain) {
  for (const char* what : {layer, "avg_pool2d(uint8[2,24,8,8]:nhwc, kernel_size=2)",
                           "max_pool1d(float64[1,1,300], kernel_size=9, stride=1)"}) {
    SCOPED_TRACE(what);
    const TempFolder folder;
    const Outcome outcome = shell(on("schedules", "--isa avx2 --json", what), folder);
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    const Json space = Json::parse(outcome.out);
    std::set<std::string> legal, found;
    for (const Json& row : space["schedules"]) {
      std::vector<Json> values;
      for (const auto& [name, value] : row["parameters"].items()) values.push_back(value);
      legal.insert(Json(values).dump());
      EXPECT_EQ(ir::print(*schedule_of(row["parameters"].dump())), row["schedule"]);
    }
    std::vector<Json> drawn;
    draw_all(space, drawn, found);
    EXPECT_EQ(found, legal);
  }
}

TEST(Schedules, ARefusalHasOneFormAndOneExitCode) {
  const struct {
    const char *schedule, *id;
  } table[] = {{"nonsense", "schedule.text"},
               {"{\"lanes\": ", "schedule.text"},
               {"channels_first(lanes=3)", "schedule.lanes"},
               {"{\"family\": \"separable\"}", "schedule.windows"},
               {"channels_first(lanes=1, unroll=99)", "schedule.unroll"}};
  for (const auto& row : table) {
    SCOPED_TRACE(row.schedule);
    const TempFolder folder;
    const std::string quoted = std::string("'") + row.schedule + "'";
    const Outcome asked = shell(on("schedules", "--isa avx2 --json --schedule " + quoted), folder);
    EXPECT_EQ(asked.exit, 4) << asked.err;
    const Outcome evaluated =
        shell("echo " + quoted + " | " + on("evaluate", "--isa avx2 --threads 1"), folder);
    EXPECT_EQ(evaluated.exit, 0) << evaluated.err;
    for (const Outcome* outcome : {&asked, &evaluated}) {
      const Json json = Json::parse(outcome->out);
      EXPECT_EQ(json["status"], "refused");
      EXPECT_EQ(json["id"], row.id) << json;
      EXPECT_FALSE(json["why"].get<std::string>().empty());
    }
    const Outcome text = shell(on("schedules", "--isa avx2 --schedule " + quoted), folder);
    EXPECT_EQ(text.exit, 4);
    EXPECT_NE(text.err.find(row.id), std::string::npos) << text.err;
  }
}

TEST(Evaluate, AnswersEachLine) {
  const TempFolder folder;
  const Outcome outcome = shell(
      "printf '%s\\n' 'channels_last(lanes=1)' '' '{\"family\": \"channels_last\", \"lanes\": 1, \"tail\": "
      "\"split\"}' "
      "'{\"schedule\": \"channels_last(lanes=1)\"}' | " +
          on("evaluate", "--threads 1 --seconds 0.002 --proof verify"),
      folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  const std::vector<Json> rows = lines(outcome.out);
  ASSERT_EQ(rows.size(), 3U);
  for (const Json& row : rows) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_EQ(row["proof"]["verdict"], "proved") << row;
    EXPECT_GE(row["samples"].size(), 3U);
    EXPECT_GT(row["median"], 0);
    EXPECT_LE(row["first_quartile"], row["third_quartile"]);
    EXPECT_GT(row["compile_seconds"], 0);
    EXPECT_TRUE(row.contains("counters"));
  }
  EXPECT_EQ(rows[0]["schedule"], rows[2]["schedule"]);
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

std::string kind(const Json& value) { return value.is_number() ? "number" : value.type_name(); }

// Fields and their types, as the schemas of T4 1.0.0 and of Kernel Tuner's cache 1.1.0 have them.
void expect_fields(const Json& object, const std::vector<std::pair<const char*, const char*>>& fields) {
  for (const auto& [path, type] : fields) {
    const Json::json_pointer at(path);
    ASSERT_TRUE(object.contains(at)) << path << " in " << object;
    EXPECT_EQ(kind(object[at]), type) << path;
  }
}

// The entries of a cache file, each under the values of its parameters.
void expect_cache(const Json& file, size_t legal) {
  ASSERT_EQ(file["cache"].size(), legal);
  for (const auto& [key, entry] : file["cache"].items()) {
    expect_fields(entry, {{"/time", "number"},
                          {"/times", "array"},
                          {"/compile_time", "number"},
                          {"/verification_time", "number"},
                          {"/benchmark_time", "number"},
                          {"/strategy_time", "number"},
                          {"/framework_time", "number"},
                          {"/timestamp", "string"}});
    std::string joined;
    for (const Json& name : file["tune_params_keys"]) {
      const Json& value = entry[name.get<std::string>()];
      joined += (joined.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : value.dump());
    }
    EXPECT_EQ(joined, key);
  }
}

TEST(Tune, MeasuresAllAndExportsIt) {
  const TempFolder folder;
  const Outcome tuned = shell(
      on("tune", "--db $T/db --threads 1 --isa avx2 --exhaustive --time-budget 0.5 --samples $T/s --json"),
      folder);
  ASSERT_EQ(tuned.exit, 0) << tuned.out << tuned.err;
  const std::vector<Json> said = lines(tuned.out);
  ASSERT_EQ(said.size(), 2U);
  const size_t legal = said[0]["legal"];
  EXPECT_EQ(said[0]["measured"].get<size_t>() + 1, legal) << said[0];  // the default is measured beside each
  const std::vector<Json> rows = lines(read_file(folder / "s"));
  ASSERT_EQ(rows.size(), legal);
  for (const Json& row : rows) EXPECT_EQ(row["proof"]["verdict"], "proved") << row;

  const Outcome t4 = shell("$P tune --export t4 --samples $T/s", folder);
  ASSERT_EQ(t4.exit, 0) << t4.err;
  const Json results = Json::parse(t4.out);
  EXPECT_EQ(results["schema_version"], "1.0.0");
  ASSERT_EQ(results["results"].size(), legal);
  for (const Json& result : results["results"]) {
    expect_fields(result, {{"/timestamp", "string"},
                           {"/configuration", "object"},
                           {"/objectives", "array"},
                           {"/times/compilation_time", "number"},
                           {"/times/runtimes", "array"},
                           {"/times/framework", "number"},
                           {"/times/search_algorithm", "number"},
                           {"/times/validation", "number"},
                           {"/measurements/0/name", "string"},
                           {"/measurements/0/unit", "string"}});
    EXPECT_EQ(result["invalidity"], "correct");
    EXPECT_EQ(result["correctness"], 1.0);
  }

  const Outcome cache = shell("$P tune --export kernel-tuner --samples $T/s", folder);
  ASSERT_EQ(cache.exit, 0) << cache.err;
  const Json file = Json::parse(cache.out);
  expect_fields(file, {{"/schema_version", "string"},
                       {"/device_name", "string"},
                       {"/kernel_name", "string"},
                       {"/problem_size", "string"},
                       {"/tune_params_keys", "array"},
                       {"/tune_params", "object"},
                       {"/objective", "string"}});
  expect_cache(file, legal);
  EXPECT_EQ(Json::parse(shell("$P tune --export json --db $T/db", folder).out)["entries"].size(), 1U);
}

TEST(Tune, AWrongExportIsAnError) {
  const TempFolder folder;
  EXPECT_EQ(shell("$P tune --export t4", folder).exit, 2);
  EXPECT_EQ(shell("$P tune --export t4 --samples $T/none", folder).exit, 5);
  test::write_file(folder / "s", "{}\n");
  const Outcome outcome = shell("$P tune --export t4 --samples $T/s", folder);
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_NE(outcome.err.find("tune.samples"), std::string::npos) << outcome.err;
}

TEST(Tune, MergesDatabasesAndKeepsTheFaster) {
  const TempFolder folder;
  const auto store = [&](const char* file, const char* text, double seconds) {
    runtime::TuneEntry entry = *runtime::tune_key(text, {.threads = 1});
    entry.schedule = "channels_last(lanes=1, unroll=1, tail=mask, taps=unroll, order=row_major)";
    entry.proof = "verify";
    entry.seconds = seconds;
    ASSERT_TRUE(runtime::store_entries(folder / file, {entry}));
  };
  store("a", layer, 2);
  store("b", layer, 1);
  store("c", "max_pool1d(float32[1,3,40], kernel_size=2)", 3);
  const Outcome outcome = shell("$P tune --merge $T/a $T/b $T/c --db $T/all", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  const auto all = runtime::read_tune_database(folder / "all");
  ASSERT_EQ(all->entries.size(), 2U);
  EXPECT_EQ(all->entries[0].seconds, 1);
  EXPECT_EQ(shell("$P tune --merge $T/none --db $T/all", folder).exit, 5);
}

}  // namespace
}  // namespace pooljit::tools
