// The baseline of measurements: the loop nest that a good engineer writes by hand for a pooling layer, in
// C++, without intrinsics, compiled with -O3 -march=native for the machine that builds it. Windows are
// clipped before the loops over taps, the innermost loop is contiguous where the layout allows it, and
// nothing is recomputed per tap.
//
// This header and its .cpp are compiled for the building machine only, so they use plain types and no inline
// function that the rest of the tool could share.
#pragma once

#include <cstdint>

namespace pooljit::tools {

struct PlainDim {
  int64_t input, output, kernel, stride, dilation, pad_begin;  // kernel 0: adaptive
  int64_t limit;   // taps at or beyond it are outside: the input's extent, less what a negative end pad crops
  int64_t padded;  // end of the padded input: what count_include_pad counts to
};

enum class PlainType : uint8_t {
#define DTYPE(name, spec, text, bits, cls, npy, tensor, note) name,
#include "ir/dtype.def"
#undef DTYPE
};
enum class PlainReduction : uint8_t {
#define REDUCTION(name, ...) name,
#include "ir/reductions.def"
#undef REDUCTION
};

// Distances of elements.
struct PlainView {
  int64_t image = 0, channel = 0, dims[3] = {};
};

struct PlainPool {
  PlainType type = PlainType::f32;
  PlainReduction reduction = PlainReduction::max;
  bool channels_last = false;         // the tensor that is read
  bool writes_channels_last = false;  // output and indices
  bool count_include_pad = true;
  bool nan_wins = true;
  bool rounds_half_away = false;  // averages of integers
  int64_t divisor = 0;            // divisor_override; 0: none
  double norm_type = 2;
  int64_t batch = 1, channels = 1;
  PlainDim dims[3];          // depth, height, width; a missing dimension is {1, 1, 1, 1, 1, 0, 1, 1}
  bool is_view = false;      // a tensor is not packed
  bool writes_view = false;  // output and indices are not
  PlainView from, to;        // of packed tensors too
};

// `indices` may be null. Tasks are planes (channels first) or output
// rows (channels last); any range may be done at once by any thread.
int64_t plain_tasks(const PlainPool& pool);
void run_plain(const PlainPool& pool, const void* input, void* output, int64_t* indices, int64_t begin,
               int64_t end);
void run_plain_view(const PlainPool& pool, const void* input, void* output, int64_t* indices, int64_t begin,
                    int64_t end);  // of pool.is_view

// Backward: zeros, then each output's gradient is added to its taps, or to the one that its index names. The
// pool is the forward's, of floats; `gradient` and indices lie as `from` says, `result` as `to` says. Tasks
// are planes, or images where channels are last anywhere.
int64_t plain_gradient_tasks(const PlainPool& pool);
void run_plain_gradient(const PlainPool& pool, const void* gradient, const int64_t* indices, void* result,
                        int64_t begin, int64_t end);

// Whether this machine can run it: it may have been built on another one.
bool plain_loop_runs_here();

}  // namespace pooljit::tools
