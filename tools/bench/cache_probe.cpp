#include "tools/bench/cache_probe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace pooljit::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t least_probed_bytes = 8 << 10, most_probed_bytes = 4 << 20;
constexpr int64_t line_bytes = 64, page_lines = 4096 / line_bytes;

struct alignas(line_bytes) Line {
  const Line* next = nullptr;
};

// A ring through all lines: page after page, as each costs a look into the page table, and within a page in
// an order that no prefetcher guesses.
void link(std::span<Line> lines, std::minstd_rand& random) {
  std::vector<size_t> pages(lines.size() / page_lines);
  std::iota(pages.begin(), pages.end(), size_t{0});
  std::shuffle(pages.begin(), pages.end(), random);
  std::array<size_t, page_lines> within;
  std::iota(within.begin(), within.end(), size_t{0});
  std::vector<Line*> order;
  for (const size_t page : pages) {
    std::shuffle(within.begin(), within.end(), random);
    for (const size_t line : within) order.push_back(&lines[page * page_lines + line]);
  }
  for (size_t i = 0; i < order.size(); ++i) order[i]->next = order[(i + 1) % order.size()];
}

// After one round that fills the caches.
double nanoseconds_per_load(const Line* at, size_t lines) {
  const auto walk = [&at](size_t loads) {
    for (size_t i = 0; i < loads; ++i) at = *const_cast<const Line* const volatile*>(&at->next);
  };
  walk(lines);
  constexpr size_t fewest_loads = 2048, most_loads = 8192;
  const size_t loads = std::clamp(lines, fewest_loads, most_loads);
  double least = std::numeric_limits<double>::infinity();
  for (int tries = 0; tries < 5; ++tries) {
    const auto begin = Clock::now();
    walk(loads);
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    least = std::min(least, took.count() / static_cast<double>(loads));
  }
  return least;
}

}  // namespace

std::vector<LoadTime> measure_loads() {
  std::vector<Line> lines(most_probed_bytes / line_bytes);
  std::minstd_rand random(1);
  std::vector<LoadTime> loads;
  const auto measure = [&](int64_t bytes) {
    const std::span<Line> ring = std::span(lines).first(static_cast<size_t>(bytes / line_bytes));
    link(ring, random);
    loads.push_back({bytes, nanoseconds_per_load(ring.data(), ring.size())});
  };
  for (int64_t bytes = least_probed_bytes; bytes <= most_probed_bytes; bytes *= 2) {
    measure(bytes);
    if (bytes < most_probed_bytes) measure(bytes / 2 * 3);
  }
  return loads;
}

ir::Caches caches_of_loads(std::span<const LoadTime> loads) {
  // Levels differ by more than such a factor, and within one, loads take the same time but for this.
  constexpr double step = 1.5, same = 1.1;
  ir::Caches found{.bytes = {}};
  size_t begin = 0;  // of a level
  for (size_t level = 0; level < 2 && begin < loads.size(); ++level) {
    const double own = loads[begin].nanoseconds;
    // Behind the step, where the next level is flat.
    const auto slower = std::find_if(loads.begin() + static_cast<std::ptrdiff_t>(begin), loads.end(),
                                     [&](const LoadTime& load) { return load.nanoseconds > own * step; });
    if (slower == loads.end()) break;
    auto flat = slower;
    while (flat + 1 != loads.end() && (flat + 1)->nanoseconds > flat->nanoseconds * same) ++flat;
    // Half of the way, as factors go.
    const double middle = std::sqrt(own * flat->nanoseconds);
    for (size_t i = begin; i < loads.size() && loads[i].nanoseconds <= middle; ++i)
      found.bytes[level] = loads[i].bytes;
    begin = static_cast<size_t>(flat - loads.begin());
  }
  return found;
}

}  // namespace pooljit::tools
