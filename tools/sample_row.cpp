#include "tools/sample_row.h"

#include <algorithm>

#include "ir/schedule_text.h"
#include "runtime/machine.h"
#include "tools/bench/facts.h"
#include "tools/load.h"
#include "tools/schedule_space.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

void put_times(Json& row, const runtime::Samples& samples) {
  const runtime::Timing timing = runtime::summarize(samples.seconds, samples.calls_per_sample);
  row["median"] = timing.median;
  row["first_quartile"] = timing.first_quartile;
  row["third_quartile"] = timing.third_quartile;
  row["spread"] = timing.spread();
  row["calls_per_sample"] = samples.calls_per_sample;
  row["samples"] = samples.seconds;
}

// Medians stand a few interrupts, not one in every other sample.
bool is_disturbed(const runtime::TuneSample& sample, const Load& load) {
  const auto spread = [](const runtime::Samples& samples) {
    return runtime::summarize(samples.seconds, samples.calls_per_sample).spread();
  };
  return is_busy(load) ||
         std::max(spread(sample.samples), spread(sample.reference_samples)) > runtime::most_spread ||
         sample.preemptions > int64_t(sample.samples.seconds.size()) / 2;
}

}  // namespace

RowMaker::RowMaker(const frontend::PoolSpec& spec, const runtime::TuneEntry& key)
    : about_({{"spec", print(spec)},
              {"machine",
               {{"cpu", key.cpu},
                {"row", runtime::machine().row.name},
                {"caches", key.caches},
                {"isa", key.isa},
                {"threads", key.threads},
                {"backend", key.backend}}},
              {"versions",
               {{"pooljit", key.version}, {"compiler", compiler_name()}, {"system", system_name()}}}}) {}

Json RowMaker::measured(const runtime::TuneSample& sample, const Json& proof, const Json& counters) const {
  const std::string& text = sample.kernel->code().info.schedule;
  const Load load = load_of_minute();
  Json row = about_;
  row["schedule"] = text;
  row["status"] = proof["verdict"] == "wrong" ? "wrong" : "ok";
  row["default"] = sample.is_default;
  if (sample.space > 0) row["space"] = sample.space;
  row["parameters"] = parameters_of(*ir::parse_schedule(text));
  put_times(row, sample.samples);
  row["ratio"] = sample.ratio();
  row["reference"] = {{"schedule", sample.reference->code().info.schedule},
                      {"median", runtime::summarize(sample.reference_samples.seconds).median}};
  row["disturbed"] = is_disturbed(sample, load);
  row["conditions"] = {
      {"processors", load.processors},
      {"load", load.average ? Json(*load.average) : Json()},
      {"preemptions", sample.preemptions},
  };
  row["compile_seconds"] = sample.compile_seconds;
  row["proof"] = proof;
  row["counters"] = counters;
  row["timestamp"] = utc_now();
  return row;
}

Json RowMaker::refused(const std::string& schedule, const ir::Error& error) const {
  Json row = about_;
  row.update(refusal_json(schedule, error));
  return row;
}

std::string group_of(const Json& row) {
  return row["spec"].get<std::string>() + "\n" + row["machine"].dump() + "\n" +
         row["versions"]["pooljit"].dump();
}

bool is_refusal(const Json& row) {
  return row.is_object() && row.contains("schedule") && row.contains("status") && row["status"] == "refused";
}

bool is_row(const Json& row) {
  if (!row.is_object()) return false;
  for (const char* field : {"spec", "schedule", "parameters", "proof", "samples", "median", "ratio",
                            "compile_seconds", "timestamp", "machine", "versions"})
    if (!row.contains(field)) return false;
  const auto is_text = [](const Json& object, const char* field) {
    return object.is_object() && object.contains(field) && object[field].is_string();
  };
  return is_text(row, "spec") && is_text(row, "schedule") && is_text(row, "timestamp") &&
         row["samples"].is_array() && row["parameters"].is_object() && row["ratio"].is_number() &&
         row["median"].is_number() && row["compile_seconds"].is_number() &&
         is_text(row["proof"], "verdict") && is_text(row["versions"], "pooljit") &&
         is_text(row["machine"], "cpu") && is_text(row["machine"], "isa") &&
         row["machine"].contains("threads");
}

}  // namespace pooljit::tools
