#include "runtime/tuning/first_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "frontend/check.h"
#include "ir/choose/enumerate.h"
#include "ir/choose/shortlist.h"
#include "ir/cost.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "runtime/kernel.h"
#include "runtime/machine.h"
#include "runtime/tuning/numbers.h"
#include "runtime/tuning/store.h"
#include "runtime/tuning/workload.h"

namespace pooljit::runtime {
namespace {

constexpr size_t looks_per_candidate = 4;  // schedules that are tried once, for each that may run to the end
constexpr double look_seconds = 10e-6;     // of a trial
constexpr int looks = 2;
constexpr double worth_counting = 20e-6;  // seconds of a call
constexpr double hopeless = 4;            // times the default's predicted time
constexpr double sample_seconds = 50e-6;
constexpr int fewest_samples = 5;
constexpr double budget_calls = 30;                // of the default, where they take longer than the budget
constexpr int64_t most_bytes = int64_t{64} << 20;  // of memory, while one image will do
constexpr int64_t fewest_outputs = 4096;           // that are compared

// Two that are equal do the same.
bool is_same_code(const Code& a, const Code& b) {
  const std::vector<const Code*> of_a = a.versions(), of_b = b.versions();
  return std::ranges::equal(of_a, of_b, [](const Code* one, const Code* other) {
    const auto x = one->machine(), y = other->machine();
    return x && y && std::ranges::equal(x->blob->image, y->blob->image) && *x->tables == *y->tables;
  });
}

// Stores as the default has them: whether they pass the caches by is no question of one kernel's speed. Loops
// over taps where straight-line code has no registers. Null: neither has them.
std::shared_ptr<Code> code_of(const ir::PoolNest& nest, Choices choices, ir::Schedule schedule,
                              ir::Stores stores) {
  std::optional<ir::Schedule> loops = in_loops(schedule);
  for (ir::Schedule* const each : {&schedule, loops ? &*loops : nullptr}) {
    if (!each) break;
    for (const ir::Stores one : {stores, ir::Stores::cached}) {
      each->stores = one;
      choices.schedule = *each;
      if (auto code = info(choices.engine).make(nest, choices)) return std::move(*code);
      if (one == ir::Stores::cached) break;
    }
  }
  return nullptr;
}

// Larger batches than fill the memory that is spent on it take as long per image.
frontend::PoolSpec with_bounded_batch(frontend::PoolSpec spec, const ir::PoolNest& nest) {
  if (spec.free_batch || !spec.batch) return spec;
  int64_t bytes = input_view(nest, 1).span_bytes();
  for (const MemoryView& view : all_outputs(nest, 1)) bytes += view.span_bytes();
  const int64_t batch = std::clamp<int64_t>(most_bytes / std::max<int64_t>(bytes, 1), 1, *spec.batch);
  for (frontend::PoolSpec& pool : pools_of(spec)) pool.batch = batch;
  share_input(spec);
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
    if (spec_.batch == 0) return keep_default("a batch of 0 is no work");
    if (const auto tried = try_candidates(nest); !tried) return keep_default(tried.error().message);
    if (codes_.size() == 1) return keep_default("there is nothing to choose from");
    if (contenders_.size() == 1) return keep_default("no other gives the default's results");
    keep_promising();
    if (const auto checked = drop_what_disagrees(nest); !checked)
      return keep_default(checked.error().message);
    if (contenders_.size() == 1) return keep_default("no other gives the default's results");
    return race();
  }

 private:
  struct Contender {
    KernelPtr kernel;
    double seconds = 0;  // of a call, at a first look
  };

  FirstUse keep_default(const std::string& reason) const {
    return {codes_.front(), "the default; not measured: " + reason, std::nullopt};
  }

  double spent() const { return limits_.watch.seconds() - start_; }

  // The first round: one after the other is compiled, compared with the default and timed, while there is
  // time.
  ir::Result<void> try_candidates(const ir::PoolNest& nest) {
    const frontend::PoolSpec spec = with_bounded_batch(spec_, nest);
    const auto standard = std::make_shared<Kernel>(spec, codes_.front(), 1);
    auto workload = Workload::make(*standard, numbers(nest, 0));
    if (!workload) return tl::unexpected(workload.error());
    workload_ = std::make_unique<Workload>(std::move(*workload));
    ir::Result<void> done = look_at(standard);
    if (!done) return done;
    budget_ = std::max(limits_.budget_seconds, budget_calls * contenders_.front().seconds);
    const auto wanted = static_cast<size_t>(choices_.measuring.candidates);
    for_each_candidate(nest, choices_, *codes_.front(), [&](std::shared_ptr<Code> code) -> bool {
      if (!is_hopeless(nest, *code)) {
        codes_.push_back(std::move(code));
        done = look_at(std::make_shared<Kernel>(spec, codes_.back(), 1));
      }
      return done && spent() < (contenders_.size() < wanted ? budget_ : budget_ / 2);
    });
    return done;
  }

  // Expected to take much longer than the default, where a run of it would cost more than counting does.
  bool is_hopeless(const ir::PoolNest& nest, const Code& code) {
    if (contenders_.front().seconds < worth_counting) return false;
    const auto predicted = [&](const std::string& schedule) {
      const auto program = ir::lower_to(ir::Stage::legal, nest, *ir::parse_schedule(schedule), choices_.isa);
      return program ? ir::predict(*program, nest, 1, machine().row).seconds : 0;
    };
    if (predicted_ == 0) predicted_ = predicted(codes_.front()->info.schedule);
    return predicted(code.info.schedule) > hopeless * predicted_;
  }

