#include "tools/bench/comparison.h"

#include <deque>

#include "frontend/check.h"
#include "runtime/limits.h"
#include "runtime/options.h"
#include "tools/bench/turns.h"
#include "tools/bench_case.h"

namespace pooljit::tools {
namespace {

// Everybody who takes part in one layer; what they point to lives as long.
class Contest {
 public:
  Contest(const BenchCase& bench, const ComparisonOptions& options) : bench_(bench), options_(options) {
    for (size_t i = 0; i < bench.pool_count(); ++i) layers_.emplace_back(bench.pool(i));
    // Which has been seen to succeed.
    turns_.add(pooljit_name, [this] { static_cast<void>(bench_.run_kernel()); });
  }
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  ir::Result<void> add_exact(const runtime::Kernel& exact) {
    const auto differences = bench_.differences_from(exact);
    if (!differences) return tl::unexpected(differences.error());
    turns_.add(
        exact_name, [this, &exact] { static_cast<void>(bench_.run_kernel(exact)); }, *differences);
    return {};
  }

  void add_plain_loop(int64_t differences, double seconds, LayerResult& result) {
    if (seconds > options_.longest_seconds)
      return result.left_out.push_back({std::string(plain_loop_name), too_long(seconds)});
    turns_.add(
        std::string(plain_loop_name), [this] { bench_.run_plain(); }, differences);
  }

  // A layer for each pool, one after the other, and what makes one tensor of their results: ours, moving
  // bytes in as many threads. What it cannot do is left out, and said in the result. Errors: "system.memory".
  ir::Result<void> add_peer(const Peer& peer, LayerResult& result) {
    if (bench_.reads_indices()) {
      result.left_out.push_back({peer.name(), "is asked for forward poolings only"});
      return {};
    }
    auto tensors = bench_.theirs();
    if (!tensors) return tl::unexpected(tensors.error());
    Theirs& own = theirs_.emplace_back(Theirs{std::move(*tensors), {}});
    const auto leave_out = [&](const std::string& why) {
      theirs_.pop_back();
      result.left_out.push_back({peer.name(), why});
      return ir::Result<void>();
    };
    double setup = 0;
    for (size_t i = 0; i < layers_.size(); ++i) {
      ir::Result<PeerCall> call = ir::unsupported("bench.peer", "");
      setup += seconds_of([&] { call = layers_[i].prepare(peer, own.tensors[i]); });
      if (!call) return leave_out(call.error().message);
      bool is_done = false;
      const double first = seconds_of([&] { is_done = (*call)(); });
      if (!is_done) return leave_out("does not do this type or layer, it says when it runs");
      if (first > options_.longest_seconds) return leave_out(too_long(first));
      setup += first;
      own.calls.push_back(std::move(*call));
    }
    const auto differences = bench_.differences_from(own.tensors);
    if (!differences) return tl::unexpected(differences.error());
    const auto work = [this, &own] {
      for (const PeerCall& call : own.calls) static_cast<void>(call());
      bench_.join(own.tensors);
    };
    turns_.add(peer.name(), work, *differences, setup);
    return {};
  }

  void measure(LayerResult& result) {
    turns_.measure(
        options_.seconds, [this](bool streaming) { bench_.run_copy(streaming); }, result);
  }

 private:
  struct Theirs {
    std::vector<BenchCase::Theirs> tensors;
    std::vector<PeerCall> calls;
  };

