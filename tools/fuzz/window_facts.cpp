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

bool is_subnormal(ir::DType dtype, double value) {
  return ir::is_float(dtype) &&
         std::abs(value) <
             ir::with_element_type(
                 dtype, []<typename T>(T) { return static_cast<double>(std::numeric_limits<T>::min()); });
}

std::vector<WindowFacts> window_facts(const ir::PoolNest& nest, int64_t batch, const std::byte* input,
                                      const runtime::Results& found) {
  std::vector<WindowFacts> all;
  ir::for_each_span(nest, batch, [&](const ir::OutputSpan& span, const std::vector<ir::Tap>& taps) {
    const bool is_empty =
        std::ranges::any_of(span.windows, [](const ir::Window& window) { return window.taps == 0; });
    const auto divisor = static_cast<double>(std::abs(ir::divisor(nest, span.windows)));
    for (int64_t i = 0; i < span.count; ++i) {
      WindowFacts facts = {.output = span.output + i * span.output_step,
                           .index = span.indices + i * span.indices_step,
                           .taps = is_empty ? 0 : std::ssize(taps),
                           .divisor = divisor};
      const double result = read_element(nest.output.dtype, found.output.data(), facts.output);
      const double index =
          nest.indices ? read_element(nest.indices->dtype, found.indices.data(), facts.index) : -1;
      for (int64_t t = 0; t < facts.taps; ++t) {
        const ir::Tap& tap = taps[static_cast<size_t>(t)];
        const double value =
            read_element(nest.input.dtype, input, span.input + i * span.input_step + tap.offset);
        facts.has_nan |= value != value;
        facts.mean_size += std::abs(value) / divisor;
        facts.least = std::min(facts.least, value == value ? value : facts.least);
        facts.greatest = std::max(facts.greatest, value == value ? value : facts.greatest);
        const bool is_flushed = result == 0 && is_subnormal(nest.input.dtype, value);
        facts.is_tap |= value == result || (value != value && result != result) || is_flushed;
        if (nest.indices && index == static_cast<double>(span.first_index + i * span.index_step + tap.index))
          facts.index_is_tap = true, facts.at_index = value;
      }
      all.push_back(facts);
    }
  });
  return all;
}

}  // namespace pooljit::fuzz
