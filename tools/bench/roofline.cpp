#include "tools/bench/roofline.h"

#include <algorithm>
#include <cstring>

#include "runtime/machine.h"
#include "tools/bandwidth.h"
#include "tools/interrupt.h"
#include "tools/parallel.h"

namespace pooljit::tools {
namespace {

constexpr int64_t least_bytes = 8 << 10, most_bytes = int64_t{1} << 29;
// Taken for the last cache's where nothing says how large it is (some virtual machines hide all caches), so
// that the line still ends in memory.
constexpr int64_t assumed_last_cache = int64_t{32} << 20;

RooflinePoint measure_point(const Buffer& from, const Buffer& to, int64_t bytes, int threads,
                            double seconds) {
  const size_t written = size_t(bytes) / 5 / 64 * 64, read = size_t(bytes) - written;
  const CopyJob job = {from.data(), read, to.data(), written};
  const int useful = useful_threads(threads, bytes);
  const auto copy = [&](bool streams) {
    in_parallel(useful, useful,
                [&](int64_t begin, int64_t) { copy_part(job, size_t(begin), size_t(useful), streams); });
  };
  const std::function<void()> contenders[] = {[&] { copy(false); }, [&] { copy(true); }};
  const std::vector<Timing> timings = measure(contenders, {.budget_seconds = seconds, .fewest_samples = 5});
  const bool streams = timings[1].median < timings[0].median;
  return {bytes, double(bytes) / timings[streams ? 1 : 0].median, streams};
}

}  // namespace

std::vector<int64_t> roofline_sizes(int64_t last_cache_bytes) {
  const int64_t last = last_cache_bytes > 0 ? last_cache_bytes : assumed_last_cache;
  const int64_t most = std::clamp(4 * last, 4 * least_bytes, most_bytes);
  std::vector<int64_t> sizes;
  for (int64_t bytes = least_bytes; bytes <= most; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

ir::Result<std::vector<RooflinePoint>> measure_roofline(int threads, double seconds_per_point) {
  const auto& caches = runtime::machine().caches.bytes;
  const std::vector<int64_t> sizes = roofline_sizes(*std::max_element(caches.begin(), caches.end()));
  const auto from = Buffer::allocate(size_t(sizes.back())), to = Buffer::allocate(size_t(sizes.back()) / 5);
  for (const auto* buffer : {&from, &to}) {
    if (!*buffer) return tl::unexpected(buffer->error());
    std::memset((*buffer)->data(), 1, (*buffer)->size());  // the pages are there before anything is timed
  }
  std::vector<RooflinePoint> points;
  for (const int64_t bytes : sizes) {
    if (interrupted()) break;
    points.push_back(measure_point(*from, *to, bytes, threads, seconds_per_point));
  }
  return points;
}

}  // namespace pooljit::tools
