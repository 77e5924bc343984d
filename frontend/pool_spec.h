// PoolSpec: what is wanted. One immutable value, checked; many spellings make it (frontend/dialects/). Its
// text form is the universal interface and prints back exactly: print(parse(text)) == text for canonical
// text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/error.h"
#include "ir/nest.h"

namespace pooljit::frontend {

enum class Layout : uint8_t { nchw, nhwc };  // where elements lie; names for any rank

inline constexpr size_t max_rank = 3;  // spatial dimensions

struct SpecDim {  // one spatial dimension
  int64_t input = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  bool operator==(const SpecDim&) const = default;
};

struct PoolSpec {
  ir::Reduction reduction = ir::Reduction::max;
  ir::DType dtype = ir::DType::f32;
  std::optional<int64_t> batch;  // absent: unbatched
  int64_t channels = 1;
  std::vector<SpecDim> dims;  // 1 to max_rank, outermost first
  Layout layout = Layout::nchw;
  // Explicit strides in elements, in logical order (N if batched, C, spatial...); empty: packed in `layout`.
  std::vector<int64_t> strides, output_strides;
  bool ceil_mode = false;
  bool return_indices = false;              // max
  bool count_include_pad = true;            // avg
  std::optional<int64_t> divisor_override;  // avg
  ir::NanRule nan = ir::NanRule::propagate;
  ir::ZeroRule zeros = ir::ZeroRule::any;
  bool operator==(const PoolSpec&) const = default;
};

// Parses any spelling, checks every rule, normalises. Errors: "spec.<rule>", listed in frontend/rules.def.
ir::Result<PoolSpec> parse_spec(std::string_view text);

// Canonical text.
std::string print(const PoolSpec& spec);

// Canonical text with the batch left out: what a kernel depends on.
std::string signature(const PoolSpec& spec);

// Dimensions in logical order: N (if batched), C, spatial...
std::vector<int64_t> input_shape(const PoolSpec& spec);
std::vector<int64_t> output_shape(const PoolSpec& spec);
// Strides in elements for those dimensions, explicit or packed in the layout.
std::vector<int64_t> input_strides(const PoolSpec& spec);
std::vector<int64_t> output_strides(const PoolSpec& spec);

ir::PoolNest make_nest(const PoolSpec& spec);

}  // namespace pooljit::frontend
