// Bytes choose a layer of any size: whatever a spec says, compiling it holds and allocates no more memory,
// and makes no more code, than docs/safety.md promises. libFuzzer is led to what costs more; at the end the
// costliest layers are told.
#include <sys/resource.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "frontend/check.h"
#include "runtime/compile.h"
#include "tests/allocations.h"
#include "tests/fuzz/target.h"
#include "tools/fuzz/random_spec.h"

using namespace pooljit;

namespace {

constexpr int64_t most_held = int64_t{64} << 20, most_allocated = int64_t{1} << 30, most_code = 1 << 20;

// The largest seen, told when the process ends.
struct Record {
  const char* what;
  double scale;  // to what is told
  int64_t value = 0;
  std::string spec = {};

  void note(int64_t now, const std::string& of) {
    if (now > value) value = now, spec = of;
  }
  ~Record() {
    if (value > 0) std::fprintf(stderr, "%s: %.3g, %s\n", what, double(value) * scale, spec.c_str());
  }
};
Record time_record{"seconds", 1e-6}, held_record{"MiB held", 0x1p-20},
    allocated_record{"MiB allocated", 0x1p-20}, code_record{"KiB of code", 0x1p-10};

// To libFuzzer each size that was not reached before is as good as a branch.
constexpr size_t levels = 4 * 64;  // quarters of powers of two
[[gnu::section("__libfuzzer_extra_counters")]] std::array<uint8_t, 2 * levels> reached;

void reach(size_t which, int64_t value) {
  const auto word = static_cast<uint64_t>(value);
  const auto bits = static_cast<size_t>(std::bit_width(word));
  const size_t quarter = bits > 2 ? word >> (bits - 3) & 3 : 0;
  reached[which * levels + 4 * bits + quarter] = 1;
}

int64_t microseconds() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_utime.tv_sec * 1'000'000 + usage.ru_utime.tv_usec;
}

// As often small as of any length that fits 40 bits.
int64_t any_size(fuzz::Draw& draw) { return 1 + int64_t(draw.below(uint64_t{1} << draw.below(41))); }

void draw_dim(frontend::SpecDim& dim, fuzz::Draw& draw) {
  dim.input = any_size(draw);
  dim.unpool_output = 0;
  if (dim.adaptive_output != 0) {
    dim.adaptive_output = draw.one_in(2) ? any_size(draw) : draw.between(1, dim.input);
    return;
  }
  dim.dilation = draw.one_in(4) ? any_size(draw) : 1;
  dim.kernel = draw.one_in(3) ? draw.between(1, 9) : draw.between(1, dim.input / dim.dilation + 1);
  dim.pad_begin = draw.one_in(3) ? draw.between(0, dim.kernel / 2) : 0;
  dim.pad_end = draw.one_in(3) ? dim.pad_begin : draw.between(0, dim.kernel / 2);
  const std::array<int64_t, 4> strides = {1, dim.kernel, draw.between(1, dim.kernel), any_size(draw)};
  dim.stride = strides[draw.below(strides.size())];
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Draw draw(std::span(data, size));
  frontend::PoolSpec drawn = fuzz::random_spec_of(draw, fuzz::Style::plain).spec;
  drawn.strides.clear(), drawn.output_strides.clear();
  if (draw.one_in(2)) drawn.channels = any_size(draw);
  for (frontend::SpecDim& dim : drawn.dims) draw_dim(dim, draw);
  const auto spec = frontend::check_spec(std::move(drawn));
  if (!spec) return 0;
  const std::string text = print(*spec);
  const tests::Allocations before = tests::allocations;
  tests::allocations.most_held = tests::allocations.held;
  const int64_t begin = microseconds();
  const char* isa = draw.one_in(3) ? "avx2" : "auto";
  const auto made = runtime::compile_uncached(text, {.backend = "xbyak", .isa = isa, .threads = 1});
  const int64_t held = tests::allocations.most_held - before.held, all = tests::allocations.all - before.all,
                code = made ? int64_t((*made)->code().info.code_bytes) : 0;
  time_record.note(microseconds() - begin, text);
  held_record.note(held, text);
  allocated_record.note(all, text);
  code_record.note(code, text);
  reach(0, all);
  reach(1, code);
  fuzz::demand(held <= most_held, "holds " + std::to_string(held) + " bytes while it compiles", text);
  fuzz::demand(all <= most_allocated, "allocates " + std::to_string(all) + " bytes to compile", text);
  fuzz::demand(code <= most_code, "is " + std::to_string(code) + " bytes of code", text);
  return 0;
}
