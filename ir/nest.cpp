// Windows of a PoolNest: all of them follow from one count, the taps of a window that lie before a limit.
// Every function costs at most O(kernel), whatever the number of outputs.
#include "ir/nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pooljit::ir {

namespace {

// Floor and ceiling that hold for negative dividends too; C++ division truncates.
int64_t ceil_div(int64_t dividend, int64_t divisor) {
  return dividend / divisor + (dividend % divisor > 0 ? 1 : 0);
}
int64_t floor_div(int64_t dividend, int64_t divisor) {
  return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
}

// The three limits that cut a window: where the image begins, where it ends, where its padding ends.
struct Limits {
  int64_t begin, visible, padded;
};
Limits limits(const NestDim& dim) { return {0, dim.visible_input(), dim.input + dim.pad_end}; }

// How many taps of the window lie before `limit`. Never grows with `output`.
int64_t taps_before(const NestDim& dim, int64_t output, int64_t limit) {
  const int64_t start = output * dim.stride - dim.pad_begin;
  return std::clamp(ceil_div(limit - start, dim.dilation), int64_t{0}, dim.kernel);
}

// The first output that has fewer taps before `limit` than `output` has; dim.output if there is none.
int64_t next_change(const NestDim& dim, int64_t output, int64_t limit) {
  const int64_t taps = taps_before(dim, output, limit);
  if (taps == 0) return dim.output;
  return ceil_div(limit + dim.pad_begin - (taps - 1) * dim.dilation, dim.stride);
}

bool same_taps(const Window& a, const Window& b) {
  return a.first_tap == b.first_tap && a.taps == b.taps && a.padded_taps == b.padded_taps;
}

void print_view(fmt::memory_buffer& out, std::string_view name, const View& view) {
  fmt::format_to(std::back_inserter(out), "{}: {}, strides batch {} channel {} spatial [{}]\n", name,
                 info(view.dtype).spec_name, view.batch_stride, view.channel_stride,
                 fmt::join(view.strides, ","));
}

void print_dim(fmt::memory_buffer& out, size_t number, const NestDim& dim) {
  const auto line = std::back_inserter(out);
  fmt::format_to(line, "dim {}: input {}, output {}, kernel {}, stride {}, dilation {}, padding [{},{}]\n",
                 number, dim.input, dim.output, dim.kernel, dim.stride, dim.dilation, dim.pad_begin,
                 dim.pad_end);
  for (const Run& run : runs(dim)) {
    const Window& window = run.window;
    fmt::format_to(line, "  outputs {}..{}: ", run.begin, run.end - 1);
    if (window.taps == 0)
      fmt::format_to(line, "no taps");
    else
      fmt::format_to(line, "taps {}..{} from input {}", window.first_tap, window.first_tap + window.taps - 1,
                     window.first);
    fmt::format_to(line, ", {} with padding\n", window.padded_taps);
  }
}

}  // namespace

Window NestDim::window(int64_t output_position) const {
  const Limits limit = limits(*this);
  Window window;
  window.step = dilation;
  window.padded_taps = taps_before(*this, output_position, limit.padded);
  const int64_t before = taps_before(*this, output_position, limit.begin);
  window.taps = std::max(taps_before(*this, output_position, limit.visible) - before, int64_t{0});
  if (window.taps == 0) return window;  // first and first_tap stay 0, so that empty windows compare equal
  window.first_tap = before;
  window.first = output_position * stride - pad_begin + before * dilation;
  return window;
}

std::vector<Run> runs(const NestDim& dim) {
  const Limits limit = limits(dim);
  std::vector<Run> result;
  for (int64_t output = 0; output < dim.output;) {
    const int64_t end =
        std::min({dim.output, next_change(dim, output, limit.begin), next_change(dim, output, limit.visible),
                  next_change(dim, output, limit.padded)});
    const Window window = dim.window(output);
    // Where no tap is left, a change of the counts may be none of the window.
    if (!result.empty() && same_taps(result.back().window, window))
      result.back().end = end;
    else
      result.push_back({output, end, window});
    output = end;
  }
  return result;
}

Interior interior(const NestDim& dim) {
  const int64_t first = ceil_div(dim.pad_begin, dim.stride);
  const int64_t last = floor_div(dim.visible_input() - dim.extent() + dim.pad_begin, dim.stride);
  const int64_t begin = std::clamp(first, int64_t{0}, dim.output);
  return {begin, std::clamp(last + 1, begin, dim.output)};
}

int64_t PoolNest::full_taps() const {
  int64_t taps = 1;
  for (const NestDim& dim : dims) taps *= dim.kernel;
  return taps;
}

int64_t divisor(const PoolNest& nest, const std::vector<Window>& windows) {
  if (nest.divisor_override) return *nest.divisor_override;
  int64_t taps = 1, padded_taps = 1;
  for (const Window& window : windows) {
    taps *= window.taps;
    padded_taps *= window.padded_taps;
  }
  if (taps == 0) return 1;
  return nest.count_include_pad ? padded_taps : taps;
}

std::string PoolNest::print() const {
  static constexpr std::string_view names[] = {
#define REDUCTION(name, text, note) text,
#include "ir/reductions.def"
#undef REDUCTION
  };
  fmt::memory_buffer out;
  const auto line = std::back_inserter(out);
  fmt::format_to(line, "{} over {} channels", names[static_cast<int>(reduction)], channels);
  if (reduction == Reduction::max)
    fmt::format_to(line, ", nan {}, zeros {}", nan == NanRule::propagate ? "propagate" : "ignore",
                   zeros == ZeroRule::any ? "any" : "first");
  else if (divisor_override)
    fmt::format_to(line, ", divisor {}", *divisor_override);
  else
    fmt::format_to(line, ", divisor: taps {}", count_include_pad ? "with padding" : "in the image");
  fmt::format_to(line, "\n");
  print_view(out, "input", input);
  print_view(out, "output", output);
  if (indices) print_view(out, "indices", *indices);
  for (size_t i = 0; i < dims.size(); ++i) print_dim(out, i, dims[i]);
  return fmt::to_string(out);
}

}  // namespace pooljit::ir
