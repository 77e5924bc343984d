// Google Benchmark of what compiling and calling cost by themselves:
//   compile/NAME/BACKEND/ISA   text to callable, past the cache, for each spec of a problem file; that the
//                              kernel goes again is not timed
//   hit/NAME                   the same text again: what the cache costs; hit_spec/NAME by a Spec object
//   call/NAME                  a tiny kernel all in, through the public API
//
//   bench_latency --problems=bench/problems/networks.txt [--benchmark_filter=REGEX ...]
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <pooljit.hpp>
#include <string>
#include <vector>

#include "jit/backend.h"
#include "runtime/compile.h"
#include "runtime/cpu_features.h"
#include "tools/command.h"
#include "tools/problem_file.h"

namespace {

using namespace pooljit;

void compile_past_cache(benchmark::State& state, const std::string& spec, const Options& options) {
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    const auto kernel = runtime::compile_uncached(spec, options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (!kernel) return state.SkipWithError(to_string(kernel.error()).c_str());
    state.SetIterationTime(took.count());
  }
}

void hit(benchmark::State& state, const std::string& spec) {
  for (auto _ : state) benchmark::DoNotOptimize(compile(spec, {.threads = 1}));
}

void hit_by_spec(benchmark::State& state, const std::string& text) {
  const Spec spec(text, {.threads = 1});
  for (auto _ : state) benchmark::DoNotOptimize(compile(spec));
}

void call(benchmark::State& state, const std::string& spec) {
  const Kernel kernel = compile(spec, {.threads = 1});
  const std::vector<float> input(4096, 1);
  std::vector<float> output(4096, 0);
  for (auto _ : state) kernel.run(input.data(), output.data());
}

ir::Result<tools::Exit> run(const std::string& file) {
  const auto problems = tools::read_problems(file);
  if (!problems) return tl::unexpected(problems.error());
  for (const tools::Problem& problem : *problems) {
    if (!frontend::parse_spec(problem.spec)) continue;
    for (const jit::BackendInfo& backend : jit::backends())
      for (const ir::IsaInfo& isa : ir::isa_table) {
        if (!runtime::can_run(isa.isa)) continue;
        const Options options{std::string(backend.text), std::string(isa.text), "", 1};
        benchmark::RegisterBenchmark(
            fmt::format("compile/{}/{}/{}", problem.name, backend.text, isa.text).c_str(),
            [spec = problem.spec, options](benchmark::State& state) {
              compile_past_cache(state, spec, options);
            })
            ->Unit(benchmark::kMicrosecond)
            ->UseManualTime();
      }
    benchmark::RegisterBenchmark(("hit/" + problem.name).c_str(),
                                 [spec = problem.spec](benchmark::State& state) { hit(state, spec); });
    benchmark::RegisterBenchmark(
        ("hit_spec/" + problem.name).c_str(),
        [spec = problem.spec](benchmark::State& state) { hit_by_spec(state, spec); });
  }
  for (const char* spec :
       {"max_pool2d(float32[1,1,2,2], kernel_size=2)", "max_pool2d(float32[1,16,4,4]:nhwc, kernel_size=2)"})
    benchmark::RegisterBenchmark(fmt::format("call/{}", spec).c_str(),
                                 [spec = std::string(spec)](benchmark::State& state) { call(state, spec); });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return tools::Exit::ok;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own --benchmark_... options
  std::string problems;
  CLI::App app("What compiling and calling cost by themselves.");
  app.add_option("--problems", problems, "NAME<TAB>SPEC a line")->required();
  CLI11_PARSE(app, argc, argv);
  const auto exit = run(problems);
  return static_cast<int>(exit ? *exit : tools::report(exit.error()));
}
