#include "runtime/tuning/first_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "ir/choose/shortlist.h"
#include "ir/cost.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "runtime/kernel.h"
#include "runtime/machine.h"
#include "runtime/tuning/numbers.h"
#include "runtime/tuning/store.h"
#include "runtime/tuning/tuner.h"
#include "runtime/tuning/workload.h"

namespace pooljit::runtime {
namespace {

constexpr size_t counted = 12;  // of the shortlist: each costs about 0.1 ms
constexpr double sample_seconds = 50e-6;
constexpr int fewest_samples = 5;
constexpr double most_spread = 0.1;
constexpr int64_t most_bytes = int64_t{64} << 20;  // of memory, while one image will do
constexpr int64_t fewest_outputs = 4096;           // that are compared

struct Ranked {
  ir::Schedule schedule;
  ir::Program program;
  ir::Cost cost;
};

// Stores as the default has them: whether they pass the caches by is no question of one kernel's speed.
ir::Result<ir::Program> legal_program(const ir::PoolNest& nest, ir::Schedule& schedule, ir::Stores stores,
                                      ir::Isa isa) {
  schedule.stores = stores;
  auto program = ir::lower(nest, schedule, isa);
  if (!program && stores == ir::Stores::streamed) {
    schedule.stores = ir::Stores::cached;
    program = ir::lower(nest, schedule, isa);
  }
  if (!program) return program;
  program = ir::legalize(std::move(*program));
  if (program) program->name.clear();
  return program;
}

// Larger batches than fill the memory that is spent on it take as long per image.
frontend::PoolSpec with_bounded_batch(frontend::PoolSpec spec, const ir::PoolNest& nest) {
  if (spec.free_batch || !spec.batch) return spec;
  int64_t bytes = input_view(nest, 1).span_bytes();
  for (const MemoryView& view : all_outputs(nest, 1)) bytes += view.span_bytes();
  spec.batch = std::clamp<int64_t>(most_bytes / std::max<int64_t>(bytes, 1), 1, *spec.batch);
  return spec;
}

class Race {
 public:
  Race(const frontend::PoolSpec& spec, const Choices& choices, const FirstUseLimits& limits)
      : spec_(spec), choices_(choices), limits_(limits), start_(limits.watch.seconds()) {}

  ir::Result<FirstUse> run() {
    const ir::PoolNest nest = frontend::make_nest(spec_);
    const EngineInfo& engine = info(choices_.engine);
    auto code = engine.make(nest, choices_);
    if (!code) return tl::unexpected(code.error());
    codes_.push_back(std::move(*code));
    if (!engine.is_native) return keep_default(fmt::format("{} runs no machine code", engine.text));
    if (!nest.members.empty()) return keep_default("several pools keep theirs");
    if (spec_.batch == 0) return keep_default("a batch of 0 is no work");
    make_others(nest);
    if (codes_.size() == 1) return keep_default("there is nothing to choose from");
    for (const std::shared_ptr<Code>& one : codes_)
      kernels_.push_back(std::make_shared<Kernel>(with_bounded_batch(spec_, nest), one, 1));
    if (const auto checked = drop_what_disagrees(nest); !checked)
      return keep_default(checked.error().message);
    if (kernels_.size() == 1) return keep_default("no other gives the default's results");
    return race();
  }

 private:
  FirstUse keep_default(const std::string& reason) const {
    return {codes_.front(), "the default; not measured: " + reason, std::nullopt};
  }

  double spent() const { return limits_.watch.seconds() - start_; }

  void make_others(const ir::PoolNest& nest) {
    const ir::Schedule standard = *ir::parse_schedule(codes_.front()->info.schedule);
    const auto most = static_cast<size_t>(choices_.measuring.candidates);
    for (const ir::Schedule& schedule : first_use_candidates(nest, choices_.isa, standard, 2 * most)) {
      if (codes_.size() == most) break;
      Choices exact = choices_;
      exact.schedule = schedule;
      // The registers may not suffice.
      if (auto code = info(choices_.engine).make(nest, exact)) codes_.push_back(std::move(*code));
    }
  }

  ir::Result<void> drop_what_disagrees(const ir::PoolNest& nest) {
    const bool same_bits = choices_.measuring.same_bits;
    const auto fill = [&](uint64_t seed) -> Fill {
      return [&nest, same_bits, seed](ir::DType dtype, std::span<std::byte> bytes) {
        if (same_bits)
          fill_telling_orders(nest, seed, dtype, bytes);
        else
          fill_with_exact_sums(nest, seed, dtype, bytes);
      };
    };
    auto workload = Workload::make(*kernels_.front(), fill(0));
    if (!workload) return tl::unexpected(workload.error());
    const int64_t outputs = kernels_.front()->output_view().element_count();
    const auto rounds =
        same_bits ? std::clamp<int64_t>(fewest_outputs / std::max<int64_t>(outputs, 1), 1, 16) : 1;
    for (int64_t round = 0; round < rounds; ++round) {
      if (round > 0) workload->refill(*kernels_.front(), fill(static_cast<uint64_t>(round)));
      if (auto done = drop_in_round(*workload); !done) return done;
    }
    workload_ = std::make_unique<Workload>(std::move(*workload));
    return {};
  }

