#include "tools/fuzz/window_facts.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/element_type.h"
#include "ir/output_spans.h"

namespace pooljit::fuzz {

Number read_element(ir::DType dtype, const std::byte* memory, int64_t element) {
  return ir::with_element_type(dtype, [&]<typename T>(T value) {
    std::memcpy(&value, memory + element * static_cast<int64_t>(sizeof value), sizeof value);
    return static_cast<Number>(value);
  });
}

bool is_subnormal(ir::DType dtype, Number value) {
  return ir::is_float(dtype) &&
         std::abs(value) <
             ir::with_element_type(
                 dtype, []<typename T>(T) { return static_cast<double>(std::numeric_limits<T>::min()); });
}

namespace {

__extension__ using Wide = __int128;  // sums of int64: a Number would round those on the way

// How many numbers an index can be.
double index_count(const ir::PoolNest& nest, int64_t batch) {
  double count = 1;
  const bool is_of_window = nest.index_scope == ir::IndexScope::window;
  for (const ir::NestDim& dim : nest.dims)
    count *= static_cast<double>(is_of_window ? dim.kernel : dim.input);
  if (is_of_window || nest.index_scope == ir::IndexScope::plane) return count;
  count *= static_cast<double>(nest.channels);
  return nest.index_scope == ir::IndexScope::nhwc ? count : count * static_cast<double>(batch);
}

}  // namespace

void for_each_window(const ir::PoolNest& nest, int64_t batch, const std::byte* input,
                     const runtime::Results& found, const std::function<bool(OutputPlace)>& is_wanted,
                     const std::function<void(const WindowFacts&)>& visit) {
  const double indices = index_count(nest, batch);
  ir::for_each_span(nest, batch, [&](const ir::OutputSpan& span, const std::vector<ir::Tap>& taps) {
    const bool is_empty =
        std::ranges::any_of(span.windows, [](const ir::Window& window) { return window.taps == 0; });
    const int64_t signed_divisor = ir::divisor(nest, span.windows);
    const auto divisor = static_cast<double>(std::abs(signed_divisor));
    for (int64_t i = 0; i < span.count; ++i) {
      const OutputPlace place = {span.output + i * span.output_step, span.indices + i * span.indices_step};
      if (!is_wanted(place)) continue;
      WindowFacts facts = {.n = span.n,
                           .c = span.c + i * span.channel_step,
                           .output = place.output,
                           .index = place.index,
                           .taps = is_empty ? 0 : std::ssize(taps),
                           .divisor = divisor};
      std::ranges::copy(span.position, facts.position.begin());
      if (span.channel_step == 0) facts.position[span.position.size() - 1] += i;
      const Number result = read_element(nest.output.dtype, found.output.data(), facts.output);
      const Number index =
          nest.indices ? read_element(nest.indices->dtype, found.indices.data(), facts.index) : -1;
      facts.index_is_in_input = index >= -1 && index < indices;
      Wide whole_sum = 0;
      for (int64_t t = 0; t < facts.taps; ++t) {
        const ir::Tap& tap = taps[static_cast<size_t>(t)];
        const Number value =
            read_element(nest.input.dtype, input, span.input + i * span.input_step + tap.offset);
        const int64_t tap_index = span.first_index + i * span.index_step + tap.index;
        if (t == 0) facts.first_index = tap_index;
        facts.has_nan |= value != value;
        facts.mean_size += static_cast<double>(std::abs(value)) / divisor;
        if (ir::is_float(nest.input.dtype))
          facts.sum += value;
        else
          whole_sum += static_cast<int64_t>(value);
        facts.least = std::min(facts.least, value == value ? value : facts.least);
        if (value > facts.greatest || (value == facts.greatest && facts.best_number < 0))
          facts.greatest = value, facts.best_number = tap_index;
        const bool is_flushed = result == 0 && is_subnormal(nest.input.dtype, value);
        const bool is_equal = value == result;
        facts.equals += is_equal ? 1 : 0;
        facts.is_tap |= is_equal || (value != value && result != result) || is_flushed;
        const bool is_at_index = nest.indices && index == static_cast<Number>(tap_index);
        if (is_at_index) facts.index_is_tap = true, facts.at_index = value;
        if (is_equal) facts.last_equal = tap_index, facts.index_is_last = is_at_index;
      }
      if (!ir::is_float(nest.input.dtype)) facts.sum = static_cast<Number>(whole_sum);
      facts.mean = facts.sum / static_cast<Number>(signed_divisor);
      visit(facts);
    }
  });
}

std::vector<WindowFacts> window_facts(const ir::PoolNest& nest, int64_t batch, const std::byte* input,
                                      const runtime::Results& found,
                                      const std::function<bool(OutputPlace)>& is_wanted) {
  std::vector<WindowFacts> all;
  for_each_window(nest, batch, input, found, is_wanted, [&](const WindowFacts& one) { all.push_back(one); });
  return all;
}

}  // namespace pooljit::fuzz
