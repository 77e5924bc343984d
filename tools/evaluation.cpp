#include "tools/evaluation.h"

#include <algorithm>
#include <chrono>

#include "ir/schedule_text.h"
#include "lab/tuner.h"
#include "runtime/compile.h"
#include "tools/counters.h"
#include "tools/sample_row.h"
#include "tools/schedule_space.h"

namespace pooljit::tools {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double counted_seconds = 1e-3;  // of calls whose instructions are counted

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

struct Evaluator::Parts {
  RowMaker rows;
  std::string text;
  runtime::Options options;
  double seconds;
  runtime::KernelPtr reference;
  Examiner examiner;
  Counters counters = {};

  // Errors: those of compile.
  ir::Result<runtime::KernelPtr> make_kernel(const ir::Schedule& schedule) const {
    runtime::Options own = options;
    own.schedule = ir::print(schedule);
    return runtime::compile_uncached(text, own);
  }

  ir::Result<runtime::TuneSample> sample(const runtime::KernelPtr& kernel) const {
    const runtime::MeasureOptions how = {
        .sample_seconds = std::min(200e-6, seconds / 20), .budget_seconds = 2 * seconds, .fewest_samples = 3};
    const runtime::KernelPtr both[] = {reference, kernel};
    const int64_t preempted = how.watch.preemptions();
    auto samples = sample_kernels(examiner.workload(), both, how);
    if (!samples) return tl::unexpected(samples.error());
    runtime::TuneSample made;
    made.kernel = kernel, made.samples = std::move((*samples)[1]);
    made.reference = reference, made.reference_samples = std::move((*samples)[0]);
    made.preemptions = how.watch.preemptions() - preempted;
    made.is_default = kernel->code().info.schedule == reference->code().info.schedule;
    return made;
  }

  // Of calls by themselves: while it was timed, the reference ran as well.
  Json count(const runtime::TuneSample& sample) const {
    if (!counters.any()) return nullptr;
    const double median = runtime::summarize(sample.samples.seconds).median;
    const int calls = static_cast<int>(std::clamp(counted_seconds / std::max(median, 1e-9), 1.0, 1e6));
    counters.start();
    for (int i = 0; i < calls; ++i) (void)examiner.workload().run(*sample.kernel);  // it has succeeded
    Json counts = counters.stop();
    counts["calls"] = calls;
    return counts;
  }
};

ir::Result<Evaluator> Evaluator::make(const std::string& text, const runtime::Options& options,
                                      double seconds, Verdict verdict) {
  const auto key = runtime::tune_key(text, options);
  if (!key) return tl::unexpected(key.error());
  const frontend::PoolSpec spec = *frontend::parse_spec(text);
  if (spec.batch == 0)
    return ir::invalid("tune.empty", "a batch of 0 is no work to measure", "give the spec a batch of 1");
  auto reference = runtime::compile_uncached(text, options);
  if (!reference) return tl::unexpected(reference.error());
  auto examiner = Examiner::make(**reference, options, verdict);
  if (!examiner) return tl::unexpected(examiner.error());
  return Evaluator(std::shared_ptr<Parts>(new Parts{RowMaker(spec, *key), print(spec), options, seconds,
                                                    std::move(*reference), std::move(*examiner)}));
}

ir::Result<Json> Evaluator::evaluate(const std::string& configuration) {
  const auto schedule = schedule_of(configuration);
  if (!schedule) return parts_->rows.refused(configuration, schedule.error());
  const Clock::time_point start = Clock::now();
  const auto kernel = parts_->make_kernel(*schedule);
  const double compile_seconds = seconds_since(start);
  if (!kernel && kernel.error().kind == ir::ErrorKind::system) return tl::unexpected(kernel.error());
  if (!kernel) return parts_->rows.refused(ir::print(*schedule), kernel.error());
  const auto proof = parts_->examiner.examine(**kernel);
  if (!proof) return tl::unexpected(proof.error());
  auto sample = parts_->sample(*kernel);
  if (!sample) return tl::unexpected(sample.error());
  sample->compile_seconds = compile_seconds;
  Json row = parts_->rows.measured(*sample, *proof, parts_->count(*sample));
  row["total_seconds"] = seconds_since(start);
  return row;
}

}  // namespace pooljit::tools
