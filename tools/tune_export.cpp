#include "tools/tune_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "frontend/pool_spec.h"
#include "ir/schedule_text.h"
#include "tools/sample_file.h"
#include "tools/sample_row.h"
#include "tools/schedule_space.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

bool is_correct(const Json& row) { return row["proof"]["verdict"] != "wrong"; }

// Kernel Tuner and T4 count in milliseconds.
double milliseconds(const Json& seconds) { return seconds.get<double>() * 1e3; }

std::vector<double> runtimes(const Json& row) {
  std::vector<double> all;
  for (const Json& one : row["samples"]) all.push_back(milliseconds(one));
  return all;
}

double benchmark_milliseconds(const Json& row) {
  double sum = 0;
  for (const double one : runtimes(row)) sum += one * row.value("calls_per_sample", 1.0);
  return sum;
}

// Comparing results on data is what others call validation. A proof is no part of a tuner's day.
double examined_milliseconds(const Json& row, const char* by) {
  const Json& proof = row["proof"];
  return proof.value("by", "") == by ? proof.value("seconds", 0.0) * 1e3 : 0;
}

// "2026-11-28T18:00:00Z" as Python prints it.
std::string python_time(const Json& timestamp) {
  std::string text = timestamp.get<std::string>();
  if (text.size() == 20 && text[10] == 'T' && text.back() == 'Z')
    text = text.substr(0, 10) + " " + text.substr(11, 8) + "+00:00";
  return text;
}

// Names of parameters are names of variables there.
std::string variable(std::string name) {
  std::ranges::replace(name, '.', '_');
  return name;
}

Json configuration(const Json& row) {
  Json named = Json::object();
  for (const auto& [name, value] : row["parameters"].items()) named[variable(name)] = value;
  return named;
}

Json measurement(const char* name, const Json& value, const char* unit) {
  return {{"name", name}, {"value", value}, {"unit", unit}};
}

std::vector<ir::Schedule> schedules_of(const SampleRows& rows) {
  std::vector<ir::Schedule> schedules;
  for (const Json& row : rows)
    if (auto schedule = ir::parse_schedule(row["schedule"].get<std::string>()))
      schedules.push_back(std::move(*schedule));
  return schedules;
}

// The extents of the (first) output: the two innermost, behind all others together.
std::vector<int64_t> problem_size(const Json& row) {
  const auto spec = frontend::parse_spec(row["spec"].get<std::string>());
  if (!spec) return {};
  std::vector<int64_t> size = output_shape(*spec);
  while (size.size() > 3) {
    size[1] *= size[0];
    size.erase(size.begin());
  }
  return size;
}

// A spec as one word.
std::string kernel_name(const Json& row) {
  const std::string spec = row["spec"];
  return spec.substr(0, spec.find('('));
}

std::string field_text(const Json& row, const Json::json_pointer& field) {
  const Json& value = row[field];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// In what the rows differ, for an error's message: "isa (avx2, avx512), threads (1, 2)".
std::string differences(const SampleRows& rows) {
  std::string text;
  for (const char* field : {"/spec", "/machine/cpu", "/machine/caches", "/machine/isa", "/machine/threads",
                            "/machine/backend", "/versions/pooljit"}) {
    std::set<std::string> values;
    for (const Json& row : rows) values.insert(field_text(row, Json::json_pointer(field)));
    if (values.size() < 2) continue;
    const std::string name = std::string(field).substr(std::string(field).rfind('/') + 1);
    const auto shown =
        std::vector(values.begin(), std::next(values.begin(), std::min<ptrdiff_t>(3, std::ssize(values))));
    text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", name, fmt::join(shown, ", "),
                        values.size() > 3 ? ", ..." : "");
  }
  return text;
}

bool is_asked_for(const Json& row, const RowFilter& filter, const std::string& spec) {
  const Json& machine = row["machine"];
  return (spec.empty() || row["spec"] == spec) && (filter.isa.empty() || machine["isa"] == filter.isa) &&
         (!filter.threads || machine["threads"] == *filter.threads) &&
         machine["cpu"].get<std::string>().find(filter.cpu) != std::string::npos;
}

}  // namespace

ir::Result<SampleRows> read_samples(const std::string& path, const RowFilter& filter) {
  std::string spec;
  if (!filter.spec.empty()) {
    const auto wanted = frontend::parse_spec(filter.spec);
    if (!wanted) return tl::unexpected(wanted.error());
    spec = print(*wanted);
  }
  SampleRows rows;
  std::map<std::string, size_t> place;  // of a schedule's row
  std::set<std::string> groups;
  const auto take = [&](Json row) {
    if (!is_asked_for(row, filter, spec)) return;
    const std::string group = group_of(row);
    groups.insert(group);
    const auto [at, is_new] = place.emplace(group + row["schedule"].get<std::string>(), rows.size());
    if (is_new)
      rows.push_back(std::move(row));
    else
      rows[at->second] = std::move(row);
  };
  if (const auto read = read_rows(path, take); !read) return tl::unexpected(read.error());
  if (rows.empty())
    return ir::invalid("tune.samples", fmt::format("{} holds no samples of what was asked for", path));
  if (groups.size() > 1)
    return ir::invalid("tune.samples",
                       fmt::format("{} holds samples that differ in {}", path, differences(rows)),
                       "name those to be exported: SPEC, --isa, --threads, --cpu; else give each a file");
  return rows;
}

