#include "tools/fuzz/window_facts.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/element_type.h"
#include "ir/output_spans.h"

namespace pooljit::fuzz {

double read_element(ir::DType dtype, const std::byte* memory, int64_t element) {
  return ir::with_element_type(dtype, [&]<typename T>(T value) {
    std::memcpy(&value, memory + element * static_cast<int64_t>(sizeof value), sizeof value);
    return static_cast<double>(value);
  });
}

std::vector<WindowFacts> window_facts(const ir::PoolNest& nest, int64_t batch, const std::byte* input) {
  std::vector<WindowFacts> all;
  ir::for_each_span(nest, batch, [&](const ir::OutputSpan& span, const std::vector<ir::Tap>& taps) {
    const bool is_empty =
        std::ranges::any_of(span.windows, [](const ir::Window& window) { return window.taps == 0; });
    const auto divisor = static_cast<double>(std::abs(ir::divisor(nest, span.windows)));
    for (int64_t i = 0; i < span.count; ++i) {
      WindowFacts facts = {span.output + i * span.output_step,
                           span.indices + i * span.indices_step,
                           is_empty ? 0 : std::ssize(taps),
                           false,
                           divisor,
                           0};
      for (int64_t tap = 0; tap < facts.taps; ++tap) {
        const double value =
            read_element(nest.input.dtype, input,
                         span.input + i * span.input_step + taps[static_cast<size_t>(tap)].offset);
        facts.has_nan |= value != value;
        facts.mean_size += std::abs(value) / divisor;
      }
      all.push_back(facts);
    }
  });
  return all;
}

}  // namespace pooljit::fuzz
