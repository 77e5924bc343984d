// Bytes choose a layer of any size, and changes of its numbers, of which those are kept that make it cost
// more: whatever a spec says, compiling it holds and allocates no more memory, and makes no more code, than
// docs/safety.md promises. libFuzzer is led to what costs more; at the end the costliest layers are told.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "frontend/check.h"
#include "tests/compile_cost.h"
#include "tests/fuzz/target.h"
#include "tools/fuzz/axes.h"
#include "tools/fuzz/random_spec.h"

using namespace pooljit;
using tests::CompileCost;

namespace {

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
    allocated_record{"MiB allocated", 0x1p-20}, code_record{"KiB of code", 0x1p-10},
    llvm_time_record{"seconds, LLVM", 1e-6}, llvm_held_record{"MiB held, LLVM", 0x1p-20};

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

void draw_any_dim(frontend::SpecDim& dim, fuzz::Draw& draw) {
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

// As networks have them, but for windows of up to a hundred taps.
void draw_usual_dim(frontend::SpecDim& dim, fuzz::Draw& draw) {
  dim.input = draw.between(1, draw.one_in(2) ? 40 : 300);
  if (dim.adaptive_output != 0) {
    dim.adaptive_output = draw.between(1, dim.input);
    return;
  }
  dim.dilation = draw.one_in(6) ? draw.between(2, 5) : 1;
  dim.kernel = draw.between(1, std::array{8, 33, 100}[draw.below(3)]);
  dim.stride = draw.one_in(3) ? 1 : draw.between(1, draw.one_in(2) ? 8 : dim.kernel);
  dim.pad_begin = dim.pad_end = draw.one_in(2) ? draw.between(0, dim.kernel / 2) : 0;
  dim.input = std::max(dim.input, dim.dilation * (dim.kernel - 1) + 1);
}

enum class Sizes : uint8_t { any, usual };

ir::Result<frontend::PoolSpec> draw_layer(fuzz::Draw& draw, Sizes sizes) {
  frontend::PoolSpec spec = fuzz::random_spec_of(draw, fuzz::Style::plain).spec;
  spec.strides.clear(), spec.output_strides.clear();
  if (draw.one_in(2)) spec.channels = sizes == Sizes::any ? any_size(draw) : draw.between(1, 100);
  for (frontend::SpecDim& dim : spec.dims) (sizes == Sizes::any ? draw_any_dim : draw_usual_dim)(dim, draw);
  return frontend::check_spec(std::move(spec));
}

// A setting of one axis, or one number a little or much larger or smaller; none if that is no valid layer.
ir::Result<frontend::PoolSpec> changed(frontend::PoolSpec spec, fuzz::Draw& draw) {
  if (draw.below(5) == 4) {
    const fuzz::Axis& axis = fuzz::spec_axes()[draw.below(fuzz::spec_axes().size())];
    axis.settings[draw.below(axis.settings.size())].apply(spec);
    spec.strides.clear(), spec.output_strides.clear();
    return frontend::check_spec(std::move(spec));
  }
  std::vector<int64_t*> numbers = {&spec.channels};
  for (frontend::SpecDim& dim : spec.dims) {
    numbers.push_back(&dim.input);
    if (dim.adaptive_output != 0)
      numbers.push_back(&dim.adaptive_output);
    else
      numbers.insert(numbers.end(), {&dim.kernel, &dim.stride, &dim.dilation, &dim.pad_begin, &dim.pad_end});
  }
  int64_t& number = *numbers[draw.below(numbers.size())];
  const std::array<int64_t, 6> others = {
      number + 1, number - 1, number * 2, number / 2, number + draw.between(-5, 5), draw.between(1, 40)};
  number = others[draw.below(others.size())];
  return frontend::check_spec(std::move(spec));
}

CompileCost compile(const frontend::PoolSpec& spec, const runtime::Options& options) {
  const std::string text = print(spec);
  const int64_t begin = microseconds();
  const CompileCost cost = tests::compile_cost(text, options);
  const bool is_llvm = options.backend == "llvm";
  (is_llvm ? llvm_time_record : time_record).note(microseconds() - begin, text);
  (is_llvm ? llvm_held_record : held_record).note(cost.held, text);
  if (!is_llvm) allocated_record.note(cost.allocated, text), code_record.note(cost.code, text);
  const CompileCost& bound = is_llvm ? tests::most_of_llvm : tests::most_of_compile;
  fuzz::demand(cost.held <= bound.held, "holds " + std::to_string(cost.held) + " bytes while it compiles",
               text);
  fuzz::demand(cost.allocated <= bound.allocated,
               "allocates " + std::to_string(cost.allocated) + " bytes to compile", text);
  fuzz::demand(cost.code <= bound.code, "is " + std::to_string(cost.code) + " bytes of code", text);
  return cost;
}

struct Climber {
  frontend::PoolSpec spec;
  CompileCost cost;
};

// From the costliest of some layers beside the given ones; of what changes make of them, those that cost most
// are changed further. LLVM takes a hundred times as long for each.
void climb(std::vector<Climber> climbers, const runtime::Options& options, int tries, fuzz::Draw draw) {
  constexpr size_t most_climbers = 5;
  int64_t CompileCost::*const climbed = draw.one_in(2) ? &CompileCost::held : &CompileCost::code;
  const auto try_out = [&](const ir::Result<frontend::PoolSpec>& next) {
    if (!next || std::ranges::find(climbers, *next, &Climber::spec) != climbers.end()) return;
    const CompileCost cost = compile(*next, options);
    // The costliest first.
    const auto place = std::ranges::find_if(
        climbers, [&](const Climber& one) { return one.cost.*climbed <= cost.*climbed; });
    climbers.insert(place, {*next, cost});
    if (climbers.size() > most_climbers) climbers.pop_back();
  };
  for (int others = draw.one_in(4) ? 0 : tries; others > 0; --others) try_out(draw_layer(draw, Sizes::usual));
  for (; tries > 0 && !climbers.empty(); --tries) {
    ir::Result<frontend::PoolSpec> next = climbers[draw.below(climbers.size())].spec;
    for (uint64_t left = 1 + draw.below(3); left > 0 && next; --left) next = changed(*next, draw);
    try_out(next);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Draw draw(std::span(data, size));
  const auto spec = draw_layer(draw, Sizes::any);
  runtime::Options options = {.backend = "xbyak", .isa = draw.one_in(3) ? "avx2" : "auto", .threads = 1};
  if (draw.below(16) == 15) options.backend = "llvm";
  std::vector<Climber> from;
  if (spec) {
    from.push_back({*spec, compile(*spec, options)});
    reach(0, from[0].cost.allocated);
    reach(1, from[0].cost.code);
  }
  if (const auto tries = int(draw.below(options.backend == "llvm" ? 8 : 128)))
    climb(std::move(from), options, tries, fuzz::Draw(uint32_t(draw.below(uint64_t{1} << 32))));
  return 0;
}
