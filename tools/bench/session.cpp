#include "tools/bench/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "frontend/check.h"
#include "runtime/machine.h"
#include "runtime/options.h"
#include "tools/bench/facts.h"
#include "tools/bench/families.h"
#include "tools/bench/google_benchmark.h"
#include "tools/bench/page.h"
#include "tools/bench/roofline.h"
#include "tools/bench/table.h"
#include "tools/interrupt.h"
#include "tools/output_files.h"
#include "tools/progress.h"

namespace pooljit::tools {
namespace {

// The outputs that were asked for; paths are tried before the work begins.
class Outputs {
 public:
  ir::Result<void> open(const SessionArguments& arguments) {
    const struct {
      const std::string& path;
      std::string (*make)(const BenchResults&);
    } wanted[] = {{arguments.report, [](const BenchResults& results) { return as_page(as_json(results)); }},
                  {arguments.json_file, as_json},
                  {arguments.benchmark_file, as_google_benchmark}};
    for (const auto& [path, make] : wanted) {
      if (path.empty()) continue;
      if (auto added = files_.add(path); !added) return tl::unexpected(added.error());
      makers_.push_back(make);
    }
    return {};
  }

  ir::Result<void> write(const BenchResults& results) {
    for (size_t i = 0; i < makers_.size(); ++i) {
      const std::string text = makers_[i](results);
      if (auto ok = files_.write(i, std::as_bytes(std::span(text))); !ok) return ok;
    }
    return files_.commit();
  }

  bool any() const { return !makers_.empty(); }

 private:
  OutputFiles files_;
  std::vector<std::string (*)(const BenchResults&)> makers_;
};

// The layer as the arguments, whose dtype is one, ask for it. Errors: the spec's.
ir::Result<frontend::PoolSpec> vary(const std::string& text, const SessionArguments& arguments) {
  auto spec = frontend::parse_spec(text);
  if (!spec) return spec;
  for (frontend::PoolSpec& one : pools_of(*spec)) {
    if (!arguments.layout.empty())
      one.layout = arguments.layout == "nhwc" ? frontend::Layout::nhwc : frontend::Layout::nchw;
    if (!arguments.dtype.empty()) one.dtype = *ir::find_dtype(arguments.dtype);
  }
  share_input(*spec);
  return frontend::check_spec(std::move(*spec));
}

class Session {
 public:
  Session(const SessionArguments& arguments, Peers peers, ir::Isa isa, std::vector<FamilyPlan> families)
      : arguments_(arguments),
        peers_(std::move(peers)),
        isa_(isa),
        families_(std::move(families)),
        progress_(arguments.problems.size() + family_members()) {}

  ir::Result<void> start(bool with_roofline) {
    results_.load_before = load_of_minute();
    results_.command = command_line(), results_.date = utc_now(), results_.machine = machine_facts();
    const auto& caches = runtime::machine().caches.bytes;
    results_.caches.assign(caches.begin(), caches.end());
    results_.absent = peers_.absent;
    for (const LeftOut& absent : peers_.absent)
      fmt::print(stderr, "pooljit: peer {} is not here: {}\n", absent.engine, absent.why);
    if (auto ok = start_peers(threads()); !ok) return ok;
    name_engines();
    if (!with_roofline) return {};
    auto roofline = measure_roofline(threads(), arguments_.comparison.seconds);
    if (!roofline) return tl::unexpected(roofline.error());
    results_.roofline = std::move(*roofline);
    return {};
  }

  void run_layers() {
    if (!arguments_.json) print_head();
    for (const Problem& problem : arguments_.problems) {
      if (interrupted()) return;
      progress_.show(++steps_, problem.name);
      const auto spec = vary(problem.spec, arguments_);
      auto layer = spec ? compare_layer(problem.name, *spec, peers_.found, arguments_.comparison)
                        : tl::unexpected(spec.error());
      progress_.clear();
      if (layer) {
        if (!arguments_.json) print_layer(*layer);
        print_left_out(*layer);
        results_.layers.push_back(std::move(*layer));
      } else {
        fmt::print(stderr, "left out: {}: {}\n", problem.name, to_string(layer.error()));
        results_.refused.push_back({problem.name, problem.spec, layer.error()});
      }
    }
  }

  ir::Result<void> run_families() {
    for (const FamilyPlan& plan : families_) {
      LayerFamily family{plan.name, plan.axis, print(plan.members.front().spec), {}};
      for (const FamilySpec& member : plan.members) {
        if (interrupted()) break;
        progress_.show(++steps_, fmt::format("{} {}", plan.name, member.value));
        ComparisonOptions options = arguments_.comparison;
        options.engine.threads = member.threads;
        if (auto ok = start_peers(member.threads); !ok) return ok;
        auto layer =
            compare_layer(fmt::format("{} {}", plan.name, member.value), member.spec, peers_.found, options);
        progress_.clear();
        if (layer)
          family.members.push_back({member.value, std::move(*layer)});
        else
          fmt::print(stderr, "left out: {} {}: {}\n", plan.name, member.value, to_string(layer.error()));
      }
      if (!family.members.empty()) results_.families.push_back(std::move(family));
    }
    return {};
  }