Json as_t1(const SampleRows& rows) {
  const std::vector<ir::Schedule> schedules = schedules_of(rows);
  const auto standard =
      std::ranges::find_if(rows, [](const Json& row) { return row.value("default", false); });
  Json parameters = Json::array(), conditions = Json::array();
  for (const Json& one : parameter_space(schedules)) {
    const std::string name = one["name"];
    parameters.push_back({{"Name", variable(name)},
                          {"Type", one["type"] == "ordinal" ? "int" : "string"},
                          {"Values", python_list(one["values"])}});
    if (standard != rows.end()) parameters.back()["Default"] = (*standard)["parameters"][name];
  }
  for (const Json& one : space_constraints(schedules)) {
    Json names = Json::array();
    for (const Json& name : one["parameters"]) names.push_back(variable(name));
    conditions.push_back(
        {{"Expression", fmt::format("({}) in {}", fmt::join(names.get<std::vector<std::string>>(), ", "),
                                    python_list(one["allowed"]))},
         {"Parameters", names}});
  }
  const Json& any = rows.front();
  // The schema knows languages of GPUs only, and one for what is no kernel's text.
  return {{"General", {{"BenchmarkName", any["spec"]}, {"OutputFormat", "JSON"}}},
          {"ConfigurationSpace", {{"TuningParameters", parameters}, {"Conditions", conditions}}},
          {"Search", {{"Name", "brute_force"}}},
          {"KernelSpecification",
           {{"Language", "Hypertuner"},
            {"BenchmarkName", any["spec"]},
            {"KernelName", kernel_name(any)},
            {"KernelFile", "spec.txt"},
            {"Device", {{"Name", any["machine"]["cpu"]}}},
            {"ProblemSize", problem_size(any)},
            {"GlobalSize", {{"X", "1"}}},
            {"LocalSize", {{"X", "1"}}},
            {"SharedMemory", 0},
            {"Arguments", Json::array()}}}};
}

Json as_t4(const SampleRows& rows) {
  Json results = Json::array();
  for (const Json& row : rows)
    results.push_back(
        {{"timestamp", python_time(row["timestamp"])},
         {"configuration", configuration(row)},
         {"times",
          {{"compilation", milliseconds(row["compile_seconds"])},
           {"benchmark", benchmark_milliseconds(row)},
           {"framework", 0.0},
           {"search_algorithm", 0.0},
           {"validation", examined_milliseconds(row, "oracle")},
           {"runtimes", runtimes(row)}}},
         {"invalidity", is_correct(row) ? "correct" : "correctness"},
         {"correctness", is_correct(row) ? 1 : 0},
         {"measurements", Json::array({measurement("time", milliseconds(row["median"]), "ms"),
                                       measurement("spread", row["spread"], ""),
                                       measurement("ratio_to_default", row["ratio"], ""),
                                       measurement("proof", row["proof"]["verdict"], ""),
                                       measurement("proof_time", examined_milliseconds(row, "proof"), "ms"),
                                       measurement("disturbed", row.value("disturbed", false) ? 1 : 0, "")})},
         {"objectives", {"time"}}});
  const Json& any = rows.front();
  return {{"schema_version", "1.0.0"},
          {"metadata",
           {{"timeunit", "milliseconds"},
            {"spec", any["spec"]},
            {"machine", any["machine"]},
            {"versions", any["versions"]}}},
          {"results", results}};
}

Json as_t4_metadata(const SampleRows& rows) {
  const Json& any = rows.front();
  Json requirements = Json::array();
  for (const auto& [name, version] : any["versions"].items())
    requirements.push_back(name + "==" + version.get<std::string>());
  return {{"schema_version", "1.0.0"},
          {"metadata",
           {{"hardware",
             {{"hardware_description", Json::array({any["machine"]})}, {"operating_system", "Linux"}}},
            {"environment", {{"device_query", Json::object()}, {"requirements", requirements}}}}}};
}

Json as_kernel_tuner(const SampleRows& rows) {
  Json keys = Json::array(), values = Json::object(), cache = Json::object();
  for (const Json& one : parameter_space(schedules_of(rows))) {
    const std::string name = variable(one["name"]);
    keys.push_back(name);
    values[name] = one["values"];
  }
  for (const Json& row : rows) {
    std::string key;
    Json entry = configuration(row);
    for (const auto& [name, value] : entry.items())
      key += (key.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : value.dump());
    if (is_correct(row))
      entry["time"] = milliseconds(row["median"]);
    else
      entry["__error__"] = "RuntimeFailedConfig";
    entry["times"] = runtimes(row);
    entry["compile_time"] = milliseconds(row["compile_seconds"]);
    entry["verification_time"] = examined_milliseconds(row, "oracle");
    entry["benchmark_time"] = benchmark_milliseconds(row);
    entry["strategy_time"] = 0.0;
    entry["framework_time"] = 0.0;
    entry["timestamp"] = python_time(row["timestamp"]);
    entry["proof"] = row["proof"]["verdict"];
    entry["proof_time"] = examined_milliseconds(row, "proof");
    cache[key] = std::move(entry);
  }
  const Json& any = rows.front();
  return {{"device_name",
           fmt::format("{}, {}, {} threads", any["machine"]["cpu"].get<std::string>(),
                       any["machine"]["isa"].get<std::string>(), any["machine"]["threads"].dump())},
          {"kernel_name", any["spec"]},
          {"problem_size", problem_size(any)},
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
