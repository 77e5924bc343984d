#include "tools/bandwidth.h"

#include <immintrin.h>

namespace pooljit::tools {
namespace {

constexpr size_t line = 64;
using Line [[gnu::vector_size(64), gnu::may_alias]] = uint64_t;

// Sums `lines` lines: the cheapest use of a loaded value that the compiler cannot drop. Four sums hide the
// add's latency. (A function returns a Line in different ways with AVX-512 and without: gcc refuses that.)
void read_lines(const Line* from, size_t lines, Line& sum) {
  Line sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= lines; i += 4)
    for (size_t k = 0; k < 4; ++k) sums[k] += from[i + k];
  for (; i < lines; ++i) sums[0] += from[i];
  sum = sums[0] + sums[1] + sums[2] + sums[3];
}

void write_lines(Line* to, size_t lines, const Line& value) {
  for (size_t i = 0; i < lines; ++i) to[i] = value;
}

void stream_lines(Line* to, size_t lines, const Line& value) {
  for (size_t i = 0; i < lines; ++i)
    for (size_t k = 0; k < line / sizeof(__m128i); ++k)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i) + k, reinterpret_cast<const __m128i*>(&value)[k]);
}

// The lines of chunk `i` of `n` that `lines` are cut into.
struct Chunk {
  size_t begin, count;
};
Chunk chunk_of(size_t lines, size_t i, size_t n) {
  const size_t begin = lines * i / n;
  return {begin, lines * (i + 1) / n - begin};
}

}  // namespace

void copy_part(const CopyJob& job, size_t part, size_t parts, bool streaming) {
  constexpr size_t chunk_bytes = 8192;  // of reads and writes together: well within the L1 cache
  const Chunk reads = chunk_of(job.input_bytes / line, part, parts);
  const Chunk writes = chunk_of(job.output_bytes / line, part, parts);
  const Line* from = static_cast<const Line*>(job.input) + reads.begin;
  Line* to = static_cast<Line*>(job.output) + writes.begin;
  const size_t chunks = (reads.count + writes.count) * line / chunk_bytes + 1;
  for (size_t i = 0; i < chunks; ++i) {
    const Chunk read = chunk_of(reads.count, i, chunks);
    const Chunk write = chunk_of(writes.count, i, chunks);
    Line sum;
    read_lines(from + read.begin, read.count, sum);
    if (streaming)
      stream_lines(to + write.begin, write.count, sum);
    else
      write_lines(to + write.begin, write.count, sum);
  }
  if (streaming) _mm_sfence();
}

}  // namespace pooljit::tools
