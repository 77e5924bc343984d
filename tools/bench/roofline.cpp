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

ir::Result<std::vector<RooflinePoint>> measure_roofline(int threads, double seconds_per_point) {
  const auto& caches = runtime::machine().caches.bytes;
  const int64_t last = *std::max_element(caches.begin(), caches.end());
  const int64_t most = std::clamp(4 * last, 4 * least_bytes, most_bytes);
  const auto from = Buffer::allocate(size_t(most)), to = Buffer::allocate(size_t(most) / 5);
  for (const auto* buffer : {&from, &to}) {
    if (!*buffer) return tl::unexpected(buffer->error());
    std::memset((*buffer)->data(), 1, (*buffer)->size());  // the pages are there before anything is timed
  }
  std::vector<RooflinePoint> points;
  for (int64_t bytes = least_bytes; bytes <= most && !interrupted(); bytes *= 2)
    points.push_back(measure_point(*from, *to, bytes, threads, seconds_per_point));
  return points;
}

}  // namespace pooljit::tools
