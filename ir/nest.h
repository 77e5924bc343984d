// PoolNest: which input positions make each output, and how they are reduced. Level 1: it is made from a
// spec, evaluated directly by ir/reference.h (the oracle: no schedule, no Program, no pass) and lowered
// under a Schedule by ir::lower. Rank is a list. The batch is not here: a kernel serves every batch size;
// only its stride is known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/epilogue.h"
#include "ir/pools.h"
#include "ir/reduction.h"
#include "ir/windows.h"

namespace pooljit::ir {

enum class NanRule : uint8_t { propagate, ignore };
enum class ZeroRule : uint8_t { any, first };
// Which integer a tie goes to: the even one, or the one farther from zero.
enum class RoundingRule : uint8_t { half_even, half_away };

// backward: from the output's gradient to the input's. unpool: from values and indices back to where they
// were.
enum class Direction : uint8_t { forward, backward, unpool };
// The scope of an index: the plane of one (n, c), the whole tensor, (y*W + x)*C + c without and with the
// batch, the window.
enum class IndexScope : uint8_t { plane, tensor, nhwc, nhwc_batch, window };

// Whether a nest is one layer of known extents, or stands for a layer of any extents (ir/general/general.h).
enum class Extents : uint8_t {
  known,
  any,          // of windows of the kernel's taps
  any_windows,  // of windows that follow the extents: global and adaptive
};

// Where the elements of a tensor lie. Strides in elements; >= 0.
struct View {
  DType dtype = DType::f32;
  int64_t batch_stride = 0;
  int64_t channel_stride = 0;    // from one block of channels to the next
  std::vector<int64_t> strides;  // one per spatial dimension
  int64_t channel_block = 1;     // channels that lie together; a last block may be partly empty
  int64_t channel_offset(int64_t c) const { return c / channel_block * channel_stride + c % channel_block; }
  bool operator==(const View&) const = default;
};

// An average of stored integers that stand for scale * (q - zero_point). The stored result is
// zero_point_out + sum(q - zero_point) * (scale / scale_out) / divisor, each operation in float64 in this
// order, rounded to an integer and clamped.
struct Quantization {
  double scale = 1, output_scale = 1;
  int64_t zero_point = 0, output_zero_point = 0;
  bool operator==(const Quantization&) const = default;
};

// Where a member's results go: to which of the caller's outputs, so many elements behind its first, and to
// which of the arrays of indices; -1: it has none.
struct MemberPlace {
  size_t output = 0;
  int64_t offset = 0;
  int indices = -1;
};

// Backward, `input` is the gradient of the forward's output, `indices` are read beside it, `output` is the
// gradient of the forward's input; the dims are gathers. An unpool has no windows: only extents, views and
// how its indices count; it is not lowered.
struct PoolNest {
  Reduction reduction = Reduction::max;
  double norm_type = 2;  // lp: p; may be infinite
  Direction direction = Direction::forward;
  int64_t channels = 1;
  std::vector<NestDim> dims;  // outermost first
  View input, output;
  std::optional<View> indices;  // max; -1 for an empty window
  IndexScope index_scope = IndexScope::plane;
  bool column_major = false;  // plane and tensor: the first spatial dimension counts fastest
  NanRule nan = NanRule::propagate;
  ZeroRule zeros = ZeroRule::any;
  bool count_include_pad = true;                    // avg
  std::optional<int64_t> divisor_override;          // avg; never 0
  std::optional<Quantization> quantization;         // avg
  RoundingRule rounding = RoundingRule::half_even;  // avg of integers that is stored as integers
  std::vector<EpilogueStep> epilogue;               // at most most_steps
  // Else the extents, all strides but the innermost ones, padding and scopes of indices are stand-ins, of
  // which code may depend on nothing: what they are at a size, it reads from that size's words.
  Extents extents = Extents::known;
  // Several pools of one input, each as if it were alone; of the fields above only channels, the dims' inputs
  // and the input count then. With offsets their outputs are parts of one, `output`, and begin so many
  // elements behind its first; else each is a tensor of its own.
  std::vector<PoolNest> members;
  std::vector<int64_t> member_offsets;
  bool operator==(const PoolNest&) const = default;

  // The result is one of the taps, if there are any; else it is computed from all of them.
  bool is_extreme() const { return ir::is_extreme(reduction); }
  bool is_maximum() const { return ir::is_maximum(reduction); }  // of extremes
  bool is_sum() const { return info(reduction).kind == ReductionKind::sum; }
  bool is_norm() const { return ir::is_norm(reduction); }
  bool divides() const { return info(reduction).divides; }
  // ... by a count of taps.
  bool divides_by_taps() const { return divides() && !divisor_override; }
  bool has_any_size() const { return extents != Extents::known; }
  bool is_backward() const { return direction == Direction::backward; }
  // It also reads the forward's input, operand 0, which lies as `output`, and its output, operand 1, which
  // lies as `input`.
  bool is_norm_gradient() const { return is_backward() && is_norm(); }
  // The type that the reduction's result is converted to: the one that the steps of an epilogue compute in,
  // else the output's dtype.
  DType result_dtype() const;
  // By output that the caller gives: the nest whose output it is.
  std::span<const PoolNest> outputs() const {
    return member_offsets.empty() ? pools_of(*this) : std::span(this, 1);
  }
  MemberPlace member_place(size_t number) const;
  // Whose indices the caller's array of this number holds: the nest's, or a member's.
  const PoolNest& with_indices(size_t number) const;
  int64_t full_taps() const;  // product of the most taps that windows have
  std::string print() const;  // stage "nest" of `pooljit show`
};

// The forward pass of a backward one: what its indices and divisors count.
PoolNest forward_of(const PoolNest& backward);

// The arrays and tensors that the caller gives for the steps of an epilogue, in their order, all in the
// output's extents: an array with one number per channel repeats along all other dims, by strides of 0. For
// several pools, those of each member, in the extents of its own output. For the gradient of a norm, its two.
std::vector<View> operand_views(const PoolNest& nest);
// The extents that the operand of this number has, of one pool.
int64_t NestDim::*operand_extent(const PoolNest& nest, size_t operand);
// How many one pool has.
size_t operand_count(const PoolNest& pool);
// Which of all the operands is the first of this pool, or of the one behind the last.
size_t first_operand(std::span<const PoolNest> pools, size_t pool);
// Whether the operand of this number, of one pool, is an array with one number per channel.
bool is_per_channel(const PoolNest& nest, size_t operand);

// Where they begin in memory.
using Operands = std::span<const void* const>;

// An index is the sum of: the tap's place along each dimension times dims[i]; channel and batch times theirs.
// The place is the tap's position, or, if of_window, its number in the window.
struct IndexRule {
  std::vector<int64_t> dims;
  int64_t channel = 0, batch = 0;
  bool of_window = false;
};
IndexRule index_rule(const PoolNest& nest);
// The largest difference of the indices of two taps of one window.
int64_t index_reach(const PoolNest& nest);

// Divisor of an average at one output position: divisor_override, else the product of padded_taps or taps; 1
// for an empty window (whose sum is 0), and for what is not divided. The windows are the forward's.
int64_t divisor(const PoolNest& nest, const std::vector<Window>& windows);

// Products of integers: how many of their low bits count.
inline int product_bits(const PoolNest& nest) {
  const DType result = nest.result_dtype();
  return is_float(result) ? 64 : info(result).bits;
}

}  // namespace pooljit::ir
