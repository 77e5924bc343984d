// ONNX's operator sets, as far as pooling differs between them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "frontend/values.h"

namespace pooljit::frontend::onnx_opsets {

// The newest whose text was read. No operator of ours changed between 22 and it.
inline constexpr int64_t newest = 27;
// Since when the text of ceil_mode drops a window that would begin in the padding at the end.
inline constexpr int64_t dropped_since = 22;

// The opset that brought an attribute, or the operator where `word` is its own name.
int64_t since(std::string_view op, std::string_view word);

// spec.opset: an opset that is not known, or one in which the operator or one of these attributes is not
// there yet.
Broken check(std::string_view op, std::span<const std::string_view> attributes, int64_t opset);

}  // namespace pooljit::frontend::onnx_opsets
