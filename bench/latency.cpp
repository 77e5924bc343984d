// Google Benchmark of what compiling and calling cost by themselves:
//   compile/NAME/BACKEND/ISA   text to callable, past the cache, for each spec of a problem file; that the
//                              kernel goes again is not timed
//   hit/NAME                   the same text again: what the cache costs; hit_spec/NAME by a Spec object
//   call/NAME                  a tiny kernel all in, through the public API; in C by pooljit_run,
//                              pooljit_run_with and the one part of one: call_c, call_with, call_part; as
//                              `pooljit export` makes it: exported
//   spec_text/NAME             a spec object of a text, nothing compiled; spec_layer/NAME of a struct
//
//   bench_latency --problems=bench/problems/networks.txt [--benchmark_filter=REGEX ...]
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <pooljit.h>
#include <tiny.h>
#include <CLI/CLI.hpp>
#include <chrono>
#include <pooljit.hpp>
#include <string>
#include <utility>
#include <vector>

#include "jit/backend.h"
#include "runtime/compile.h"
#include "runtime/cpu_features.h"
#include "tools/command.h"
#include "tools/problem_file.h"

namespace {

using namespace pooljit;

void compile_past_cache(benchmark::State& state, const std::string& spec, const runtime::Options& options) {
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

void call_exported(benchmark::State& state, int (*kernel)(const void*, void*, int64_t)) {
  const std::vector<float> input(4096, 1);
  std::vector<float> output(4096, 0);
  for (auto _ : state) kernel(input.data(), output.data(), 1);
}

pooljit_options one_thread() {
  pooljit_options options = {};
  options.size = sizeof options;
  options.threads = 1;
  return options;
}

// One of the ways in which C runs a kernel, as run(kernel, input, output).
template <typename Run>
void call_in_c(benchmark::State& state, const std::string& spec, Run run) {
  pooljit_kernel* kernel = nullptr;
  const pooljit_options options = one_thread();
  if (pooljit_compile(spec.c_str(), &options, &kernel) != POOLJIT_OK)
    return state.SkipWithError(pooljit_last_error());
  const std::vector<float> input(4096, 1);
  std::vector<float> output(4096, 0);
  for (auto _ : state) benchmark::DoNotOptimize(run(kernel, input.data(), output.data()));
  pooljit_release(kernel);
}

void register_calls(const std::string& spec) {
  benchmark::RegisterBenchmark(("call/" + spec).c_str(),
                               [spec](benchmark::State& state) { call(state, spec); });
  benchmark::RegisterBenchmark(("call_c/" + spec).c_str(), [spec](benchmark::State& state) {
    call_in_c(state, spec, [](auto* kernel, const float* input, float* output) {
      return pooljit_run(kernel, input, output, nullptr);
    });
  });
  for (const int parts : {0, 1})
    benchmark::RegisterBenchmark(
        ((parts == 0 ? "call_with/" : "call_part/") + spec).c_str(), [spec, parts](benchmark::State& state) {
          call_in_c(state, spec, [&](auto* kernel, const float* input, float* output) {
            Args args;
            void* const outputs[] = {output};
            args.input = input;
            args.outputs = outputs, args.output_count = 1;
            args.set_batch(1);
            args.parts = parts;
            return pooljit_run_with(kernel, &args);
          });
        });
}

void spec_of_text(benchmark::State& state, const std::string& text) {
  const pooljit_options options = one_thread();
  for (auto _ : state) {
    pooljit_spec* spec = nullptr;
    pooljit_spec_read(text.c_str(), &options, &spec);
    pooljit_spec_release(spec);
  }
}

void spec_of_layer(benchmark::State& state, const std::string& text) {
  pooljit_spec *of_text = nullptr, *spec = nullptr;
  pooljit_layer layer = {};
  layer.size = sizeof layer;
  const pooljit_options options = one_thread();
  if (pooljit_spec_read(text.c_str(), &options, &of_text) != POOLJIT_OK ||
      pooljit_spec_layer(of_text, &layer) != POOLJIT_OK)
    return state.SkipWithError(pooljit_last_error());
  for (auto _ : state) {
    pooljit_spec_make(&layer, &options, &spec);
    pooljit_spec_release(spec);
  }
  pooljit_spec_release(of_text);
}

ir::Result<tools::Exit> run(const std::string& file) {
  const auto problems = tools::read_problems(file);
  if (!problems) return tl::unexpected(problems.error());
  for (const tools::Problem& problem : *problems) {
    if (!frontend::parse_spec(problem.spec)) continue;
    for (const jit::BackendInfo& backend : jit::backends())
      for (const ir::IsaInfo& isa : ir::isa_table) {
        if (!runtime::can_run(isa.isa)) continue;
        const runtime::Options options{std::string(backend.text), std::string(isa.text), "", 1};
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
    benchmark::RegisterBenchmark(
        ("spec_text/" + problem.name).c_str(),
        [spec = problem.spec](benchmark::State& state) { spec_of_text(state, spec); });
    benchmark::RegisterBenchmark(
        ("spec_layer/" + problem.name).c_str(),
        [spec = problem.spec](benchmark::State& state) { spec_of_layer(state, spec); });
  }
  for (const auto& [exported, kernel_info] :
       {std::pair(&tiny_nchw, &tiny_nchw_info), {&tiny_nhwc, &tiny_nhwc_info}}) {
    register_calls(kernel_info->spec);
    benchmark::RegisterBenchmark(
        fmt::format("exported/{}", kernel_info->spec).c_str(),
        [kernel = exported](benchmark::State& state) { call_exported(state, kernel); });
  }
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
