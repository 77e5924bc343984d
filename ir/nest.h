// PoolNest: which input positions make each output, and how they are reduced. Level 1: it is made from a
// spec, evaluated directly by ir/reference.h (the oracle, which shares no code with lowering) and lowered
// under a Schedule by ir/lower.h. Rank is a list. The batch is not here: a kernel serves every batch size;
// only its stride is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace pooljit::ir {

enum class Reduction : uint8_t {
#define REDUCTION(name, text, note) name,
#include "ir/reductions.def"
#undef REDUCTION
};

enum class NanRule : uint8_t { propagate, ignore };
enum class ZeroRule : uint8_t { any, first };

// The taps of one output position along one dimension.
struct Window {
  int64_t first = 0;        // input position of the first tap inside the image (meaningless if taps == 0)
  int64_t taps = 0;         // how many taps lie inside the image; they are first, first + step, ...
  int64_t step = 1;         // dilation
  int64_t first_tap = 0;    // number of that first tap in the whole window, 0-based
  int64_t padded_taps = 0;  // taps inside the image and its padding: the divisor of count_include_pad
  bool operator==(const Window&) const = default;
};

// One spatial dimension. All in elements of that dimension.
struct NestDim {
  int64_t input = 1;   // extent
  int64_t output = 1;  // extent
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;  // pad_end may be negative: a crop
  bool operator==(const NestDim&) const = default;

  Window window(int64_t output_position) const;
  int64_t extent() const { return dilation * (kernel - 1) + 1; }
  // The part of the input that windows may see: a negative end pad crops it.
  int64_t visible_input() const { return pad_end < 0 ? input + pad_end : input; }
};

// Consecutive outputs whose windows keep the same taps: first_tap, taps and padded_taps are equal, `first`
// moves by stride.
struct Run {
  int64_t begin = 0, end = 0;  // outputs
  Window window;               // of `begin`
};
// Covers 0 .. dim.output-1 in order. A pure function of the dimension; tested against window() one by one.
std::vector<Run> runs(const NestDim& dim);

// The outputs whose windows lie wholly inside the image, [begin, end); empty if none.
struct Interior {
  int64_t begin = 0, end = 0;
};
Interior interior(const NestDim& dim);

// Where the elements of a tensor lie. Strides in elements; >= 0.
struct View {
  DType dtype = DType::f32;
  int64_t batch_stride = 0;
  int64_t channel_stride = 0;
  std::vector<int64_t> strides;  // one per spatial dimension
  bool operator==(const View&) const = default;
};

struct PoolNest {
  Reduction reduction = Reduction::max;
  int64_t channels = 1;
  std::vector<NestDim> dims;  // outermost first
  View input, output;
  std::optional<View> indices;  // max: plane scope, row-major over dims; -1 for an empty window
  NanRule nan = NanRule::propagate;
  ZeroRule zeros = ZeroRule::any;
  bool count_include_pad = true;            // avg
  std::optional<int64_t> divisor_override;  // avg; never 0
  bool operator==(const PoolNest&) const = default;

  int64_t full_taps() const;  // product of kernels
  std::string print() const;  // stage "nest" of `pooljit show`
};

// Divisor of an average at one output position: divisor_override, else the product of padded_taps or taps; 1
// for an empty window (whose sum is 0).
int64_t divisor(const PoolNest& nest, const std::vector<Window>& windows);

}  // namespace pooljit::ir