  ir::Result<void> drop_in_round(Workload& workload) {
    std::vector<std::byte> expected;
    std::vector<KernelPtr> agreed;
    for (const KernelPtr& kernel : kernels_) {
      workload.clear_results();
      if (auto done = workload.run(*kernel); !done) return done;
      if (agreed.empty()) expected = workload.results();
      if (agreed.empty() || workload.has_results(expected)) agreed.push_back(kernel);
    }
    kernels_ = std::move(agreed);
    return {};
  }

  FirstUse race() const {
    std::vector<std::function<void()>> contenders;
    for (const KernelPtr& kernel : kernels_)
      contenders.emplace_back([&] { (void)workload_->run(*kernel); });  // it has succeeded above
    const auto samples = measure_samples(
        contenders, {.sample_seconds = sample_seconds,
                     .budget_seconds = std::max(limits_.budget_seconds - spent(), limits_.budget_seconds / 2),
                     .fewest_samples = fewest_samples,
                     .settle_seconds = 0,
                     .is_warm = true,
                     .most_repeats = fewest_samples,
                     .watch = limits_.watch});
    std::vector<Timing> timings;
    for (const Samples& one : samples) timings.push_back(summarize(one.seconds, one.calls_per_sample));
    const auto fastest = std::ranges::min_element(timings, {}, &Timing::median);
    const bool is_better = is_clearly_faster(*fastest, timings.front());
    const size_t winner = is_better ? static_cast<size_t>(fastest - timings.begin()) : 0;
    const double spread = std::max(timings[winner].spread(), timings.front().spread());
    if (samples.front().repeats >= fewest_samples) return keep_default("another thread is on the core");
    if (spread > most_spread)
      return keep_default(fmt::format("the machine is too noisy, {:.0f} % of spread", 100 * spread));
    return {code_of(winner),
            fmt::format("measured, {} candidates, {:.1f} ms", kernels_.size(), 1e3 * spent()),
            FirstUse::Times{timings[winner], timings.front(), winner == 0}};
  }

  std::shared_ptr<Code> code_of(size_t number) const {
    return *std::ranges::find_if(
        codes_, [&](const std::shared_ptr<Code>& code) { return code.get() == &kernels_[number]->code(); });
  }

  const frontend::PoolSpec& spec_;
  const Choices& choices_;
  const FirstUseLimits& limits_;
  const double start_;
  std::vector<std::shared_ptr<Code>> codes_;  // the default's first
  std::vector<KernelPtr> kernels_;            // of those that agree
  std::unique_ptr<const Workload> workload_;
};

}  // namespace

std::vector<ir::Schedule> first_use_candidates(const ir::PoolNest& nest, ir::Isa isa,
                                               const ir::Schedule& standard, size_t most) {
  std::vector<Ranked> ranked;
  std::vector<ir::Schedule> all = {standard};
  for (const ir::Schedule& one : ir::shortlist(nest, isa, counted))
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  for (ir::Schedule& schedule : all) {
    auto program = legal_program(nest, schedule, standard.stores, isa);
    if (!program || std::ranges::find(ranked, *program, &Ranked::program) != ranked.end()) continue;
    const ir::Cost cost = ir::predict(*program, nest, 1, machine().row);
    ranked.push_back({schedule, std::move(*program), cost});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(a.cost.seconds, a.cost.cycles) < std::tie(b.cost.seconds, b.cost.cycles);
  });
  std::vector<ir::Schedule> found;
  for (const Ranked& one : ranked)
    if (one.schedule != standard && found.size() < most) found.push_back(one.schedule);
  return found;
}

std::string keep(const FirstUse& found, TuneEntry key, const std::string& database) {
  if (database.empty() || !found.times) return "";
  key.schedule = found.code->info.schedule;
  key.seconds = found.times->winner.median;
  key.spread = found.times->winner.spread();
  key.default_seconds = found.times->standard.median;
  key.proof = measured_proof;
  const auto stored = store_entries(database, {key});
  return stored ? ", kept in " + database : ", not kept: " + to_string(stored.error());
}

ir::Result<FirstUse> measure_first_use(const frontend::PoolSpec& spec, const Choices& choices,
                                       const FirstUseLimits& limits) {
  return Race(spec, choices, limits).run();
}

}  // namespace pooljit::runtime
