#include "tools/bench/comparison.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <optional>

#include "runtime/options.h"
#include "tools/bench_case.h"

namespace pooljit::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Of threads that spin: about as long as those of libgomp and pthreadpool do before they sleep.
constexpr double settle_threads_seconds = 0.01;

double seconds_of(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string too_long(double seconds) {
  return fmt::format("one call takes {:.3g} s, more than --longest", seconds);
}

// Adaptive windows that are all alike, for engines that know no others.
std::optional<frontend::PoolSpec> with_fixed_windows(frontend::PoolSpec spec) {
  if (!is_adaptive(spec)) return std::nullopt;
  for (frontend::SpecDim& dim : spec.dims) {
    if (dim.input % dim.adaptive_output != 0) return std::nullopt;
    dim.kernel = dim.stride = dim.input / dim.adaptive_output;
    dim.adaptive_output = 0;
  }
  return spec;
}

// Everybody who takes part in one layer; what they point to lives as long.
class Contest {
 public:
  Contest(const BenchCase& bench, const frontend::PoolSpec& spec, const ComparisonOptions& options)
      : bench_(bench), layer_(spec), options_(options) {
    if (const auto fixed = with_fixed_windows(spec)) fixed_layer_.emplace(*fixed);
    add(pooljit_name, [this] { static_cast<void>(bench_.run_kernel()); });  // which has been seen to succeed
    add("", [this] { bench_.run_copy(false); });
  }
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  void add_plain_loop(int64_t differences, double seconds, LayerResult& result) {
    if (seconds > options_.longest_seconds)
      return result.left_out.push_back({std::string(plain_loop_name), too_long(seconds)});
    add(std::string(plain_loop_name), [this] { bench_.run_plain(); });
    engines_.back().differences = differences;
  }

  // What it cannot do is left out, and said in the result. Errors: "system.memory".
  ir::Result<void> add_peer(const Peer& peer, LayerResult& result) {
    auto tensors = bench_.theirs();
    if (!tensors) return tl::unexpected(tensors.error());
    tensors_.push_back(std::move(*tensors));
    ir::Result<PeerCall> call = ir::unsupported("bench.peer", "");
    const double setup = seconds_of([&] {
      call = peer.prepare(layer_, tensors_.back());
      if (!call && fixed_layer_) call = peer.prepare(*fixed_layer_, tensors_.back());
    });
    const auto leave_out = [&](const std::string& why) { result.left_out.push_back({peer.name(), why}); };
    if (!call) return leave_out(call.error().message), ir::Result<void>();
    calls_.push_back(std::move(*call));
    bool is_done = false;
    const double first = seconds_of([&] { is_done = calls_.back()(); });
    if (!is_done)
      return leave_out("does not do this type or layer, it says when it runs"), ir::Result<void>();
    if (first > options_.longest_seconds) return leave_out(too_long(first)), ir::Result<void>();
    const auto differences = bench_.differences_from(tensors_.back());
    if (!differences) return tl::unexpected(differences.error());
    add(peer.name(), [&one = calls_.back()] { static_cast<void>(one()); });
    engines_.back().differences = *differences;
    engines_.back().setup_seconds = setup + first;
    return {};
  }

  // All take turns but the copy with streaming stores, which would leave empty caches to the next one.
  void measure(LayerResult& result) {
    MeasureOptions how{.budget_seconds = options_.seconds * double(contenders_.size()), .fewest_samples = 5};
    if (result.threads > 1) how.settle_seconds = settle_threads_seconds;
    const std::vector<Samples> samples = measure_samples(contenders_, how);
    const std::function<void()> stream = [this] { bench_.run_copy(true); };
    how.budget_seconds = options_.seconds;
    const Timing copy = summarize(samples[1].seconds), streaming = tools::measure({&stream, 1}, how)[0];
    result.copy_streams = streaming.median < copy.median;
    result.copy = result.copy_streams ? streaming : copy;
    for (size_t i = 0; i < samples.size(); ++i) {
      EngineResult& engine = engines_[i];
      if (engine.engine.empty()) continue;
      engine.samples = samples[i];
      engine.call = summarize(samples[i].seconds, samples[i].calls_per_sample);
      if (i > 0) engine.ratio = ratio(samples[i], samples[0]);
      result.engines.push_back(std::move(engine));
    }
  }

 private:
  void add(std::string name, std::function<void()> work) {
    contenders_.push_back(std::move(work));
    engines_.push_back({.engine = std::move(name), .call = {}, .ratio = {}, .samples = {}});
  }

  static Timing ratio(const Samples& theirs, const Samples& ours) {
    std::vector<double> ratios;
    for (size_t i = 0; i < theirs.seconds.size(); ++i) ratios.push_back(theirs.seconds[i] / ours.seconds[i]);
    return summarize(std::move(ratios));
  }

  const BenchCase& bench_;
  const runtime::Layer layer_;
  std::optional<runtime::Layer> fixed_layer_;  // the same without adaptive windows, where that can be said
  const ComparisonOptions& options_;
  std::deque<BenchCase::Theirs> tensors_;
  std::deque<PeerCall> calls_;
  std::vector<std::function<void()>> contenders_;
  std::vector<EngineResult> engines_;  // of the contenders; "" is a copy
};

// Peers take and give packed tensors, and have nothing behind the pooling.
std::string why_no_peer(const frontend::PoolSpec& spec) {
  if (!spec.batch) return "peers are compared on layers with a batch";
  if (!spec.strides.empty() || !spec.output_strides.empty()) return "peers are compared on packed tensors";
  if (!spec.epilogue.empty()) return "peers are compared without an epilogue";
  return "";
}

ir::Result<void> add_peers(std::span<const Peer> peers, const frontend::PoolSpec& spec, Contest& contest,
                           LayerResult& result) {
  const std::string why = why_no_peer(spec);
  for (const Peer& peer : peers) {
    if (!why.empty())
      result.left_out.push_back({peer.name(), why});
    else if (auto ok = contest.add_peer(peer, result); !ok)
      return ok;
  }
  return {};
}

}  // namespace

