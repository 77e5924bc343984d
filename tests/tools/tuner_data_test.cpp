// What tuners get as data: `pooljit schedules --json`, and the exports of `pooljit tune`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "ir/schedule_text.h"
#include "lab/tuner.h"
#include "runtime/tuning/store.h"
#include "tools/sample_rows.h"
#include "tools/schedule_space.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::read_file;
using test::shell;
using test::TempFolder;

using namespace of_tuners;

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
      if (constraint["parameters"].back() == parameters[drawn.size() - 1]["name"]) {
        Json tuple = Json::array();
        for (size_t i = 0; i < drawn.size(); ++i)
          if (std::ranges::find(constraint["parameters"], parameters[i]["name"]) !=
              constraint["parameters"].end())
            tuple.push_back(drawn[i]);
        const Json& rows = constraint["allowed"];
        is_allowed = std::ranges::find(rows, tuple) != rows.end();
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
                           "max_pool1d(float64[1,1,300], kernel_size=9, stride=1)", several}) {
    SCOPED_TRACE(what);
    const TempFolder folder;
    const Outcome outcome = shell(on("schedules", "--isa avx2 --json", what), folder);
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    const Json space = Json::parse(outcome.out);
    EXPECT_LT(space["constraints"].dump().size(), space["schedules"].dump().size());
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
               {"{\"lanes\": 8}", "schedule.text"},
               {"{\"member1.lanes\": 8}", "schedule.text"},
               {"channels_first(lanes=3)", "schedule.lanes"},
               {"{\"family\": \"separable\"}", "schedule.windows"},
               {"channels_first(lanes=1, rows_together=99)", "schedule.together"},
               {"{\"member0.family\": \"channels_last\"}", "schedule.members"},
               {"{\"member0.family\": \"channels_last\", \"member0.lines\": 8}", "schedule.text"},
               {"{\"member0.family\": \"channels_last\", \"lanes\": 8}", "schedule.text"},
               {"{\"member1.family\": \"channels_last\"}", "schedule.text"}};
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
      EXPECT_EQ(json["why"].get<std::string>().find("''"), std::string::npos) << json;
    }
    const Outcome text = shell(on("schedules", "--isa avx2 --schedule " + quoted), folder);
    EXPECT_EQ(text.exit, 4);
    EXPECT_NE(text.err.find(row.id), std::string::npos) << text.err;
  }
}

std::string kind(const Json& value) { return value.is_number() ? "number" : value.type_name(); }

// Fields and their types, as Kernel Tuner 1.4 and the FAIR benchmark hub write them.
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

Json exported(const char* form, const TempFolder& folder, const char* more = "") {
  const Outcome outcome = shell(std::string("$P tune --samples $T/s --export ") + form + more, folder);
  EXPECT_EQ(outcome.exit, 0) << form << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

void expect_t4(const Json& file, size_t count) {
  EXPECT_EQ(file["schema_version"], "1.0.0");
  EXPECT_EQ(file["metadata"]["timeunit"], "milliseconds");
  ASSERT_EQ(file["results"].size(), count);
  for (const Json& result : file["results"]) {
    expect_fields(result, {{"/timestamp", "string"},
                           {"/configuration", "object"},
                           {"/objectives", "array"},
                           {"/times/compilation", "number"},
                           {"/times/benchmark", "number"},
                           {"/times/runtimes", "array"},
                           {"/times/framework", "number"},
                           {"/times/search_algorithm", "number"},
                           {"/times/validation", "number"},
                           {"/measurements/0/name", "string"},
                           {"/measurements/0/unit", "string"}});
    EXPECT_EQ(result["times"]["validation"], 0);  // it was proved, which takes a time of its own
    EXPECT_EQ(result["invalidity"], "correct");
    EXPECT_EQ(result["correctness"], 1);
  }
}

// Its parameters are those of the space, and numbers are in order.
void expect_t1(const Json& file, const Json& space) {
  const Json& parameters = file["ConfigurationSpace"]["TuningParameters"];
  ASSERT_EQ(parameters.size(), space["parameters"].size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i]["Name"], space["parameters"][i]["name"]);
    EXPECT_EQ(parameters[i]["Type"], space["parameters"][i]["type"] == "ordinal" ? "int" : "string");
  }
  EXPECT_EQ(parameters[1]["Values"], python_list(space["parameters"][1]["values"]));
  EXPECT_EQ(file["ConfigurationSpace"]["Conditions"].size(), space["constraints"].size());
  expect_fields(file, {{"/KernelSpecification/Language", "string"},
                       {"/KernelSpecification/KernelName", "string"},
                       {"/KernelSpecification/KernelFile", "string"},
                       {"/KernelSpecification/ProblemSize/0", "number"},
                       {"/KernelSpecification/GlobalSize/X", "string"},
                       {"/KernelSpecification/LocalSize/X", "string"}});
}

