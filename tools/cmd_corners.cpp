// `pooljit corners`: random layers, and which of them the default kernels are slow on (docs/benchmarking.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "ir/choose/enumerate.h"
#include "ir/schedule_text.h"
#include "runtime/options.h"
#include "tools/bench/corner_layers.h"
#include "tools/bench/corners.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/interrupt.h"
#include "tools/plain_loop.h"
#include "tools/progress.h"
#include "tools/time_text.h"

namespace pooljit::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct CornersArguments {
  runtime::Options options = {.threads = 1};
  std::string isa = "auto";  // with --scalar also "all"
  uint64_t seed = 1;
  int64_t count = 0;
  double seconds = 60, shrink_seconds = 3;
  std::string only;
  size_t worst = 5;
  bool scalar = false, json = false;
};

// The layers of a seed, whose text holds what was asked for, until there are enough.
class Layers {
 public:
  explicit Layers(const CornersArguments& arguments)
      : arguments_(arguments), draw_(static_cast<uint32_t>(arguments.seed)) {}

  bool is_over() const {
    return interrupted() || (arguments_.count > 0 && drawn_ >= arguments_.count) ||
           (arguments_.seconds > 0 && seconds() >= arguments_.seconds);
  }
  // None once it is over.
  std::optional<frontend::PoolSpec> next() {
    while (!is_over()) {
      frontend::PoolSpec spec = random_layer(draw_);
      if (print(spec).find(arguments_.only) == std::string::npos) continue;
      ++drawn_;
      return spec;
    }
    return std::nullopt;
  }
  int64_t drawn() const { return drawn_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  const CornersArguments& arguments_;
  fuzz::Draw draw_;
  int64_t drawn_ = 0;
  const Clock::time_point begin_ = Clock::now();
};

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

nlohmann::ordered_json as_json(const Corner& corner) {
  nlohmann::ordered_json json = {{"spec", corner.spec},
                                 {"schedule", corner.schedule},
                                 {"cause", corner.cause},
                                 {"bytes", corner.bytes},
                                 {"call_seconds", corner.call},
                                 {"copy_seconds", corner.copy},
                                 {"share_of_copy", corner.share()}};
  if (corner.plain)
    json["plain_loop_seconds"] = *corner.plain, json["speedup_over_plain_loop"] = corner.speedup();
  return json;
}

std::string line(const Corner& corner) {
  return fmt::format("{:6.1f} %  {:>8}  {:>9}  {}  {}", 100 * corner.share(),
                     corner.plain ? fmt::format("{:.2f} x", corner.speedup()) : "-", time_text(corner.call),
                     corner.spec, corner.schedule);
}

// The worst by one number, each with the smallest layer that is as slow.
void print_worst(std::vector<Corner> corners, const char* title, double (Corner::*slowness)() const,
                 const CornersArguments& arguments, nlohmann::ordered_json& json) {
  std::ranges::sort(corners, {}, [&](const Corner& corner) { return (corner.*slowness)(); });
  corners.resize(std::min(corners.size(), arguments.worst));
  if (!arguments.json && !corners.empty())
    fmt::print("\n{}\n   of copy  of plain       call  layer, schedule\n", title);
  for (const Corner& corner : corners) {
    const Clock::time_point begin = Clock::now();
    const Corner smallest = shrink_corner(corner, slowness, arguments.options, [&] {
      return interrupted() ||
             std::chrono::duration<double>(Clock::now() - begin).count() >= arguments.shrink_seconds;
    });
    json.push_back({{"layer", as_json(corner)}, {"smallest", as_json(smallest)}});
    if (arguments.json) continue;
    fmt::print("{}\n", line(corner));
    if (smallest.spec != corner.spec) fmt::print("{}  <- as slow\n", line(smallest));
    std::fflush(stdout);
  }
}

void print_causes(const std::vector<CornerCause>& causes, const CornersArguments& arguments,
                  nlohmann::ordered_json& json) {
  if (!arguments.json) fmt::print("\nby cause\n  layers  median   least  schedule: layer\n");
  for (const CornerCause& cause : causes) {
    json.push_back({{"cause", cause.cause},
                    {"layers", cause.layers},
                    {"median_share_of_copy", cause.median_share},
                    {"slowest", as_json(cause.slowest)}});
    if (!arguments.json)
      fmt::print("{:8} {:5.1f} % {:5.1f} %  {}\n", cause.layers, 100 * cause.median_share,
                 100 * cause.slowest.share(), cause.cause);
  }
}

ir::Result<Exit> measure_layers(const CornersArguments& arguments) {
  if (!plain_loop_runs_here())
    return ir::unsupported("bench.plain_loop", "the plain loop was compiled for another machine",
                           "build pooljit on the machine that is to be measured");
  Layers layers(arguments);
  const Progress progress(static_cast<size_t>(arguments.count));
  std::vector<Corner> corners, beside_plain;
  int64_t refused = 0;
  while (const auto spec = layers.next()) {
    progress.show(static_cast<size_t>(layers.drawn()), fmt::format("{:.0f} s", layers.seconds()));
    auto corner = measure_corner(*spec, arguments.options);
    if (!corner) {
      ++refused;
      continue;
    }
    if (corner->plain) beside_plain.push_back(*corner);
    corners.push_back(std::move(*corner));
  }
  progress.clear();
  std::vector<double> shares, speedups;
  for (const Corner& corner : corners) shares.push_back(corner.share());
  for (const Corner& corner : beside_plain) speedups.push_back(corner.speedup());
  const auto slower = std::ranges::count_if(speedups, [](double speedup) { return speedup < 1; });
  nlohmann::ordered_json json = {
      {"layers", corners.size()},
      {"refused", refused},
      {"seed", arguments.seed},
      {"share_of_copy", {{"median", quantile(shares, 0.5)}, {"p5", quantile(shares, 0.05)}}},
      {"beside_plain_loop",
       {{"layers", beside_plain.size()},
        {"least", quantile(speedups, 0)},
        {"median", quantile(speedups, 0.5)},
        {"slower", slower}}}};
  if (!arguments.json)
    fmt::print(
        "{} layers of seed {}, one thread: share of a copy's speed {:.0f} % in the median, {:.0f} % at the "
        "5th "
        "percentile\n{} of them beside the plain loop: {:.2f} times as fast at least, {:.1f} in the median; "
        "{} slower than it\n",
        corners.size(), arguments.seed, 100 * quantile(shares, 0.5), 100 * quantile(shares, 0.05),
        beside_plain.size(), quantile(speedups, 0), quantile(speedups, 0.5), slower);
  print_worst(corners, "slowest beside a copy", &Corner::share, arguments, json["slowest_beside_copy"]);
  print_worst(beside_plain, "slowest beside the plain loop", &Corner::speedup, arguments,
              json["slowest_beside_plain_loop"]);
  print_causes(group_corners(corners), arguments, json["causes"]);
  if (arguments.json) fmt::print("{}\n", json.dump(2));
  return interrupted() ? Exit::interrupted : Exit::ok;
}

// Those whose default schedule has one lane, without making any code: the same on every machine.
ir::Result<Exit> list_scalar(const CornersArguments& arguments) {
  std::vector<ir::Isa> isas;
  for (const ir::IsaInfo& row : ir::isa_table)
    if (arguments.isa == "all" || arguments.isa == row.text) isas.push_back(row.isa);
  if (isas.empty())
    return ir::invalid("corners.isa", fmt::format("unknown instruction set '{}'", arguments.isa),
                       "all, " + ir::isa_texts(", ", " or "));
  struct Group {
    int64_t layers = 0;
    std::string example;
    std::vector<std::string> specs;
  };
  std::map<std::string, Group> groups;
  Layers layers(arguments);
  const Progress progress(static_cast<size_t>(arguments.count));
  int64_t scalar = 0;
  while (const auto spec = layers.next()) {
    progress.show(static_cast<size_t>(layers.drawn()), fmt::format("{:.0f} s", layers.seconds()));
    if (is_unpool(*spec)) continue;
    const ir::PoolNest nest = make_nest(*spec);
    const std::string text = print(*spec);
    std::string why;
    for (const ir::Isa isa : isas) {
      const ir::Schedule schedule = ir::enumerate_schedules(nest, isa, 1).front();
      if (fewest_lanes(schedule) == 1 && why.empty()) why = cause_of(*spec, schedule);
    }
    if (why.empty()) continue;
    ++scalar;
    Group& group = groups[why];
    group.specs.push_back(text);
    if (group.layers++ == 0 || text.size() < group.example.size()) group.example = text;
  }
  progress.clear();
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& one) { return one.second.layers; });
  if (arguments.json) {
    nlohmann::ordered_json json = {{"layers", layers.drawn()}, {"scalar", scalar}, {"seed", arguments.seed}};
    for (const auto& [cause, group] : sorted)
      json["causes"].push_back(
          {{"cause", cause}, {"layers", group.layers}, {"example", group.example}, {"specs", group.specs}});
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{} of {} layers of seed {} have one lane\n", scalar, layers.drawn(), arguments.seed);
    for (const auto& [cause, group] : sorted)
      fmt::print("{:8}  {}\n          pooljit schedules '{}' --why\n", group.layers, cause, group.example);
  }
  return interrupted() ? Exit::interrupted : Exit::ok;
}