  // Compares one run's results with the default's, which is looked at first; then times it.
  ir::Result<void> look_at(const KernelPtr& kernel) {
    workload_->clear_results();
    if (auto done = workload_->run(*kernel); !done) return done;
    if (contenders_.empty()) expected_ = workload_->results();
    if (!workload_->has_results(expected_)) return {};
    double least = std::numeric_limits<double>::infinity();
    for (int look = 0; look < looks; ++look) {
      const double begin = limits_.watch.seconds();
      for (int call = 0; call < calls_; ++call) (void)workload_->run(*kernel);  // it has succeeded above
      least = std::min(least, (limits_.watch.seconds() - begin) / calls_);
    }
    if (contenders_.empty() && least > 0)
      calls_ = static_cast<int>(std::clamp(look_seconds / least, 1.0, 1000.0));
    contenders_.push_back({kernel, least});
    return {};
  }

  // The default, and the fastest of the others.
  void keep_promising() {
    std::stable_sort(contenders_.begin() + 1, contenders_.end(),
                     [](const Contender& a, const Contender& b) { return a.seconds < b.seconds; });
    tried_ = contenders_.size();
    contenders_.resize(std::min(tried_, static_cast<size_t>(choices_.measuring.candidates)));
  }

  Fill numbers(const ir::PoolNest& nest, uint64_t seed) const {
    return
        [&nest, same_bits = choices_.measuring.same_bits, seed](ir::DType dtype, std::span<std::byte> bytes) {
          if (same_bits)
            fill_telling_orders(nest, seed, dtype, bytes);
          else
            fill_with_exact_sums(nest, seed, dtype, bytes);
        };
  }

  // same_bits: on more numbers, where one run has few outputs, and on those that tell of each pool.
  ir::Result<void> drop_what_disagrees(const ir::PoolNest& nest) {
    if (!choices_.measuring.same_bits) return {};
    const int64_t outputs = contenders_.front().kernel->output_view().element_count();
    const auto rounds = std::clamp<int64_t>(fewest_outputs / std::max<int64_t>(outputs, 1), 1, 16) *
                        std::ssize(pools_of(nest));
    for (int64_t round = 1; round < rounds; ++round) {
      workload_->refill(*contenders_.front().kernel, numbers(nest, static_cast<uint64_t>(round)));
      std::vector<Contender> agreed;
      for (const Contender& one : contenders_) {
        workload_->clear_results();
        if (auto done = workload_->run(*one.kernel); !done) return done;
        if (agreed.empty()) expected_ = workload_->results();
        if (agreed.empty() || workload_->has_results(expected_)) agreed.push_back(one);
      }
      contenders_ = std::move(agreed);
    }
    return {};
  }

  FirstUse race() const {
    std::vector<std::function<void()>> calls;
    for (const Contender& one : contenders_)
      calls.emplace_back([&] { (void)workload_->run(*one.kernel); });  // it has succeeded above
    const auto samples = measure_samples(calls, {.sample_seconds = sample_seconds,
                                                 .budget_seconds = std::max(budget_ - spent(), 0.0),
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
    return {code_of(winner), fmt::format("measured, {} candidates, {:.1f} ms", tried_, 1e3 * spent()),
            FirstUse::Times{timings[winner], timings.front(), winner == 0}};
  }

  std::shared_ptr<Code> code_of(size_t number) const {
    const Code& winner = contenders_[number].kernel->code();
    return *std::ranges::find_if(codes_,
                                 [&](const std::shared_ptr<Code>& code) { return code.get() == &winner; });
  }

  const frontend::PoolSpec& spec_;
  const Choices& choices_;
  const FirstUseLimits& limits_;
  const double start_;
  double budget_ = 0;                         // seconds
  std::vector<std::shared_ptr<Code>> codes_;  // the default's first
  std::unique_ptr<Workload> workload_;
  std::vector<std::byte> expected_;    // the default's results
  int calls_ = 1;                      // that a first look times together
  std::vector<Contender> contenders_;  // those that agree, the default first
  size_t tried_ = 0;
  double predicted_ = 0;  // seconds of the default, where it was asked for
};

}  // namespace

void for_each_candidate(const ir::PoolNest& nest, const Choices& choices, const Code& standard,
                        const std::function<bool(std::shared_ptr<Code>)>& visit) {
  const ir::Stores stores = ir::parse_schedule(standard.info.schedule)->stores;
  std::vector<std::shared_ptr<Code>> seen;
  const auto most = looks_per_candidate * static_cast<size_t>(choices.measuring.candidates);
  // Several pools have no shortlist: how they may go together, the chooser offers.
  std::vector<ir::Schedule> all = ir::shortlist(nest, choices.isa, SIZE_MAX);
  for (const ir::Schedule& offered : ir::enumerate_schedules(nest, choices.isa, most, machine().row))
    if (std::ranges::find(all, offered) == all.end()) all.push_back(offered);
  for (const ir::Schedule& schedule : all) {
    if (seen.size() == most) return;
    const std::shared_ptr<Code> code = code_of(nest, choices, schedule, stores);
    const auto is_same = [&](const std::shared_ptr<Code>& other) { return is_same_code(*code, *other); };
    if (!code || is_same_code(*code, standard) || std::ranges::any_of(seen, is_same)) continue;
    seen.push_back(code);
    if (!visit(code)) return;
  }
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
