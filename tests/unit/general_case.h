// A layer at a size, its data, and how code for all sizes is run at it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/general/size_words.h"
#include "ir/reductions/stored.h"
#include "runtime/engines.h"
#include "runtime/memory_view.h"
#include "tests/unit/general_layers.h"

namespace pooljit {

inline constexpr int64_t batch = 2;

inline frontend::PoolSpec spec_at(const std::string& text, const Extents& extents) {
  const size_t at = text.find("SIZE");
  const std::string sized =
      text.substr(0, at) + fmt::format("{}", fmt::join(extents, ",")) + text.substr(at + 4);
  const auto spec = frontend::parse_spec(sized);
  EXPECT_TRUE(spec) << sized << ": " << to_string(spec.error());
  return *spec;
}

inline ir::Extents extents_of(std::string_view text) {
  const bool follow = text.starts_with("global") || text.starts_with("adaptive");
  return follow ? ir::Extents::any_windows : ir::Extents::any;
}

inline std::string name(const Extents& extents) { return fmt::format("{}", fmt::join(extents, "x")); }

// Numbers whose sums are exact, some of them NaN; tenths: floats whose sums are not.
template <typename Random>
void fill(std::vector<std::byte>& bytes, ir::DType dtype, Random& random, bool tenths = false,
          bool signed_zeros = false) {
  const auto width = static_cast<size_t>(ir::bytes(dtype));
  for (size_t i = 0; i + width <= bytes.size(); i += width) {
    const int64_t number = static_cast<int64_t>(random() % 9) - 4;
    const bool is_rare = random() % 50 == 0;
    const double small =
        signed_zeros && number == 0 && random() % 2 == 0 ? -0.0 : static_cast<double>(number);
    const double real = tenths ? 0.1 * static_cast<double>(random() % 1000) : small;
    const int64_t bits = is_float(dtype) ? ir::float_bits(dtype, is_rare && !tenths ? NAN : real)
                                         : ir::lane_bits(dtype, is_rare ? number * 31 : number);
    std::memcpy(&bytes[i], &bits, width);
  }
}

struct Result {
  std::vector<std::byte> output, indices;
  bool operator==(const Result&) const = default;
};

// A layer at a size, with its input.
struct Case {
  ir::PoolNest nest;
  std::vector<std::vector<int64_t>> words;  // of the one pool
  std::vector<std::byte> input, indices;    // those that a gradient reads
  std::vector<std::vector<std::byte>> operands;

  Case(ir::PoolNest sized, const ir::PoolNest& general, bool tenths = false) : nest(std::move(sized)) {
    const auto made = size_words(general, nest);
    EXPECT_TRUE(made) << to_string(made.error());
    words.push_back(*made);
    std::mt19937 random(static_cast<unsigned>(nest.dims[0].input));
    input.resize(static_cast<size_t>(runtime::input_view(nest, batch).span_bytes()));
    fill(input, nest.input.dtype, random, tenths, nest.zeros == ir::ZeroRule::first);
    if (nest.is_backward() && nest.indices) {
      indices.resize(static_cast<size_t>(runtime::indices_view(nest, batch).span_bytes()));
      fill_with_positions(random);
    }
    for (const runtime::MemoryView& view : runtime::operand_memory(nest, batch)) {
      operands.emplace_back(static_cast<size_t>(view.span_bytes()));
      fill(operands.back(), operand_views(nest)[operands.size() - 1].dtype, random);
    }
  }

  // Of a window's taps, or of a plane.
  template <typename Random>
  void fill_with_positions(Random& random) {
    const ir::IndexRule rule = index_rule(nest);
    const auto width = static_cast<size_t>(ir::bytes(nest.indices->dtype));
    for (size_t i = 0; i + width <= indices.size(); i += width) {
      int64_t index = rule.channel * static_cast<int64_t>(random() % static_cast<uint64_t>(nest.channels));
      for (size_t dim = 0; dim < nest.dims.size(); ++dim) {
        const int64_t extent = rule.of_window ? nest.dims[dim].kernel : nest.dims[dim].output;
        index += rule.dims[dim] * static_cast<int64_t>(random() % static_cast<uint64_t>(extent));
      }
      std::memcpy(&indices[i], &index, width);
    }
  }

  std::vector<const void*> operand_words() const {
    std::vector<const void*> words_of;
    for (const auto& operand : operands) words_of.push_back(operand.data());
    return words_of;
  }

  Result run(const runtime::Code& code, bool has_words = true) const {
    Result result;
    result.output.assign(static_cast<size_t>(runtime::output_view(nest, batch).span_bytes()),
                         std::byte{0xa5});
    result.indices = indices;
    if (indices.empty())
      result.indices.assign(static_cast<size_t>(runtime::indices_view(nest, batch).span_bytes()),
                            std::byte{0xa5});
    runtime::Call call{input.data(), result.output.data(), result.indices.data(), batch};
    std::ranges::copy(operand_words(), call.operands.begin());
    if (has_words) call.sized = &nest, call.sizes = words;
    // Two parts of the batch, and of the last dimension of tasks.
    const std::vector<ir::TaskDim>& tasks = code.info.tasks;
    runtime::TaskRanges ranges{};
    for (size_t i = 0; i < tasks.size(); ++i) ranges[i] = {0, task_count(tasks[i], nest, batch)};
    const size_t last = std::max<size_t>(tasks.size(), 2) - 1;
    const int64_t rows = tasks.size() > 1 ? ranges[last].count : 1;
    for (int64_t n = 0; n < batch; ++n)
      for (const auto& [begin, end] : {std::pair{int64_t{0}, rows / 2}, {rows / 2, rows}}) {
        ranges[0] = {n, 1};
        ranges[last] = {begin, end - begin};
        code.run(call, ranges);
      }
    return result;
  }
};

}  // namespace pooljit