ir::Result<Timing> time_compile(const std::string& spec, const Options& options, double budget_seconds) {
  constexpr int most = 200, fewest = 5;
  std::vector<double> seconds;
  double spent = 0;
  for (int i = 0; i <= most && (i <= fewest || spent < budget_seconds); ++i) {
    ir::Result<runtime::KernelPtr> kernel;
    const double elapsed = seconds_of([&] { kernel = runtime::compile_uncached(spec, options); });
    if (!kernel) return tl::unexpected(kernel.error());
    if (i > 0) seconds.push_back(elapsed);
    spent += elapsed;
  }
  return summarize(std::move(seconds));
}

ir::Result<LayerResult> compare_layer(const std::string& name, const frontend::PoolSpec& spec,
                                      std::span<const Peer> peers, const ComparisonOptions& options) {
  const auto kernel = runtime::compile(print(spec), options.engine);
  if (!kernel) return tl::unexpected(kernel.error());
  const auto bench = BenchCase::make(*kernel, runtime::thread_count(options.engine));
  if (!bench) return tl::unexpected(bench.error());
  LayerResult result;
  result.name = name, result.spec = (*kernel)->text();
  result.dtype = info(spec.dtype).spec_name;
  result.schedule = (*kernel)->code().info.schedule;
  result.schedule_origin = (*kernel)->schedule_origin();
  result.threads = (*bench)->threads();
  result.bytes_read = (*bench)->bytes_read(), result.bytes_written = (*bench)->bytes_written();
  result.outputs = 1;
  for (const int64_t extent : output_shape(spec)) result.outputs *= extent;

  if (auto ok = (*bench)->run_kernel(); !ok) return tl::unexpected(ok.error());
  Contest contest(**bench, spec, options);
  if (options.with_plain_loop && !(*bench)->has_plain_loop()) {
    result.left_out.push_back({std::string(plain_loop_name), "has no windows of changing size"});
  } else if (options.with_plain_loop) {
    ir::Result<int64_t> differences = 0;
    const double seconds = seconds_of([&] { differences = (*bench)->differences(); });
    if (!differences) return tl::unexpected(differences.error());
    contest.add_plain_loop(*differences, seconds, result);
  }
  if (auto ok = add_peers(peers, spec, contest, result); !ok) return tl::unexpected(ok.error());
  contest.measure(result);
  const auto compile = time_compile(result.spec, options.engine, options.seconds);
  if (!compile) return tl::unexpected(compile.error());
  result.compile = *compile;
  result.engines.front().setup_seconds = compile->median;
  return result;
}

}  // namespace pooljit::tools
