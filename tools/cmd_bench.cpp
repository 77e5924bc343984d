// `pooljit bench`: what a kernel costs to make and to call, against a plain loop and against what the memory
// allows.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "frontend/pool_spec.h"
#include "runtime/options.h"
#include "tools/bench/session.h"
#include "tools/bench_case.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/measure.h"
#include "tools/sizes.h"
#include "tools/time_text.h"

namespace pooljit::tools {
namespace {

struct BenchArguments {
  std::string spec, size, file;
  runtime::Options options;
  bool json = false;
  SessionArguments session;
};

struct BenchReport {
  std::string spec, backend, isa, schedule, schedule_origin;
  int threads = 1;
  size_t code_bytes = 0;
  Timing compile, cache_hit, call, copy, streaming_copy;
  std::optional<Timing> plain;
  std::string no_plain_loop;            // why it is not there
  double call_slow = 0, copy_slow = 0;  // the 99th percentiles of single calls, in seconds
  int64_t bytes_read = 0, bytes_written = 0;
  int64_t differences = 0;
  // Of several pools: a kernel for each, and these one after the other, each into an output of its own; what
  // makes one tensor of these is not counted.
  struct Member {
    std::string spec;
    Timing compile, call;
  };
  std::vector<Member> members;
  std::optional<Timing> apart;

