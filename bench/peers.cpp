// bench_peers: every spec of a problem file through pooljit and through the peers that were found, in one
// process, on the same data, taking turns; their results are compared first. Prints time and ratio per layer
// (the median of the ratios of neighbouring samples, and half the distance of their quartiles) and the
// geometric mean.
//
//   bench_peers --problems=bench/problems/networks.txt [--layout=nhwc] [--dtype=bfloat16] [--isa=avx2]
//   [--threads=N]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/peers/peer.h"
#include "frontend/check.h"
#include "runtime/options.h"
#include "tools/bench_case.h"
#include "tools/command.h"
#include "tools/measure.h"
#include "tools/problem_file.h"

namespace {

using namespace pooljit;

struct Arguments {
  std::string problems, layout, dtype;
  std::vector<std::string> peers;  // empty: all
  Options engine{"auto", "auto", "", 1};
  double seconds = 0.5;
  bool json = false;
};

struct Row {
  std::string name, spec, schedule, peer;
  tools::Timing ours, theirs, ratio;  // ratio: theirs / ours
  int64_t differences = 0;
};

std::vector<std::unique_ptr<bench::Peer>> find_peers([[maybe_unused]] const bench::PeerOptions& options,
                                                     const std::vector<std::string>& wanted) {
  std::vector<std::unique_ptr<bench::Peer>> peers;
#ifdef POOLJIT_PEER_ONEDNN
  peers.push_back(bench::make_onednn(options));
#endif
#ifdef POOLJIT_PEER_XNNPACK
  peers.push_back(bench::make_xnnpack(options));
#endif
#ifdef POOLJIT_PEER_TORCH
  peers.push_back(bench::make_torch(options));
#endif
  if (!wanted.empty())
    std::erase_if(peers, [&](const auto& peer) {
      return std::find(wanted.begin(), wanted.end(), peer->name()) == wanted.end();
    });
  return peers;
}

// The problem as the arguments ask for it. Errors: the spec's.
ir::Result<frontend::PoolSpec> vary(const std::string& text, const Arguments& arguments) {
  auto spec = frontend::parse_spec(text);
  if (!spec) return tl::unexpected(spec.error());
  if (!arguments.layout.empty())
    spec->layout = arguments.layout == "nhwc" ? frontend::Layout::nhwc : frontend::Layout::nchw;
  if (!arguments.dtype.empty()) {
    const auto dtype = ir::find_dtype(arguments.dtype);
    if (!dtype) return ir::invalid("bench.dtype", fmt::format("unknown dtype '{}'", arguments.dtype));
    spec->dtype = *dtype;
  }
  return frontend::check_spec(std::move(*spec));
}

bool can_compare(const frontend::PoolSpec& spec) {
  return spec.batch && spec.strides.empty() && spec.output_strides.empty() && !spec.return_indices &&
         !spec.quantized && spec.direction == ir::Direction::forward && output_dtype(spec) == spec.dtype &&
         output_layout(spec) == spec.layout && frontend::channel_block(spec.layout) == 1 &&
         spec.epilogue.empty();
}

ir::Result<Row> compare(const tools::Problem& problem, const Arguments& arguments, bench::Peer& peer) {
  const auto spec = vary(problem.spec, arguments);
  if (!spec) return tl::unexpected(spec.error());
  if (!can_compare(*spec))
    return ir::unsupported("bench.peer",
                           "peers are compared on packed forward batches without indices and epilogues");
  const std::string text = frontend::print(*spec);
  const auto kernel = runtime::compile(text, arguments.engine);
  if (!kernel) return tl::unexpected(kernel.error());
  const auto bench = tools::BenchCase::make(*kernel, runtime::thread_count(arguments.engine));
  if (!bench) return tl::unexpected(bench.error());
  const auto theirs = (*bench)->theirs();
  if (!theirs) return tl::unexpected(theirs.error());
  const auto call = peer.prepare((*kernel)->spec(), {theirs->input, theirs->output.data()});
  if (!call) return tl::unexpected(call.error());
  (*call)();
  const auto differences = (*bench)->differences_from(*theirs);
  if (!differences) return tl::unexpected(differences.error());
  const std::function<void()> contenders[] = {[&] { static_cast<void>((*bench)->run_kernel()); }, *call};
  const auto samples = tools::measure_samples(contenders, {.budget_seconds = arguments.seconds});
  std::vector<double> ratios;
  for (size_t i = 0; i < samples[0].seconds.size(); ++i)
    ratios.push_back(samples[1].seconds[i] / samples[0].seconds[i]);
  return Row{problem.name,
             text,
             (*kernel)->code().info.schedule,
             peer.name(),
             tools::summarize(samples[0].seconds),
             tools::summarize(samples[1].seconds),
             tools::summarize(ratios),
             *differences};
}

nlohmann::json to_json(const Row& row) {
  return {{"name", row.name},
          {"spec", row.spec},
          {"schedule", row.schedule},
          {"peer", row.peer},
          {"pooljit_seconds", row.ours.median},
          {"peer_seconds", row.theirs.median},
          {"ratio", row.ratio.median},
          {"ratio_spread", row.ratio.spread()},
          {"differences", row.differences}};
}

void print_row(const Row& row) {
  fmt::print("{:34} {:10} {:>11.2f} {:>11.2f} {:>8.2f} +- {:4.1f} %  {}{}\n", row.name, row.peer,
             row.ours.median * 1e6, row.theirs.median * 1e6, row.ratio.median, row.ratio.spread() * 100,
             row.schedule, row.differences == 0 ? "" : fmt::format("  ({} results differ)", row.differences));
  std::fflush(stdout);
}

void print_mean(const std::vector<Row>& rows, const std::string& peer) {
  double sum = 0, least = INFINITY;
  int count = 0;
  for (const Row& row : rows) {
    if (row.peer != peer) continue;
    sum += std::log(row.ratio.median);
    least = std::min(least, row.ratio.median);
    ++count;
  }
  if (count > 0)
    fmt::print("{}: {} layers, geometric mean {:.2f}, least {:.2f}\n", peer, count, std::exp(sum / count),
               least);
}

ir::Result<tools::Exit> run_problems(const Arguments& arguments) {
  const auto problems = tools::read_problems(arguments.problems);
  if (!problems) return tl::unexpected(problems.error());
  const auto choices = runtime::resolve(arguments.engine);
  if (!choices) return tl::unexpected(choices.error());
  const auto peers = find_peers({runtime::thread_count(arguments.engine), choices->isa}, arguments.peers);
  for (const auto& peer : peers) fmt::print(stderr, "peer: {} {}\n", peer->name(), peer->version());
  if (peers.empty()) fmt::print(stderr, "no such peer was found when this was built\n");
  std::vector<Row> rows;
  if (!arguments.json)
    fmt::print("{:34} {:10} {:>11} {:>11} {:>8}\n", "layer", "peer", "pooljit us", "peer us", "ratio");
  for (const tools::Problem& problem : *problems)
    for (const auto& peer : peers) {
      const auto row = compare(problem, arguments, *peer);
      if (!row) {
        fmt::print(stderr, "left out: {} beside {}: {}\n", problem.name, peer->name(), row.error().message);
        continue;
      }
      rows.push_back(*row);
      if (!arguments.json) print_row(*row);
    }
  if (arguments.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const Row& row : rows) all.push_back(to_json(row));
    fmt::print("{}\n", all.dump(2));
  } else {
    for (const auto& peer : peers) print_mean(rows, peer->name());
  }
  return tools::Exit::ok;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Measures pooljit beside other libraries, layer by layer.");
  app.add_option("--problems", arguments.problems, "NAME<TAB>SPEC a line")->required();
  app.add_option("--peer", arguments.peers, "Only this one: onednn, xnnpack or torch; may be repeated");
  app.add_option("--layout", arguments.layout, "Instead of the problem's")
      ->check(CLI::IsMember({"nchw", "nhwc"}));
  app.add_option("--dtype", arguments.dtype, "Instead of the problem's: float32, uint8, ...");
  app.add_option("--backend", arguments.engine.backend, "pooljit's: auto, xbyak, llvm");
  app.add_option("--schedule", arguments.engine.schedule, "pooljit's, instead of the default choice");
  app.add_option("--isa", arguments.engine.isa, "Of all: auto, avx2, avx512");
  app.add_option("--threads", arguments.engine.threads, "Of each; 0: as many as this process may use");
  app.add_option("--seconds", arguments.seconds, "Per layer and peer");
  app.add_flag("--json", arguments.json, "JSON instead of a table");
  CLI11_PARSE(app, argc, argv);
  const auto exit = run_problems(arguments);
  return static_cast<int>(exit ? *exit : tools::report(exit.error()));
}