TEST(Tune, MeasuresAllAndExportsIt) {
  const TempFolder folder;
  const Outcome tuned = shell(
      on("tune", "--db $T/db --threads 1 --isa avx2 --exhaustive --seconds 0.001 --samples $T/s --json"),
      folder);
  ASSERT_EQ(tuned.exit, 0) << tuned.out << tuned.err;
  const std::vector<Json> said = lines(tuned.out);
  ASSERT_EQ(said.size(), 2U);
  const size_t legal = said[0]["legal"];
  EXPECT_EQ(said[0]["measured"].get<size_t>() + 1, legal) << said[0];  // the default is measured beside each
  std::set<std::string> schedules;
  for (const Json& row : lines(read_file(folder / "s"))) {
    EXPECT_EQ(row["proof"]["verdict"], "proved") << row;
    expect_description(row, layer);
    expect_measurement(row);
    schedules.insert(row["schedule"]);
  }
  EXPECT_EQ(schedules.size(), legal);
  expect_t4(exported("t4", folder), legal);
  expect_t1(exported("t1", folder), Json::parse(shell(on("schedules", "--isa avx2 --json"), folder).out));
  const Json metadata = exported("t4-metadata", folder);
  expect_fields(metadata, {{"/schema_version", "string"},
                           {"/metadata/hardware/hardware_description", "array"},
                           {"/metadata/hardware/operating_system", "string"},
                           {"/metadata/environment/device_query", "object"},
                           {"/metadata/environment/requirements", "array"}});
  const Json cache = exported("kernel-tuner", folder);
  expect_fields(cache, {{"/device_name", "string"},
                        {"/kernel_name", "string"},
                        {"/problem_size", "array"},
                        {"/tune_params_keys", "array"},
                        {"/tune_params", "object"},
                        {"/objective", "string"}});
  EXPECT_EQ(cache["problem_size"], Json({3, 5, 10}));
  expect_cache(cache, legal);
  EXPECT_EQ(Json::parse(shell("$P tune --export json --db $T/db", folder).out)["entries"].size(), 1U);
}

// Rows of two sorts are no one space.
TEST(Tune, ExportsRowsOfOneMachineInstructionSetAndNumberOfThreads) {
  const TempFolder folder;
  const std::string sweep =
      "--seconds 0.0001 --proof none --samples $T/s --time-budget 0.01 --isa avx2 --threads ";
  ASSERT_EQ(shell(on("tune", sweep + "1"), folder).exit, 0);
  const size_t alone = exported("t4", folder)["results"].size();
  std::string text = read_file(folder / "s");
  const auto with_other = [&](const char* from, const char* to) {
    std::string other = text.substr(0, text.find('\n') + 1);
    other.replace(other.find(from), std::string(from).size(), to);
    test::write_file(folder / "s", text + other);
  };
  const struct {
    const char *from, *to, *named, *option;
  } table[] = {{"\"threads\":1", "\"threads\":2", "threads (1, 2)", " --threads 1"},
               {"\"isa\":\"avx2\"", "\"isa\":\"avx512\"", "isa (avx2, avx512)", " --isa avx2"},
               {"\"cpu\":\"", "\"cpu\":\"toy ", "cpu (", " --cpu toy"},
               {"\"spec\":\"max_pool2d(float32[1", "\"spec\":\"max_pool2d(float32[2", "spec (",
                " 'max_pool2d(float32[1,3,9,20], kernel_size=3, stride=2, padding=1)'"}};
  for (const auto& row : table) {
    with_other(row.from, row.to);
    const Outcome refused = shell("$P tune --export t4 --samples $T/s", folder);
    EXPECT_EQ(refused.exit, 3);
    EXPECT_NE(refused.err.find(row.named), std::string::npos) << refused.err;
    const bool is_other = std::string(row.option) == " --cpu toy";
    EXPECT_EQ(exported("t4", folder, row.option)["results"].size(), is_other ? 1U : alone) << row.option;
  }
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
    entry.schedule = "channels_last(lanes=1, scan=windows, tap_code=straight, tail=mask)";
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