ir::Result<Exit> look_for_corners(CornersArguments arguments) {
  catch_interrupt();
  if (arguments.scalar) return list_scalar(arguments);
  arguments.options.isa = arguments.isa;
  const auto resolved = runtime::resolve(arguments.options);
  if (!resolved) return tl::unexpected(resolved.error());
  return measure_layers(arguments);
}

}  // namespace

void add_corners(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("corners", "Look for layers on which kernels are slow");
  auto arguments = std::make_shared<CornersArguments>();
  command->add_option("--seed", arguments->seed, "The same seed draws the same layers")
      ->capture_default_str();
  CLI::Option* seconds = command->add_option("--seconds", arguments->seconds, "How long (0: until --count)")
                             ->check(CLI::NonNegativeNumber)
                             ->capture_default_str();
  CLI::Option* count =
      command->add_option("--count", arguments->count, "How many layers (0: until --seconds)")
          ->check(CLI::NonNegativeNumber);
  command->add_option("--only", arguments->only, "Layers whose canonical text holds this, such as 'uint8['");
  command
      ->add_option("--isa", arguments->isa,
                   "auto, " + ir::isa_texts(", ", " or ") + "; with --scalar also all")
      ->capture_default_str();
  command->add_option("--worst", arguments->worst, "How many of the slowest to print and to make small")
      ->capture_default_str();
  command->add_option("--shrink-seconds", arguments->shrink_seconds, "For each of them; 0: not at all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--scalar", arguments->scalar,
                    "Instead, without measuring: which layers' default schedules have one lane");
  command->add_flag("--json", arguments->json, "Print JSON; times in seconds");
  command->footer(
      "Layers of 1 KiB to 8 MiB, of every operator, dtype and layout, on one thread: the default kernel, a "
      "loop\n"
      "that only moves as many bytes, and the plain loop where it does the layer, in turns. The slowest are\n"
      "made small, and all are grouped by schedule and kind of layer (docs/benchmarking.md).\n\n"
      "  pooljit corners --seconds 300 --seed 7\n"
      "  pooljit corners --scalar --isa all --count 20000 --seconds 0");
  command->callback([&action, arguments, seconds, count] {
    if (*count && !*seconds) arguments->seconds = 0;
    if (arguments->scalar && arguments->isa == "auto") arguments->isa = "all";
    action = [arguments]() -> ir::Result<Exit> {
      if (arguments->seconds == 0 && arguments->count == 0)
        return ir::invalid("corners.end", "neither --seconds nor --count says when to end", "--seconds 60");
      return look_for_corners(*arguments);
    };
  });
}

}  // namespace pooljit::tools
