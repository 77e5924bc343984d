#include "tools/evaluation.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>

#include "ir/schedule_text.h"
#include "runtime/compile.h"
#include "runtime/options.h"
#include "runtime/proof/verify.h"
#include "runtime/tuning/tuner.h"
#include "tools/schedule_space.h"

namespace pooljit::tools {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void put_times(Json& row, const runtime::Samples& samples) {
  const runtime::Timing timing = runtime::summarize(samples.seconds, samples.calls_per_sample);
  row["median"] = timing.median;
  row["first_quartile"] = timing.first_quartile;
  row["third_quartile"] = timing.third_quartile;
  row["spread"] = timing.spread();
  row["calls_per_sample"] = samples.calls_per_sample;
  row["samples"] = samples.seconds;
}

Json prove(const std::string& spec, runtime::Choices choices, const ir::Schedule& schedule) {
  choices.schedule = schedule;
  const Clock::time_point start = Clock::now();
  const auto proof = runtime::verify(spec, choices);
  Json row;
  if (!proof)
    row = {{"verdict", "unproved"}, {"why", ir::to_string(proof.error())}};
  else if (proof->ok())
    row = {{"verdict", "proved"}, {"left", proof->left}};
  else
    row = {{"verdict", "wrong"}, {"why", proof->failure}};
  row["seconds"] = seconds_since(start);
  return row;
}

std::string timestamp() { return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr))); }

struct Evaluator::Parts {
  frontend::PoolSpec spec;
  std::string text;
  runtime::Options options;
  runtime::Choices choices;
  double seconds;
  Verdict verdict;
  ir::PoolNest nest;
  std::optional<runtime::Workload> workload;
  std::optional<ir::Judge> judge;
  std::vector<std::byte> right;  // outputs that the judge agreed with
  Counters counters;

  // Errors: those of compile.
  ir::Result<runtime::KernelPtr> make_kernel(const ir::Schedule& schedule) const {
    runtime::Options own = options;
    own.schedule = ir::print(schedule);
    return runtime::compile_uncached(text, own);
  }

  // What the last run of such a kernel left.
  std::vector<std::byte> outputs_of(const runtime::Kernel& kernel) const {
    const auto output = static_cast<size_t>(kernel.output_view().span_bytes());
    std::vector<std::byte> bytes(workload->output(), workload->output() + output);
    if (nest.indices)
      bytes.insert(bytes.end(), workload->indices(),
                   workload->indices() + static_cast<size_t>(kernel.indices_view().span_bytes()));
    return bytes;
  }

  // The kernel has just run. Most schedules make the same bytes; only others are asked about again, which
  // takes long for large windows.
  Json compared(const runtime::Kernel& kernel) {
    const Json checked = {{"verdict", "checked"}, {"left", "other data than what was measured with"}};
    std::vector<std::byte> outputs = outputs_of(kernel);
    if (outputs == right) return checked;
    if (!judge)
      judge.emplace(nest, spec.batch.value_or(1), workload->input(),
                    nest.is_backward() ? workload->indices() : nullptr, workload->operands());
    const auto wrong = judge->disagreement(workload->output(), nest.indices ? workload->indices() : nullptr);
    if (wrong) return {{"verdict", "wrong"}, {"why", *wrong}};
    right = std::move(outputs);
    return checked;
  }
};

ir::Result<Evaluator> Evaluator::make(const std::string& text, const runtime::Options& options,
                                      double seconds, Verdict verdict) {
  const auto key = runtime::tune_key(text, options);
  if (!key) return tl::unexpected(key.error());
  const frontend::PoolSpec spec = *frontend::parse_spec(text);
  if (const auto one =
          verdict == Verdict::compare ? one_pool(spec, "a comparison with the oracle") : ir::Result<void>();
      !one)
    return tl::unexpected(one.error());
  if (spec.batch == 0)
    return ir::invalid("tune.empty", "a batch of 0 is no work to measure", "give the spec a batch of 1");
  const std::shared_ptr<Parts> parts(new Parts{spec,
                                               print(spec),
                                               options,
                                               *runtime::resolve(options),
                                               seconds,
                                               verdict,
                                               make_nest(spec),
                                               {},
                                               {},
                                               {},
                                               {}});
  const auto kernel = runtime::compile_uncached(text, options);
  if (!kernel) return tl::unexpected(kernel.error());
  auto workload = runtime::Workload::make(**kernel);
  if (!workload) return tl::unexpected(workload.error());
  parts->workload.emplace(std::move(*workload));
  return Evaluator(parts);
}

ir::Result<Json> Evaluator::evaluate(const std::string& configuration) {
  const auto schedule = schedule_of(configuration);
  if (!schedule) return refusal_json(configuration, schedule.error());
  const Clock::time_point start = Clock::now();
  const auto kernel = parts_->make_kernel(*schedule);
  const double compile_seconds = seconds_since(start);
  if (!kernel && kernel.error().kind == ir::ErrorKind::system) return tl::unexpected(kernel.error());
  if (!kernel) return refusal_json(ir::print(*schedule), kernel.error());
  if (auto ran = parts_->workload->run(**kernel); !ran) return tl::unexpected(ran.error());
  Json row = {{"schedule", ir::print(*schedule)}, {"status", "ok"}};
  row["parameters"] = parameters_of(*schedule);
  Json proof = {{"verdict", "none"}};
  if (parts_->verdict == Verdict::compare) proof = parts_->compared(**kernel);
  if (parts_->verdict == Verdict::verify) proof = prove(parts_->text, parts_->choices, *schedule);
  if (proof["verdict"] == "wrong") row["status"] = "wrong";
  row["proof"] = proof;
  row["compile_seconds"] = compile_seconds;
  const std::function<void()> call = [&] {
    (void)parts_->workload->run(**kernel);
  };  // it has succeeded above
  parts_->counters.start();
  const std::vector<runtime::Samples> samples =
      runtime::measure_samples({&call, 1}, {.sample_seconds = std::min(200e-6, parts_->seconds / 20),
                                            .budget_seconds = parts_->seconds,
                                            .fewest_samples = 3,
                                            .settle_seconds = 0});
  row["counters"] = parts_->counters.stop();
  put_times(row, samples[0]);
  row["timestamp"] = timestamp();
  row["total_seconds"] = seconds_since(start);
  return row;
}

}  // namespace pooljit::tools