  double gigabytes() const { return static_cast<double>(bytes_read + bytes_written) * 1e-9; }
  double bandwidth() const { return gigabytes() / call.median; }
  // The faster way of the two to move as many bytes.
  const Timing& best_copy() const { return copy.median <= streaming_copy.median ? copy : streaming_copy; }
  double copy_bandwidth() const { return gigabytes() / best_copy().median; }
  double share() const { return best_copy().median / call.median; }
  double speedup() const { return plain->median / call.median; }
  double members_compile() const {
    return std::accumulate(members.begin(), members.end(), 0.0,
                           [](double sum, const Member& one) { return sum + one.compile.median; });
  }
  double times_the_slowest() const {
    const auto median = [](const Member& one) { return one.call.median; };
    return call.median / median(*std::ranges::max_element(members, {}, median));
  }
};

using Cases = std::vector<std::unique_ptr<BenchCase>>;

// All take turns but the copy with streaming stores, which would leave empty caches to the next one.
void time_calls(const BenchCase& bench, const Cases& members, BenchReport& report) {
  std::vector<std::function<void()>> contenders = {
      [&] { (void)bench.run_kernel(); },  // differences() has seen it succeed
      [&] { bench.run_copy(false); },
  };
  if (bench.has_plain_loop()) contenders.emplace_back([&] { bench.run_plain(); });
  const size_t others = contenders.size();
  for (const auto& member : members) contenders.emplace_back([&] { (void)member->run_kernel(); });
  if (!members.empty())
    contenders.emplace_back([&] {
      for (const auto& member : members) (void)member->run_kernel();
    });
  const std::vector<Timing> timings = measure(contenders, {.budget_seconds = 1.5});
  const std::function<void()> stream = [&] { bench.run_copy(true); };
  report.call = timings[0];
  report.copy = timings[1];
  if (bench.has_plain_loop()) report.plain = timings[2];
  for (size_t i = 0; i < members.size(); ++i) report.members[i].call = timings[others + i];
  if (!members.empty()) report.apart = timings.back();
  report.streaming_copy = measure({&stream, 1}, {.budget_seconds = 0.5})[0];
  constexpr double share = 0.99, seconds = 0.3;
  report.call_slow = call_quantile(contenders[0], share, seconds);
  report.copy_slow = call_quantile(contenders[1], share, seconds);
}

// Beside the plain loop; if it does not do the layer, without, and `no_plain_loop` says why.
ir::Result<std::unique_ptr<BenchCase>> case_of(const runtime::KernelPtr& kernel,
                                               const runtime::Options& options, std::string& no_plain_loop) {
  const int threads = runtime::thread_count(options);
  auto bench = BenchCase::make(kernel, threads);
  if (bench) return bench;
  no_plain_loop = bench.error().message;
  return BenchCase::make(kernel, threads, Measured::beside_kernels);
}

// Of several pools, each as a layer of its own, in the layout that its results have.
ir::Result<Cases> members_of(const frontend::PoolSpec& spec, runtime::Options options, BenchReport& report) {
  options.schedule.clear();
  Cases cases;
  for (frontend::PoolSpec member : spec.members) {
    if (spec.concat) member.output_layout = spec.output_layout;
    const std::string text = print(member);
    const auto kernel = runtime::compile(text, options);
    if (!kernel) return tl::unexpected(kernel.error());
    auto bench = case_of(*kernel, options, report.no_plain_loop);
    if (!bench) return tl::unexpected(bench.error());
    const auto compile = time_compile(text, options, 0.2);
    if (!compile) return tl::unexpected(compile.error());
    cases.push_back(std::move(*bench));
    report.members.push_back({text, *compile, {}});
  }
  return cases;
}

ir::Result<BenchReport> measure_spec(const BenchArguments& arguments) {
  const auto kernel = runtime::compile(arguments.spec, arguments.options);
  if (!kernel) return tl::unexpected(kernel.error());
  if (!plain_loop_runs_here())
    return ir::unsupported("bench.plain_loop", "the plain loop was compiled for another machine",
                           "build pooljit on the machine that is to be measured");
  BenchReport report;
  const auto bench = case_of(*kernel, arguments.options, report.no_plain_loop);
  if (!bench) return tl::unexpected(bench.error());
  const runtime::CodeInfo& code = (*kernel)->code().info;
  report.spec = (*kernel)->text();
  report.backend = code.backend;
  report.isa = code.isa;
  report.schedule = code.schedule;
  report.schedule_origin = (*kernel)->schedule_origin();
  report.code_bytes = code.code_bytes;
  report.threads = (*bench)->threads();
  report.bytes_read = (*bench)->bytes_read();
  report.bytes_written = (*bench)->bytes_written();
  const auto differences =
      (*bench)->has_plain_loop() ? (*bench)->differences() : (*bench)->differences_from(**kernel);
  if (!differences) return tl::unexpected(differences.error());
  report.differences = *differences;

  const auto compile = time_compile(arguments.spec, arguments.options, 0.5);
  if (!compile) return tl::unexpected(compile.error());
  report.compile = *compile;
  const std::function<void()> hit[] = {[&] { (void)runtime::compile(arguments.spec, arguments.options); }};
  report.cache_hit = measure(hit, {.budget_seconds = 0.1})[0];
  const auto members = members_of((*kernel)->spec(), arguments.options, report);
  if (!members) return tl::unexpected(members.error());
  time_calls(**bench, *members, report);
  return report;
}

nlohmann::ordered_json as_json(const BenchReport& report) {
  nlohmann::ordered_json json = {{"spec", report.spec},
                                 {"backend", report.backend},
                                 {"isa", report.isa},
                                 {"schedule", report.schedule},
                                 {"schedule_origin", report.schedule_origin},
                                 {"threads", report.threads},
                                 {"code_bytes", report.code_bytes},
                                 {"compile", time_json(report.compile)},
                                 {"cache_hit", time_json(report.cache_hit)},
                                 {"call", time_json(report.call)},
                                 {"call_99th_percentile_seconds", report.call_slow},
                                 {"bytes_read", report.bytes_read},
                                 {"bytes_written", report.bytes_written},
                                 {"bytes_per_second", report.bandwidth() * 1e9},
                                 {"copy", time_json(report.copy)},
                                 {"copy_99th_percentile_seconds", report.copy_slow},
                                 {"streaming_copy", time_json(report.streaming_copy)},
                                 {"copy_bytes_per_second", report.copy_bandwidth() * 1e9},
                                 {"share_of_copy_bandwidth", report.share()}};
  if (report.plain)
    json.update({{"plain_loop", time_json(*report.plain)},
                 {"speedup_over_plain_loop", report.speedup()},
                 {"differences_to_plain_loop", report.differences}});
  else
    json["no_plain_loop"] = report.no_plain_loop;
  for (const BenchReport::Member& member : report.members)
    json["members"].push_back({{"spec", member.spec}, {"call", time_json(member.call)}});
  if (report.apart)
    json.update({{"apart", time_json(*report.apart)},
                 {"speedup_over_apart", report.apart->median / report.call.median},
                 {"times_the_slowest_alone", report.times_the_slowest()},
                 {"members_compile_seconds", report.members_compile()}});
  return json;
}

void print_report(const BenchReport& report) {
  const bool streams = report.streaming_copy.median < report.copy.median;
  fmt::print("{}\n", report.spec);
  fmt::print("  engine      {} {}, {} thread{}\n", report.backend, report.isa, report.threads,
             report.threads == 1 ? "" : "s");
  if (!report.schedule.empty())
    fmt::print("  schedule    {} ({})\n", report.schedule, report.schedule_origin);
  fmt::print("  code        {} bytes\n", report.code_bytes);
  fmt::print("  compile     {}   text to callable, {} times past the cache\n", time_text(report.compile),
             report.compile.samples);
  fmt::print("  cache hit   {}\n", time_text(report.cache_hit));
  fmt::print("  call        {}   {:.4g} MB read, {:.4g} MB written, {:.4g} GB/s\n", time_text(report.call),
             static_cast<double>(report.bytes_read) * 1e-6, static_cast<double>(report.bytes_written) * 1e-6,
             report.bandwidth());
  fmt::print(
      "  copy        {}   the same bytes only moved ({} stores): {:.4g} GB/s; the call reaches {:.0f} %\n",
      time_text(report.best_copy()), streams ? "streaming" : "ordinary", report.copy_bandwidth(),
      100 * report.share());
  if (report.plain)
    fmt::print(
        "  plain loop  {}   the call is {:.3g} times as fast; {}\n", time_text(*report.plain),
        report.speedup(),
        report.differences == 0 ? "same results" : fmt::format("{} RESULTS DIFFER", report.differences));
  else
    fmt::print("  plain loop  left out: {}\n", report.no_plain_loop);
  for (const BenchReport::Member& member : report.members)
    fmt::print("  alone       {}   {}\n", time_text(member.call), member.spec);
  if (report.apart)
    fmt::print(
        "  apart       {}   these one after the other: the call is {:.3g} times as fast, and takes {:.3g} "
        "times as long as the slowest of them; they compile in {}\n",
        time_text(*report.apart), report.apart->median / report.call.median, report.times_the_slowest(),
        time_text(report.members_compile()));
  fmt::print("  99 of 100   {:>9}   single calls take no longer; of ordinary copies {}\n",
             time_text(report.call_slow), time_text(report.copy_slow));
  fmt::print("  times are medians of samples that take turns, +- half the distance between the quartiles\n");
}

// The spec at --size. Errors: those of the spec, "spec.free", "size.text".
ir::Result<std::string> sized_spec(const BenchArguments& arguments) {
  auto sized = at_size(arguments.spec, arguments.size);
  if (!sized) return sized;
  if (const auto spec = frontend::parse_spec(*sized); !spec) return tl::unexpected(spec.error());
  return sized;
}

ir::Result<Exit> bench(BenchArguments arguments) {
  auto sized = sized_spec(arguments);
  if (!sized) return tl::unexpected(sized.error());
  arguments.spec = std::move(*sized);
  const auto report = measure_spec(arguments);
  if (!report) return tl::unexpected(report.error());
  if (arguments.json)
    fmt::print("{}\n", as_json(*report).dump(2));
  else
    print_report(*report);
  return report->differences == 0 ? Exit::ok : Exit::difference;
}

ir::Result<Exit> compare(BenchArguments arguments) {
  SessionArguments& session = arguments.session;
  if (arguments.file.empty()) {
    const auto sized = sized_spec(arguments);
    if (!sized) return tl::unexpected(sized.error());
    session.problems = {{arguments.size.empty() ? arguments.spec : *sized, *sized}};
  } else {
    std::vector<std::string> sizes;
    if (!arguments.size.empty()) sizes.push_back(arguments.size);
    auto problems = read_problems(arguments.file, sizes);
    if (!problems) return tl::unexpected(problems.error());
    session.problems = std::move(*problems);
  }
  session.comparison.engine = arguments.options;
  session.json = arguments.json;
  return compare_layers(std::move(session));
}

// Each of these options asks for layers beside peers.
std::vector<CLI::Option*> add_comparison(CLI::App& command, SessionArguments& session) {
  CLI::Option_group& group = *command.add_option_group("beside peers");
  return {
      group
          .add_option("--peers", session.peers,
                      "Comma-separated: onednn, torch, xnnpack, a library's path, plain (the plain loop), "
                      "all; or none")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str(),
      group
          .add_option("--peer-path", session.peer_folders, "Look for peers in this folder first; repeatable")
          ->allow_extra_args(false),
      group.add_option("--layout", session.layout, "Instead of the layers' own")
          ->check(CLI::IsMember({"nchw", "nhwc"})),
      group.add_option("--dtype", session.dtype, "Instead of the layers' own: float32, uint8, ..."),
      group.add_option("--seconds", session.comparison.seconds, "Of measuring, per layer and engine")
          ->check(CLI::PositiveNumber)
          ->capture_default_str(),
      group.add_flag("--any-size", session.comparison.any_size,
                     "Measure the code for all sizes, beside that for the layer's size alone (exact)"),
      group
          .add_option("--longest", session.comparison.longest_seconds,
                      "Leave a peer out where one call takes more seconds")
          ->check(CLI::PositiveNumber)
          ->capture_default_str(),
      group.add_option("--report", session.report, "Write one HTML page that needs no network"),
      group
          .add_option(
              "--family", session.family,
              "In the page: show the cost against kernel size, batch and threads of this SPEC; or none")
          ->capture_default_str(),
      group.add_option("--json-out", session.json_file, "Write the numbers as JSON"),
      group.add_option("--benchmark-out", session.benchmark_file, "Write them as Google Benchmark's JSON"),
  };
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "bench", "Time kernels against a plain loop, the memory's speed and other libraries");
  auto arguments = std::make_shared<BenchArguments>();
  CLI::Option_group* what = command->add_option_group("what to time");
  what->add_option("SPEC", arguments->spec,
                   "What to pool, e.g. 'max_pool2d(float32[1,64,112,112], kernel_size=3)'");
  CLI::Option* file =
      what->add_option("--file", arguments->file,
                       "Each spec of a file beside peers: SPEC or NAME<TAB>SPEC a line, # comments");
  what->require_option(1);
  add_size(*command, arguments->size);
  add_backend(*command, arguments->options);
  add_isa(*command, arguments->options);
  add_schedule(*command, arguments->options);
  add_tune_db(*command, arguments->options);
  add_measure(*command, arguments->options);
  add_threads(*command, arguments->options);
  command->add_flag("--json", arguments->json, "Print JSON; times in seconds");
  std::vector<CLI::Option*> comparing = add_comparison(*command, arguments->session);
  comparing.push_back(file);
  command->footer(
      "Compared are: the kernel; a plain C++ loop nest compiled with -O3 -march=native; a loop that only "
      "reads\n"
      "and writes as many bytes; and other libraries, if asked for. All in one process, on the same data "
      "and\n"
      "as many threads (the loops on plain ones, not on pooljit's pool), in turns. An option from --peers on "
      "asks for the comparison (docs/benchmarking.md).\n\n"
      "  pooljit bench 'max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)' --threads 1\n"
      "  pooljit bench --file bench/problems/networks.txt --peers onednn,torch,xnnpack --layout nhwc "
      "--threads 1 "
      "--report out.html");
  command->callback([&action, arguments, comparing] {
    const bool compares =
        std::ranges::any_of(comparing, [](const auto* option) { return option->count() > 0; });
    action = [arguments, compares] { return compares ? compare(*arguments) : bench(*arguments); };
  });
}

}  // namespace pooljit::tools
