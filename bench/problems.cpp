// Google Benchmark over a problem file: every spec through every back end and ISA of this build and machine.
// Names are NAME/BACKEND/ISA. Specs that are left out are listed on stderr, with the reason.
//
//   bench_problems --problems=bench/problems/networks.txt [--threads=N] [--benchmark_filter=REGEX ...]
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "jit/backend.h"
#include "runtime/cpu_features.h"
#include "runtime/options.h"
#include "tools/bench_case.h"
#include "tools/command.h"
#include "tools/problem_file.h"

namespace {

using namespace pooljit;

struct Arguments {
  std::string problems;
  int threads = 1;
};

void run_case(benchmark::State& state, const std::string& spec, const runtime::Options& options) {
  const auto kernel = runtime::compile(spec, options);
  if (!kernel) return state.SkipWithError(to_string(kernel.error()).c_str());
  const auto bench = tools::BenchCase::make(*kernel, runtime::thread_count(options));
  if (!bench) return state.SkipWithError(to_string(bench.error()).c_str());
  const auto differences = (*bench)->differences();
  if (!differences) return state.SkipWithError(to_string(differences.error()).c_str());
  if (*differences != 0)
    return state.SkipWithError(fmt::format("{} results differ from the plain loop's", *differences).c_str());
  for (auto _ : state) benchmark::DoNotOptimize((*bench)->run_kernel().has_value());
  state.SetBytesProcessed(state.iterations() * ((*bench)->bytes_read() + (*bench)->bytes_written()));
}

// Every engine that can run here.
std::vector<runtime::Options> engines(int threads) {
  std::vector<runtime::Options> options;
  for (const jit::BackendInfo& backend : jit::backends())
    for (const ir::IsaInfo& isa : ir::isa_table) {
      if (runtime::can_run(isa.isa))
        options.push_back({std::string(backend.text), std::string(isa.text), "", threads});
      else
        fmt::print(stderr, "left out: {} {}: this machine cannot run it\n", backend.text, isa.text);
    }
  return options;
}

ir::Result<tools::Exit> run_problems(const Arguments& arguments) {
  const auto problems = tools::read_problems(arguments.problems);
  if (!problems) return tl::unexpected(problems.error());
  const std::vector<runtime::Options> options = engines(arguments.threads);
  for (const tools::Problem& problem : *problems) {
    if (const auto spec = frontend::parse_spec(problem.spec); !spec) {
      fmt::print(stderr, "left out: {}: {}\n", problem.name, to_string(spec.error()));
      continue;
    }
    for (const runtime::Options& engine : options)
      benchmark::RegisterBenchmark(
          fmt::format("{}/{}/{}", problem.name, engine.backend, engine.isa).c_str(),
          [spec = problem.spec, engine](benchmark::State& state) { run_case(state, spec, engine); })
          ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return tools::Exit::ok;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own --benchmark_... options
  Arguments arguments;
  CLI::App app("Times every spec of a problem file through every back end and ISA.");
  app.add_option("--problems", arguments.problems, "NAME<TAB>SPEC a line")->required();
  app.add_option("--threads", arguments.threads, "Of one kernel; 0: as many as this process may use");
  CLI11_PARSE(app, argc, argv);
  const auto exit = run_problems(arguments);
  return static_cast<int>(exit ? *exit : tools::report(exit.error()));
}
