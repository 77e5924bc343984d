// Benchmark of stores past the caches: each spec of a problem file with stores=cached and streamed, in turns,
// one thread. Three ways: the kernel alone, repeated; with a reader of its output; also with a writer of its
// input, as in a network.
//
//   bench_stores --problems=bench/problems/large.txt
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <pooljit.hpp>
#include <span>
#include <string>
#include <vector>

#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "runtime/measure.h"
#include "tools/buffer.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/problem_file.h"

namespace {

using namespace pooljit;

struct Arguments {
  std::string problems, isa = "auto";
  double seconds = 1;
};

volatile uint64_t seen;

// One byte of each line.
void read(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 64) sum += static_cast<uint64_t>(bytes[i]);
  seen = sum;
}

Options with_stores(ir::Schedule schedule, const Arguments& arguments, ir::Stores stores) {
  schedule.stores = stores;
  return {.isa = arguments.isa, .schedule = ir::print(schedule), .threads = 1};
}

ir::Result<void> run_problem(const tools::Problem& problem, const Arguments& arguments) {
  const Kernel kernel = compile(problem.spec, {.isa = arguments.isa, .threads = 1});
  const ir::Schedule schedule = *ir::parse_schedule(kernel.schedule());
  const bool is_default = schedule.stores == ir::Stores::streamed;
  const Kernel cached = compile(problem.spec, with_stores(schedule, arguments, ir::Stores::cached)),
               streamed = compile(problem.spec, with_stores(schedule, arguments, ir::Stores::streamed));
  const auto input = tools::Buffer::allocate(kernel.input_bytes()),
             output = tools::Buffer::allocate(kernel.output_bytes());
  if (!input) return tl::unexpected(input.error());
  if (!output) return tl::unexpected(output.error());
  std::ranges::fill(input->span(), std::byte{1});
  std::vector<std::function<void()>> contenders;
  for (const bool is_written : {false, true})
    for (const bool is_read : {false, true})
      for (const Kernel& one : {cached, streamed}) {
        if (is_written && !is_read) continue;
        contenders.emplace_back([&input, &output, one, is_written, is_read] {
          if (is_written) std::ranges::fill(input->span(), std::byte{1});
          one.run(input->data(), output->data());
          if (is_read) read(output->span());
        });
      }
  const auto times =
      runtime::measure(contenders, {.budget_seconds = arguments.seconds, .settle_seconds = 1e-3});
  std::string line =
      fmt::format("{:24}{:3}{:7.1f}", problem.name, is_default ? "*" : "", double(output->size()) / 1e6);
  double spread = 0;
  for (size_t i = 0; i < times.size(); i += 2) {
    line += fmt::format("{:11.1f}{:10.1f}{:6.2f}", times[i].median * 1e6, times[i + 1].median * 1e6,
                        times[i].median / times[i + 1].median);
    spread = std::max({spread, times[i].spread(), times[i + 1].spread()});
  }
  fmt::print("{}   +- {:.0f} %\n", line, spread * 100);
  return {};
}

ir::Result<tools::Exit> run(const Arguments& arguments) {
  const auto problems = tools::read_problems(arguments.problems);
  if (!problems) return tl::unexpected(problems.error());
  fmt::print("us a call with cached and with streamed stores, and their ratio; *: streamed by default\n");
  fmt::print("{:27}{:>7}{:>27}{:>27}{:>27}\n", "", "MB out", "alone", "and read", "written and read");
  tools::catch_interrupt();
  for (const tools::Problem& problem : *problems) {
    if (tools::interrupted()) return tools::Exit::interrupted;
    try {
      if (const auto done = run_problem(problem, arguments); !done) return tl::unexpected(done.error());
    } catch (const Error& error) {
      fmt::print(stderr, "left out: {}: {}\n", problem.name, error.what());
    }
    std::fflush(stdout);
  }
  return tools::Exit::ok;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("What stores past the caches gain and cost.");
  app.add_option("--problems", arguments.problems, "NAME<TAB>SPEC a line")->required();
  app.add_option("--isa", arguments.isa, "auto, avx2 or avx512")->capture_default_str();
  app.add_option("--seconds", arguments.seconds, "For one spec")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto exit = run(arguments);
  return static_cast<int>(exit ? *exit : tools::report(exit.error()));
}
