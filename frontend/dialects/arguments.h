// Shared by the call-like dialects: reading the tensor, and finding the parameter of each argument.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "frontend/text.h"
#include "frontend/values.h"

namespace pooljit::frontend {

// The parameters that a call may be given; rows of a dialect's table.
struct Parameters {
  std::span<const std::string_view> names;
  uint32_t allowed = 0;                 // one bit per row: else the parameter belongs to another operator
  std::span<const uint8_t> positional;  // rows of values without a name
};

// The rows that arguments were for, in order. `seen` has their bits. The error is spec.option, spec.keyword,
// spec.positional or spec.duplicate.
struct Binding {
  FixedList<uint8_t, most_arguments> rows;
  uint32_t seen = 0;
};
Broken bind_arguments(const ParsedCall& call, const Parameters& parameters, Binding& binding);

bool is_none(const ArgumentValue& value);

// --- the tensor

enum class DimOrder : uint8_t { channels_first, channels_last };

// "float32" and the like into dtype and quantized.
Broken read_dtype(const Word& word, PoolSpec& spec);

// Batch (if `may_lack_batch`, only if there is one), channels and the extents of spec.dims, whose size is the
// rank.
Broken read_shape(const ParsedCall& call, DimOrder order, bool may_lack_batch, PoolSpec& spec);

Broken read_layout(const Word& word, PoolSpec& spec);

// --- messages

// "did you mean ...?", or nothing.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

// spec.op about a call's name.
ir::Error unknown_operator(const Word& name, std::span<const std::string_view> names);

}  // namespace pooljit::frontend
