// PoolSpec: the layer that is wanted. One immutable value, checked; many spellings make it
// (frontend/dialects/). Its text form is the universal interface and prints back exactly: print(parse(text))
// == text for canonical text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/nest.h"
#include "ir/pools.h"

namespace pooljit::frontend {

// Where elements lie; names for any rank. nchw8c and nchw16c: blocks of 8 or 16 channels lie together.
enum class Layout : uint8_t { nchw, nhwc, nchw8c, nchw16c };

// How a window that is only partly inside the padded input counts: not at all; if it begins inside the input
// or the padding before it; always.
enum class CeilMode : uint8_t { floor, torch, plain };

inline constexpr size_t max_rank = 3;  // spatial dimensions
inline constexpr size_t most_members = 8;

struct SpecDim {  // one spatial dimension
  // Free: the least that the layer can have.
  int64_t input = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  int64_t adaptive_output = 0;  // output positions of an adaptive dim, which has no window; 0: not adaptive
  int64_t unpool_output = 0;    // unpool: output positions; 0: as many as the windows cover
  bool is_free = false;         // input is said at each run; written as dim_letter has it
  bool operator==(const SpecDim&) const = default;
};

// The dims are those of the forward pooling's input, also where direction is backward; then the kernel reads
// the gradient of the output (and indices) and writes that of the input. Of an unpool they are those of its
// values, also backward; then the kernel reads the gradient of its output, and indices that lie as what it
// writes.
struct PoolSpec {
  ir::Reduction reduction = ir::Reduction::max;
  double norm_type = 2;  // lp: p; infinity is the maximum of |x|
  ir::Direction direction = ir::Direction::forward;
  bool global = false;                    // the window is the input: kernel and stride of each dim are too
  bool unpool_gradient = false;           // backward: of an unpool
  ir::DType dtype = ir::DType::f32;       // of the kernel's input
  std::optional<ir::DType> output_dtype;  // absent: dtype
  std::optional<int64_t> batch;           // absent: unbatched
  bool free_batch = false;                // written N: said at each run; batch is 1 then
  int64_t channels = 1;
  std::vector<SpecDim> dims;  // 1 to max_rank, outermost first
  Layout layout = Layout::nchw;
  std::optional<Layout> output_layout;  // of output and indices; absent: layout
  // Explicit strides in elements, in logical order (N if batched, C, spatial...); empty: packed in the
  // layout.
  std::vector<int64_t> strides, output_strides;
  CeilMode ceil_mode = CeilMode::floor;
  bool return_indices = false;                              // max
  bool count_include_pad = true;                            // avg
  std::optional<int64_t> divisor_override;                  // avg
  ir::RoundingRule rounding = ir::RoundingRule::half_even;  // avg of integers
  ir::NanRule nan = ir::NanRule::propagate;
  ir::ZeroRule zeros = ir::ZeroRule::any;
  // Of the indices that are written, or read by backward and unpool.
  ir::DType index_dtype = ir::DType::i64;
  ir::IndexScope index_scope = ir::IndexScope::plane;
  int64_t storage_order = 0;  // scope tensor: 1 counts a plane column by column
  // Stored integers stand for scale * (q - zero_point).
  bool quantized = false;
  double scale = 1;
  int64_t zero_point = 0;
  std::optional<double> output_scale;        // avg; absent: scale
  std::optional<int64_t> output_zero_point;  // avg; absent: zero_point
  std::vector<ir::EpilogueStep> epilogue;    // what results go through before they are stored
  // Several pools of one tensor. Each member has this spec's input and a window of its own; this spec has
  // only the input then, kernels of 1, and with `concat` output_layout and output_strides.
  std::vector<PoolSpec> members;
  bool concat = false;         // their outputs lie one after the other along the channels of one output
  bool include_input = false;  // concat: the input before them
  bool operator==(const PoolSpec&) const = default;
};

// Whether the extents of all spatial dims are numbers, or some may be free. The functions below that say
// nothing of it give a free dim its least extent.
enum class FreeDims : uint8_t { refused, allowed };

// Parses any spelling, checks every rule, normalises. Errors: "spec.<rule>", listed in frontend/rules.def.
// Of a free spec all rules are checked that hold for every size or for none.
ir::Result<PoolSpec> parse_spec(std::string_view text, FreeDims free_dims = FreeDims::refused);

// The spec for one size, which has the extents of all spatial dims. Errors: "spec.sizes", and the rules that
// the layer of that size breaks. Free only: of what has no free dims it is the spec, if the sizes are its
// own.
ir::Result<PoolSpec> with_sizes(const PoolSpec& spec, std::span<const int64_t> sizes);

// Canonical text.
std::string print(const PoolSpec& spec);

// The batch as it is written: "8", "N" if it is free, "" if there is none.
std::string batch_text(const PoolSpec& spec);

// Canonical text with N for the batch: what a kernel depends on.
std::string signature(const PoolSpec& spec);

// "L", "H" and "W", "D" and "H" and "W".
char dim_letter(size_t rank, size_t dim);
inline bool has_free_dims(const PoolSpec& spec) {
  return std::any_of(spec.dims.begin(), spec.dims.end(), [](const SpecDim& dim) { return dim.is_free; });
}
// Of the free dims, for messages: "H and W".
std::string free_letters(const PoolSpec& spec);

// Of the kernel's input and output, which a backward pooling swaps: dimensions in logical order: N (if
// batched), C, spatial...
// Of several outputs, the one that is told by its number.
std::vector<int64_t> input_shape(const PoolSpec& spec);
std::vector<int64_t> output_shape(const PoolSpec& spec, size_t number = 0);
// The same with 0 for extents that follow from free dims.
std::vector<int64_t> known_input_shape(const PoolSpec& spec);
std::vector<int64_t> known_output_shape(const PoolSpec& spec, size_t number = 0);
// Strides in elements for those dimensions, explicit or packed in the layout. In a blocked layout the one of
// C is the distance of two blocks.
std::vector<int64_t> input_strides(const PoolSpec& spec);
std::vector<int64_t> output_strides(const PoolSpec& spec, size_t number = 0);
// A tensor that a kernel reads beside its input: an array with one number per channel, or a tensor that lies
// as `pool` says, which is the spec or a member of it; with concat the output of a member lies in that of
// all.
struct SpecOperand {
  bool is_tensor;
  const PoolSpec* pool;
  Layout layout;  // the rest: of a tensor
  std::vector<int64_t> shape, strides;
};
// In the order of the epilogue's steps, and of the members. Of the gradient of a norm the forward's input and
// output.
std::vector<SpecOperand> operands(const PoolSpec& spec);
inline constexpr const char* operand_hint =
    "one for each array and tensor of the epilogue, in the order of its steps; for a gradient of lp_pool "
    "its input, then its output";

using ir::is_pools, ir::pools_of;
// By output that the caller gives: the spec whose output it is.
inline std::span<const PoolSpec> outputs_of(const PoolSpec& spec) {
  return spec.concat ? std::span(&spec, 1) : pools_of(spec);
}
inline ir::DType output_dtype(const PoolSpec& spec) { return spec.output_dtype.value_or(spec.dtype); }
inline Layout output_layout(const PoolSpec& spec) { return spec.output_layout.value_or(spec.layout); }
inline bool is_adaptive(const PoolSpec& spec) {
  return !spec.dims.empty() && spec.dims[0].adaptive_output != 0;
}
// A routine of the runtime, which has no Program: an unpool, or its gradient.
inline bool is_unpool(const PoolSpec& spec) {
  return spec.direction == ir::Direction::unpool || spec.unpool_gradient;
}
// Whether indices are laid out like the tensor that the kernel writes; else like the one that it reads.
inline bool has_indices_like_output(const PoolSpec& spec) {
  return spec.direction == ir::Direction::forward || spec.unpool_gradient;
}
// Whether the spec has indices: made, or read to go back.
inline bool has_indices(const PoolSpec& spec) {
  return std::ranges::any_of(pools_of(spec), [](const PoolSpec& pool) {
    return is_extreme(pool.reduction) && (pool.return_indices || pool.direction != ir::Direction::forward);
  });
}
// Channels that lie together in a blocked layout; else 1.
constexpr int64_t channel_block(Layout layout) {
  return layout == Layout::nchw8c ? 8 : layout == Layout::nchw16c ? 16 : 1;
}

ir::PoolNest make_nest(const PoolSpec& spec);

}  // namespace pooljit::frontend