  const BenchCase& bench_;
  const ComparisonOptions& options_;
  std::deque<PeerLayer> layers_;  // by pool
  std::deque<Theirs> theirs_;
  Turns turns_;
};

ir::Result<void> add_peers(std::span<const Peer> peers, const frontend::PoolSpec& spec, Contest& contest,
                           LayerResult& result) {
  std::string why = why_no_peer(spec);
  for (const frontend::PoolSpec& pool : pools_of(spec))
    if (why.empty()) why = why_no_peer(pool);
  for (const Peer& peer : peers) {
    if (!why.empty())
      result.left_out.push_back({peer.name(), why});
    else if (auto ok = contest.add_peer(peer, result); !ok)
      return ok;
  }
  return {};
}

// pooljit's kernels for a layer.
struct OurKernels {
  runtime::KernelPtr measured;
  // With any_size: of code for the layer's size alone, which takes part as exact_name. Else null.
  runtime::KernelPtr exact;
  double setup_seconds = 0;  // with any_size: of a size that is new to the code for all
};

// What is known of the kernel's layer before anything is measured.
LayerResult about_layer(const std::string& name, const runtime::Kernel& kernel) {
  LayerResult result;
  result.name = name, result.spec = kernel.text();
  result.dtype = info(kernel.spec().dtype).spec_name;
  result.schedule = kernel.code().info.schedule, result.schedule_origin = kernel.schedule_origin();
  for (size_t i = 0; i < kernel.output_views().size(); ++i) {
    int64_t outputs = 1;
    for (const int64_t extent : kernel.output_shape(i)) outputs *= extent;
    result.outputs += outputs;
  }
  return result;
}

// And of its compile, the last; with any_size of that of `exact`.
ir::Result<LayerResult> with_compile_time(LayerResult result, const OurKernels& kernels,
                                          const ComparisonOptions& options) {
  const auto compile = time_compile(result.spec, options.engine, options.seconds);
  if (!compile) return tl::unexpected(compile.error());
  result.compile = *compile;
  for (EngineResult& engine : result.engines) {
    const bool is_any_size = kernels.exact && engine.engine == pooljit_name;
    if (is_any_size)
      engine.setup_seconds = kernels.setup_seconds;
    else if (is_ours(engine))
      engine.setup_seconds = compile->median;
  }
  return result;
}

// Errors: the spec's, pooljit's, "bench.any_size": the layer has no code for all sizes.
ir::Result<OurKernels> our_kernels(const frontend::PoolSpec& spec, const ComparisonOptions& options) {
  auto own = runtime::compile(print(spec), options.engine);
  if (!own) return tl::unexpected(own.error());
  if (!options.any_size) return OurKernels{.measured = std::move(*own), .exact = nullptr};
  frontend::PoolSpec free = spec;
  std::vector<int64_t> size;
  for (const frontend::SpecDim& dim : free.dims) size.push_back(dim.input);
  for (frontend::PoolSpec& pool : pools_of(free))
    for (frontend::SpecDim& dim : pool.dims) dim.is_free = true;
  share_input(free);
  runtime::Options engine = options.engine;
  engine.exact_after = runtime::never_exact;  // also at sizes that would be compiled at once
  const auto any = runtime::compile_any(print(free), engine);
  if (!any) return tl::unexpected(any.error());
  const auto& all_sizes = std::get<runtime::FreeKernelPtr>(*any);
  const auto refuse = [](const std::string& why) {
    return ir::unsupported("bench.any_size", "no code for all sizes: " + why, "leave --any-size out");
  };
  if (!all_sizes->general_code()) return refuse(all_sizes->schedule_origin());
  ir::Result<runtime::KernelPtr> measured;
  const double setup_seconds = seconds_of([&] { measured = all_sizes->code_for(size); });
  if (!measured) return tl::unexpected(measured.error());
  if (!(*measured)->code().lowered().has_any_size())
    return refuse("this size has its own: " + (*measured)->schedule_origin());
  return OurKernels{std::move(*measured), std::move(*own), setup_seconds};
}

}  // namespace

ir::Result<Timing> time_compile(const std::string& spec, const runtime::Options& options,
                                double budget_seconds) {
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
  const auto kernels = our_kernels(spec, options);
  if (!kernels) return tl::unexpected(kernels.error());
  const bool is_alone = peers.empty() && !options.with_plain_loop;
  const auto bench = BenchCase::make(kernels->measured, runtime::thread_count(options.engine),
                                     is_alone ? Measured::beside_kernels : Measured::beside_all);
  if (!bench) return tl::unexpected(bench.error());
  LayerResult result = about_layer(name, *kernels->measured);
  result.threads = (*bench)->threads();
  result.bytes_read = (*bench)->bytes_read(), result.bytes_written = (*bench)->bytes_written();

  if (auto ok = (*bench)->run_kernel(); !ok) return tl::unexpected(ok.error());
  Contest contest(**bench, options);
  if (kernels->exact)
    if (auto ok = contest.add_exact(*kernels->exact); !ok) return tl::unexpected(ok.error());
  if (options.with_plain_loop) {
    ir::Result<int64_t> differences = 0;
    const double seconds = seconds_of([&] { differences = (*bench)->differences(); });
    if (!differences) return tl::unexpected(differences.error());
    contest.add_plain_loop(*differences, seconds, result);
  }
  if (auto ok = add_peers(peers, spec, contest, result); !ok) return tl::unexpected(ok.error());
  contest.measure(result);
  return with_compile_time(std::move(result), *kernels, options);
}

}  // namespace pooljit::tools
