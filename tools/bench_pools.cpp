#include "tools/bench_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "runtime/options.h"
#include "runtime/tuning/workload.h"
#include "tools/measure.h"
#include "tools/time_text.h"

namespace pooljit::tools {
namespace {

struct Contender {
  runtime::KernelPtr kernel;
  runtime::Workload workload;

  static ir::Result<Contender> make(runtime::KernelPtr kernel) {
    auto workload = runtime::Workload::make(*kernel);
    if (!workload) return tl::unexpected(workload.error());
    // Whatever is wrong with it shows here.
    if (auto ran = workload->run(*kernel); !ran) return tl::unexpected(ran.error());
    return Contender{std::move(kernel), std::move(*workload)};
  }
  void run() const { (void)workload.run(*kernel); }
};

double compile_seconds(const runtime::Kernel& kernel) {
  return std::chrono::duration<double>(kernel.code().info.compile_time).count();
}

ir::Result<std::vector<Contender>> members_of(const frontend::PoolSpec& spec,
                                              const runtime::Options& options) {
  auto kernels = compile_members(spec, options);
  if (!kernels) return tl::unexpected(kernels.error());
  std::vector<Contender> members;
  for (runtime::KernelPtr& kernel : *kernels) {
    auto contender = Contender::make(std::move(kernel));
    if (!contender) return tl::unexpected(contender.error());
    members.push_back(std::move(*contender));
  }
  return members;
}

}  // namespace

ir::Result<std::vector<runtime::KernelPtr>> compile_members(const frontend::PoolSpec& spec,
                                                            runtime::Options options) {
  options.schedule.clear();
  std::vector<runtime::KernelPtr> kernels;
  for (frontend::PoolSpec member : spec.members) {
    if (spec.concat) member.output_layout = spec.output_layout;
    auto kernel = runtime::compile(frontend::print(member), options);
    if (!kernel) return tl::unexpected(kernel.error());
    kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

namespace {

// Compiled anew a few times, the one kernel and the others in turn: the first compilation of a process takes
// several times as long.
ir::Result<void> time_compilation(const frontend::PoolSpec& spec, const runtime::Options& options,
                                  PoolsReport& report) {
  constexpr size_t rounds = 7;
  std::array<double, rounds> joined = {}, apart = {};
  for (size_t round = 0; round < rounds; ++round) {
    runtime::cache().clear();
    const auto kernel = runtime::compile(frontend::print(spec), options);
    if (!kernel) return tl::unexpected(kernel.error());
    joined[round] = compile_seconds(**kernel);
    const auto members = compile_members(spec, options);
    if (!members) return tl::unexpected(members.error());
    for (const runtime::KernelPtr& member : *members) apart[round] += compile_seconds(*member);
  }
  const auto median = [](std::array<double, rounds>& all) {
    std::ranges::nth_element(all, all.begin() + rounds / 2);
    return all[rounds / 2];
  };
  report.compile_seconds = median(joined), report.members_compile_seconds = median(apart);
  return {};
}

}  // namespace

const PoolsReport::Member& PoolsReport::slowest() const {
  return *std::ranges::max_element(members, {}, [](const Member& member) { return member.call.median; });
}

ir::Result<PoolsReport> measure_pools(const runtime::KernelPtr& kernel, const runtime::Options& options) {
  const frontend::PoolSpec& spec = kernel->spec();
  if (spec.batch == 0)
    return ir::invalid("bench.empty", "a batch of 0 is no work to measure", "give the spec a batch of 1");
  const auto joined = Contender::make(kernel);
  if (!joined) return tl::unexpected(joined.error());
  const auto members = members_of(spec, options);
  if (!members) return tl::unexpected(members.error());

  std::vector<std::function<void()>> contenders = {[&] { joined->run(); },
                                                   [&] { std::ranges::for_each(*members, &Contender::run); }};
  for (const Contender& member : *members) contenders.emplace_back([&member] { member.run(); });
  const std::vector<Timing> timings = measure(contenders, {.budget_seconds = 2});

  const runtime::CodeInfo& code = kernel->code().info;
  PoolsReport report{.spec = kernel->text(),
                     .backend = std::string(code.backend),
                     .isa = std::string(code.isa),
                     .schedule = code.schedule,
                     .schedule_origin = kernel->schedule_origin(),
                     .code_bytes = code.code_bytes,
                     .threads = kernel->threads(),
                     .call = timings[0],
                     .apart = timings[1],
                     .members = {}};
  for (size_t i = 0; i < members->size(); ++i)
    report.members.push_back({(*members)[i].kernel->text(), timings[2 + i]});
  if (const auto timed = time_compilation(spec, options, report); !timed)
    return tl::unexpected(timed.error());
  return report;
}

void print_report(const PoolsReport& report) {
  fmt::print("{}\n", report.spec);
  fmt::print("  engine      {} {}, {} thread{}\n", report.backend, report.isa, report.threads,
             report.threads == 1 ? "" : "s");
  if (!report.schedule.empty())
    fmt::print("  schedule    {} ({})\n", report.schedule, report.schedule_origin);
  fmt::print("  code        {} bytes, compiled in {}; the members' own kernels in {}\n", report.code_bytes,
             time_text(report.compile_seconds), time_text(report.members_compile_seconds));
  fmt::print("  call        {}\n", time_text(report.call));
  fmt::print(
      "  apart       {}   the members' own kernels, one after the other: the call is {:.3g} times as fast\n",
      time_text(report.apart), report.apart.median / report.call.median);
  for (const PoolsReport::Member& member : report.members)
    fmt::print("  alone       {}   {}\n", time_text(member.call), member.spec);
  fmt::print("  the call takes {:.3g} times as long as the slowest of these alone\n",
             report.call.median / report.slowest().call.median);
  fmt::print("  times are medians of samples that take turns, +- half the distance between the quartiles\n");
}

std::string json_text(const PoolsReport& report) {
  nlohmann::ordered_json members;
  for (const PoolsReport::Member& member : report.members)
    members.push_back({{"spec", member.spec}, {"call", time_json(member.call)}});
  const nlohmann::ordered_json json = {
      {"spec", report.spec},
      {"backend", report.backend},
      {"isa", report.isa},
      {"schedule", report.schedule},
      {"schedule_origin", report.schedule_origin},
      {"threads", report.threads},
      {"code_bytes", report.code_bytes},
      {"compile_seconds", report.compile_seconds},
      {"members_compile_seconds", report.members_compile_seconds},
      {"call", time_json(report.call)},
      {"apart", time_json(report.apart)},
      {"members", members},
      {"speedup_over_apart", report.apart.median / report.call.median},
      {"times_the_slowest_alone", report.call.median / report.slowest().call.median}};
  return json.dump(2) + "\n";
}

}  // namespace pooljit::tools
