#include "tools/fuzz/difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "ir/agreement.h"
#include "lab/elements.h"

namespace pooljit::fuzz {
namespace {

using runtime::Bytes;

uint64_t bits_of(ir::DType dtype, const Bytes& memory, int64_t element) {
  const auto width = static_cast<size_t>(ir::bytes(dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, &memory[static_cast<size_t>(element) * width], width);
  return bits;
}

void copy_element(ir::DType dtype, const Bytes& from, Bytes& to, int64_t element) {
  const auto width = static_cast<size_t>(ir::bytes(dtype)), at = static_cast<size_t>(element) * width;
  std::memcpy(&to[at], &from[at], width);
}

// One element as text, and, if another looks the same, its bits.
std::string text_of(ir::DType dtype, uint64_t bits, uint64_t other) {
  const std::string text = fmt::format("{}", runtime::print_element(dtype, bits));
  const int digits = ir::info(dtype).bits / 4;
  const bool is_nan = text.find("nan") != std::string::npos;
  return is_nan || text == runtime::print_element(dtype, other)
             ? fmt::format("{} (0x{:0{}x})", text, bits, digits)
             : text;
}

// Which of its tensors an element is of.
struct Part {
  const char* name;
  const ir::View& view;
  const Bytes &found, &expected;
  int64_t element;
};

Difference described(const ir::PoolNest& nest, const WindowFacts& window, const Part& part) {
  const ir::DType dtype = part.view.dtype;
  const uint64_t got = bits_of(dtype, part.found, part.element),
                 expected = bits_of(dtype, part.expected, part.element);
  const auto position = std::span(window.position).first(nest.dims.size());
  return {.place = fmt::format("{} [{},{},{}]", part.name, window.n, window.c, fmt::join(position, ",")),
          .got = text_of(dtype, got, expected),
          .expected = text_of(dtype, expected, got)};
}

}  // namespace

std::optional<Difference> first_difference(const ir::PoolNest& nest, const runtime::Case& data,
                                           const runtime::Results& results) {
  ir::Judge judge(nest, data.batch, data.input.at[0].data(),
                  data.reads_indices ? data.indices.at[0].data() : nullptr, data.call(0).operands);
  const bool has_indices = nest.indices && !data.reads_indices;
  // What is right but for one element.
  runtime::Results one = {judge.output(), has_indices ? judge.indices() : results.indices};
  const auto is_wrong = [&] { return judge.disagreement(one.output.data(), one.indices.data()).has_value(); };
  std::optional<Difference> first;
  int64_t wrong = 0, of = 0;
  for (const WindowFacts& window : window_facts(nest, data.batch, data.input.at[0].data(), results)) {
    ++of;
    const auto try_part = [&](const Part& part, Bytes& mine) {
      const ir::DType dtype = part.view.dtype;
      if (bits_of(dtype, part.found, part.element) == bits_of(dtype, part.expected, part.element))
        return false;
      copy_element(dtype, part.found, mine, part.element);
      const bool is_bad = is_wrong();
      copy_element(dtype, part.expected, mine, part.element);
      if (is_bad && !first) first = described(nest, window, part);
      return is_bad;
    };
    constexpr int64_t most_tried = 4000;  // of large cases, more than that are not counted
    if (of > most_tried && first) continue;
    bool is_bad =
        try_part({"output", nest.output, results.output, judge.output(), window.output}, one.output);
    if (has_indices)
      is_bad |=
          try_part({"index", *nest.indices, results.indices, judge.indices(), window.index}, one.indices);
    wrong += is_bad ? 1 : 0;
  }
  if (first) first->wrong = wrong, first->of = of;
  return first;
}

Difference difference_at(const ir::PoolNest& nest, const runtime::Case& data, const runtime::Results& results,
                         const WindowFacts& window, bool is_index) {
  const ir::Judge judge(nest, data.batch, data.input.at[0].data());
  if (is_index)
    return described(nest, window, {"index", *nest.indices, results.indices, judge.indices(), window.index});
  return described(nest, window, {"output", nest.output, results.output, judge.output(), window.output});
}

}  // namespace pooljit::fuzz
