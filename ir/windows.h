// Windows of one spatial dimension: which input positions make each output. Lowering, the oracle and the
// divisors take everything that they know of a dimension from here, for ordinary, adaptive and backward
// pooling alike.
//
// Along a dimension windows repeat: `period().output` outputs later they are the same, moved by
// `period().input`. An ordinary pooling has (1, stride). An adaptive one from n to o has (o/g, n/g) with
// g = gcd(n, o). Backward, where each input position of the forward gathers from the windows that cover it,
// the roles swap: (stride, 1). The outputs of one period are its phases.
#pragma once

#include <cstdint>
#include <vector>

namespace pooljit::ir {

// The taps of one output position along one dimension.
struct Window {
  int64_t first = 0;        // input position of the first tap inside the image (meaningless if taps == 0)
  int64_t taps = 0;         // how many taps lie inside the image; they are first, first + step, ...
  int64_t step = 1;         // dilation
  int64_t first_tap = 0;    // number of that first tap in the whole window, 0-based
  int64_t padded_taps = 0;  // taps inside the image and its padding: the divisor of count_include_pad
  bool operator==(const Window&) const = default;
};

struct Period {
  int64_t output = 1, input = 1;
};

enum class DimKind : uint8_t {
  pool,      // window `a` begins at a * stride - pad_begin
  adaptive,  // window `a` is [floor(a * input / output), ceil((a + 1) * input / output))
  gather,    // backward of pool: window `i` is the forward's windows that have a tap at i
  pixels,    // a row of pixels of `pixel` elements each: a pool for each of them, all extents in elements
};

// One spatial dimension. All in elements of that dimension. A gather's `input` is the forward's output and
// its `output` the forward's input; the other fields are the forward's. An adaptive dimension has no use for
// them.
struct NestDim {
  int64_t input = 1;   // extent
  int64_t output = 1;  // extent
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;  // pad_end may be negative: a crop
  DimKind kind = DimKind::pool;
  int64_t pixel = 1;  // pixels: output `a` is element a % pixel of its pixel
  bool operator==(const NestDim&) const = default;

  Window window(int64_t output_position) const;
  // The same as if the image had no end: never clipped, `first` may lie outside.
  Window whole_window(int64_t output_position) const;

  Period period() const;
  int64_t periods() const;  // the last one may be partial

  int64_t tap_step() const;         // positions from tap to tap; the same for all windows
  int64_t tap_number_step() const;  // what first_tap moves by from tap to tap: 1; backward it is negative
  int64_t most_taps() const;        // of any window
  int64_t unclipped_taps() const;   // ... of a kernel, also outside the image
  // The part of the input that windows may see: a forward's negative end pad crops it.
  int64_t visible_input() const { return is_forward() && pad_end < 0 ? input + pad_end : input; }
  // Windows of a kernel, in an image with padding.
  bool is_forward() const { return kind == DimKind::pool || kind == DimKind::pixels; }
};

// The forward dimension of a gather: what its divisors are counted in.
NestDim forward_of(const NestDim& gather);

// Outputs whose windows keep the same taps: phase + i + p * period().output for i = 0 .. phases-1 and
// p = begin .. end-1. first_tap, taps and padded_taps are equal; `first` moves by period().input per p and
// not at all per i. (Backward first_tap moves by tap_of_phase per i.)
struct Run {
  int64_t begin = 0, end = 0;  // periods
  Window window;               // of the first one
  int64_t phase = 0, phases = 1;
  int64_t outputs() const { return (end - begin) * phases; }
};
// Covers all outputs, phase by phase, each in order. A pure function of the dimension; tested against
// window() one by one.
std::vector<Run> runs(const NestDim& dim);
// The step of first_tap from phase to phase of a Run.
int64_t tap_of_phase(const NestDim& dim);

// The taps that most windows have; ordinary pooling: the kernel, if any window lies wholly inside the image.
// Never 0.
int64_t usual_taps(const NestDim& dim, const std::vector<Run>& runs);

// Outputs next to each other whose windows are nowhere clipped, [begin, end); empty if none.
struct Interior {
  int64_t begin = 0, end = 0;
};
Interior interior(const NestDim& dim);
// True if some windows are not whole.
bool has_borders(const NestDim& dim);

}  // namespace pooljit::ir
