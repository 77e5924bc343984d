// The outputs of a nest in spans: rows of outputs whose taps are laid out alike. The oracle takes one tap of
// all outputs of a span before the next tap, which is many times faster than one output after the other.
// Lowering does not use spans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/nest.h"
#include "ir/window_taps.h"

namespace pooljit::ir {

// Output i of a span lies i steps behind output 0, and so does each of its taps.
struct OutputSpan {
  // A span is no longer, so that what is kept per output stays in cache.
  static constexpr int64_t most = 512;

  int64_t count = 0;
  int64_t n = 0, c = 0;               // of output 0
  std::vector<int64_t> position;      // of output 0
  std::vector<Window> windows;        // of output 0; the others have as many taps, and the same divisor
  int64_t channel_step = 0;           // 1: the outputs are channels; 0: they are positions along the last dim
  int64_t input = 0, input_step = 0;  // in elements: output 0's first tap
  int64_t output = 0, output_step = 0;
  int64_t indices = 0, indices_step = 0;
  int64_t first_index = 0, index_step = 0;  // of the first tap

  std::vector<int64_t> position_of(int64_t i) const {
    std::vector<int64_t> result = position;
    if (channel_step == 0) result.back() += i;
    return result;
  }
};

// Outputs of a dimension, one behind the other, that have as many taps each, at equal distances.
struct AlikeOutputs {
  int64_t begin = 0, count = 0;
  int64_t distance = 0;
};
inline std::vector<AlikeOutputs> alike_outputs(const NestDim& dim, int64_t most) {
  std::vector<AlikeOutputs> result;
  Window last;
  for (int64_t o = 0; o < dim.output; ++o) {
    const Window window = dim.window(o);
    const int64_t distance = window.first - last.first;
    const bool is_alike = window.taps == last.taps && window.first_tap == last.first_tap &&
                          window.padded_taps == last.padded_taps;
    if (result.empty() || !is_alike || result.back().count == most ||
        (result.back().count > 1 && result.back().distance != distance))
      result.push_back({o, 0, 0});
    AlikeOutputs& alike = result.back();
    if (++alike.count == 2) alike.distance = distance;
    last = window;
  }
  return result;
}

// Visits every output of the batch once: visit(span, taps), taps relative to each output's first. Spans run
// along channels or along the last dimension, whichever has the smaller stride.
template <typename Visit>
void for_each_span(const PoolNest& nest, int64_t batch, const Visit& visit) {
  const size_t last = nest.dims.size() - 1;
  const View& indices = nest.indices ? *nest.indices : nest.output;
  OutputSpan span;
  const bool is_blocked =
      nest.input.channel_block > 1 || nest.output.channel_block > 1 || indices.channel_block > 1;
  span.channel_step = !is_blocked && nest.input.channel_stride < nest.input.strides[last] ? 1 : 0;
  const int64_t most_channels = span.channel_step == 1 ? OutputSpan::most : 1;
  const auto step = [&](const View& view) {
    return span.channel_step == 1 ? view.channel_stride : view.strides[last];
  };
  span.output_step = step(nest.output);
  span.indices_step = step(indices);
  WindowTaps taps(nest);
  const IndexRule rule = index_rule(nest);

  const auto visit_planes = [&](int64_t positions, int64_t distance) {
    taps.move_to(span.windows);
    span.input_step =
        span.channel_step == 1 ? nest.input.channel_stride : distance * nest.input.strides[last];
    span.index_step = span.channel_step == 1 ? rule.channel : rule.of_window ? 0 : distance * rule.dims[last];
    for (span.n = 0; span.n < batch; ++span.n)
      for (span.c = 0; span.c < nest.channels; span.c += most_channels) {
        span.count = std::max(positions, std::min(most_channels, nest.channels - span.c));
        span.first_index = taps.first.index + span.n * rule.batch + span.c * rule.channel;
        span.input = plane_offset(nest.input, span.n, span.c) + taps.first.offset;
        span.output = plane_offset(nest.output, span.n, span.c) + position_offset(nest.output, span.position);
        span.indices = plane_offset(indices, span.n, span.c) + position_offset(indices, span.position);
        visit(span, taps.from_first);
      }
  };
  const std::vector<AlikeOutputs> row =
      alike_outputs(nest.dims[last], span.channel_step == 1 ? 1 : OutputSpan::most);
  for_each_position(std::span(nest.dims).first(last), [&](const auto& position, const auto& windows) {
    for (const AlikeOutputs& alike : row) {
      span.position = position;
      span.position.push_back(alike.begin);
      span.windows = windows;
      span.windows.push_back(nest.dims[last].window(alike.begin));
      visit_planes(alike.count, alike.distance);
    }
  });
}

}  // namespace pooljit::ir