  BenchResults finish() {
    results_.is_complete = !interrupted();
    results_.load_after = load_of_minute();
    results_.machine.push_back({"load of the last minute of measuring", print(results_.load_after)});
    for (const std::string& one : disturbances(results_)) fmt::print(stderr, "pooljit: {}\n", one);
    return std::move(results_);
  }

 private:
  int threads() const { return runtime::thread_count(arguments_.comparison.engine); }
  size_t family_members() const {
    size_t members = 0;
    for (const FamilyPlan& plan : families_) members += plan.members.size();
    return members;
  }

  ir::Result<void> start_peers(int threads) const {
    for (const Peer& peer : peers_.found)
      if (auto ok = peer.start(threads, isa_); !ok) return ok;
    return {};
  }

  void name_engines() {
    const runtime::Options& engine = arguments_.comparison.engine;
    results_.engines.push_back(
        {pooljit_name,
         fmt::format("pooljit {}, back end {}, {}, {}{}", POOLJIT_VERSION, engine.backend, info(isa_).text,
                     engine.schedule.empty() ? "default schedules" : engine.schedule,
                     arguments_.comparison.any_size ? ", code for all sizes" : "")});
    if (arguments_.comparison.any_size)
      results_.engines.push_back({exact_name, "pooljit's code for each layer's size alone"});
    if (peers_.has_plain_loop)
      results_.engines.push_back({std::string(plain_loop_name), "a plain C++ loop, -O3 -march=native"});
    for (const Peer& peer : peers_.found) results_.engines.push_back({peer.name(), peer.version()});
    for (const MeasuredEngine& one : results_.engines)
      fmt::print(stderr, "engine: {}: {}\n", one.name, one.version);
  }

  const SessionArguments& arguments_;
  const Peers peers_;
  const ir::Isa isa_;
  const std::vector<FamilyPlan> families_;
  const Progress progress_;
  size_t steps_ = 0;
  BenchResults results_;
};

// What is asked for, as the arguments vary the layers. Errors: "bench.family", the spec's.
ir::Result<std::vector<FamilyPlan>> families_of(const SessionArguments& arguments) {
  if (arguments.report.empty() || arguments.family == "none") return std::vector<FamilyPlan>{};
  const auto base = vary(arguments.family, arguments);
  if (!base) return tl::unexpected(base.error());
  return plan_families(*base, runtime::thread_count(arguments.comparison.engine),
                       runtime::thread_count({.threads = 0}));
}

// A plain loop that differs is a mistake of ours, as are several pools that differ from each alone; of others
// it is said.
bool is_right(const LayerResult& layer) {
  for (const EngineResult& engine : layer.engines)
    if ((engine.engine == plain_loop_name || is_ours(engine)) && engine.differences != 0) return false;
  return true;
}

Exit exit_of(const BenchResults& results) {
  if (!results.is_complete) return Exit::interrupted;
  if (results.layers.empty())
    return results.refused.empty() ? Exit::unsupported : exit_of_error(results.refused.front().error);
  for (const LayerResult& layer : results.layers)
    if (!is_right(layer)) return Exit::difference;
  return Exit::ok;
}

}  // namespace

ir::Result<Exit> compare_layers(SessionArguments arguments) {
  if (!arguments.dtype.empty() && !ir::find_dtype(arguments.dtype))
    return ir::invalid("bench.dtype", fmt::format("unknown dtype '{}'", arguments.dtype),
                       "`pooljit list` has them");
  const auto choices = runtime::resolve(arguments.comparison.engine);
  if (!choices) return tl::unexpected(choices.error());
  for (std::string& folder : usual_peer_folders()) arguments.peer_folders.push_back(std::move(folder));
  auto peers = find_peers(arguments.peers, arguments.peer_folders);
  if (!peers) return tl::unexpected(peers.error());
  if (peers->has_plain_loop && !plain_loop_runs_here())
    return ir::unsupported("bench.plain_loop", "the plain loop was compiled for another machine",
                           "build pooljit on the machine that is to be measured");
  arguments.comparison.with_plain_loop = peers->has_plain_loop;
  auto families = families_of(arguments);
  if (!families) return tl::unexpected(families.error());
  Outputs outputs;
  if (auto ok = outputs.open(arguments); !ok) return tl::unexpected(ok.error());

  catch_interrupt();
  Session session(arguments, std::move(*peers), choices->isa, std::move(*families));
  if (auto ok = session.start(outputs.any() || arguments.json); !ok) return tl::unexpected(ok.error());
  session.run_layers();
  if (auto ok = session.run_families(); !ok) return tl::unexpected(ok.error());
  const BenchResults results = session.finish();
  if (arguments.json)
    fmt::print("{}", as_json(results));
  else
    print_summaries(summarize(results));
  if (auto ok = outputs.write(results); !ok) return tl::unexpected(ok.error());
  return exit_of(results);
}

}  // namespace pooljit::tools
