#include "tools/tune_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "frontend/pool_spec.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

bool is_row(const Json& row) {
  for (const char* field :
       {"spec", "parameters", "proof", "samples", "median", "compile_seconds", "timestamp"})
    if (!row.is_object() || !row.contains(field)) return false;
  return row["samples"].is_array() && row["parameters"].is_object() && row["proof"].contains("verdict");
}

// Kernel Tuner and T4 count in milliseconds.
std::vector<double> milliseconds(const Json& seconds) {
  std::vector<double> all;
  for (const Json& one : seconds) all.push_back(one.get<double>() * 1e3);
  return all;
}

bool is_correct(const Json& row) { return row["proof"]["verdict"] != "wrong"; }

double proof_milliseconds(const Json& row) { return row["proof"].value("seconds", 0.0) * 1e3; }
double measured_milliseconds(const Json& row) {
  double sum = 0;
  for (const double one : milliseconds(row["samples"])) sum += one * row.value("calls_per_sample", 1.0);
  return sum;
}

Json measurement(const char* name, const Json& value, const char* unit) {
  return {{"name", name}, {"value", value}, {"unit", unit}};
}

// The values that each parameter has in the rows.
Json parameter_values(const SampleRows& rows) {
  Json values;
  for (const Json& row : rows)
    for (const auto& [name, value] : row["parameters"].items()) {
      Json& known = values[name];
      if (std::ranges::find(known, value) == known.end()) known.push_back(value);
    }
  return values;
}

}  // namespace

ir::Result<SampleRows> read_samples(const std::string& path, const std::string& spec) {
  std::ifstream file(path);
  if (!file)
    return ir::system_error("file.open", fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  const auto wanted =
      spec.empty() ? ir::Result<frontend::PoolSpec>(frontend::PoolSpec()) : frontend::parse_spec(spec);
  if (!wanted) return tl::unexpected(wanted.error());
  SampleRows rows;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    Json row = Json::parse(line, nullptr, false);
    if (!is_row(row))
      return ir::invalid("tune.samples", fmt::format("{}:{}: it is no row of samples", path, number),
                         "a file that `pooljit tune SPEC --samples FILE` wrote");
    if (spec.empty() || row["spec"] == print(*wanted)) rows.push_back(std::move(row));
  }
  if (rows.empty())
    return ir::invalid("tune.samples",
                       fmt::format("{} holds no samples{}", path, spec.empty() ? "" : " of this spec"));
  for (const Json& row : rows)
    if (row["spec"] != rows.front()["spec"])
      return ir::invalid("tune.samples", fmt::format("{} holds samples of several specs", path),
                         "name the one to be exported");
  return rows;
}

Json as_t4(const SampleRows& rows) {
  Json results = Json::array();
  for (const Json& row : rows)
    results.push_back(
        {{"timestamp", row["timestamp"]},
         {"configuration", row["parameters"]},
         {"times",
          {{"compilation_time", row["compile_seconds"].get<double>() * 1e3},
           {"runtimes", milliseconds(row["samples"])},
           {"framework", 0.0},
           {"search_algorithm", 0.0},
           {"validation", proof_milliseconds(row)}}},
         {"invalidity", is_correct(row) ? "correct" : "correctness"},
         {"correctness", is_correct(row) ? 1.0 : 0.0},
         {"measurements", Json::array({measurement("time", row["median"].get<double>() * 1e3, "ms"),
                                       measurement("spread", row["spread"], ""),
                                       measurement("proof", row["proof"]["verdict"], "")})},
         {"objectives", {"time"}}});
  return {{"schema_version", "1.0.0"}, {"results", results}};
}

Json as_kernel_tuner(const SampleRows& rows) {
  const Json values = parameter_values(rows);
  Json keys = Json::array(), cache = Json::object();
  for (const auto& [name, unused] : values.items()) keys.push_back(name);
  for (const Json& row : rows) {
    std::string key;
    Json entry;
    for (const auto& [name, value] : row["parameters"].items()) {
      key += (key.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : value.dump());
      entry[name] = value;
    }
    entry["time"] = is_correct(row) ? Json(row["median"].get<double>() * 1e3) : Json("RuntimeFailedConfig");
    entry["times"] = milliseconds(row["samples"]);
    entry["compile_time"] = row["compile_seconds"].get<double>() * 1e3;
    entry["verification_time"] = proof_milliseconds(row);
    entry["benchmark_time"] = measured_milliseconds(row);
    entry["strategy_time"] = 0.0;
    entry["framework_time"] = 0.0;
    entry["timestamp"] = row["timestamp"];
    entry["proof"] = row["proof"]["verdict"];
    cache[key] = std::move(entry);
  }
  return {{"schema_version", "1.1.0"},
          {"device_name", rows.front().value("cpu", "")},
          {"kernel_name", rows.front()["spec"]},
          {"problem_size", rows.front()["spec"]},
          {"tune_params_keys", keys},
          {"tune_params", values},
          {"objective", "time"},
          {"cache", cache}};
}

Json database_json(const runtime::TuneDatabase& database) {
  Json entries = Json::array();
  for (const runtime::TuneEntry& entry : database.entries)
    entries.push_back({{"signature", entry.signature},
                       {"cpu", entry.cpu},
                       {"caches", entry.caches},
                       {"threads", entry.threads},
                       {"isa", entry.isa},
                       {"backend", entry.backend},
                       {"schedule", entry.schedule},
                       {"median", entry.seconds},
                       {"spread", entry.spread},
                       {"default_median", entry.default_seconds},
                       {"proof", entry.proof},
                       {"version", entry.version}});
  return {{"database", runtime::tune_header}, {"entries", entries}};
}

}  // namespace pooljit::tools
