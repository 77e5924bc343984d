// Shared by the engines of this folder: the functions of include/pooljit_engine.h in terms of prepare(),
// which each engine has one of.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

#include "pooljit_engine.h"

namespace adapter {

struct Buffers {
  const void* input;
  void *output, *indices;  // indices: null if there are none
  // Not one byte behind their ends may be touched, as in pooljit_engine_run; no call is timed.
  bool are_guarded = false;
};

// Memory of an adapter's own for a library that may touch some bytes behind a tensor: against pages that
// nobody may touch, like the buffers that it stands for, before its first byte or behind the last of the
// slack. What lies between is all ones: a NaN, or -1.
class GuardedMemory {
 public:
  // like: a guarded buffer of pooljit_engine_run's, whose first byte is at the beginning of a page or is not.
  GuardedMemory(const void* like, size_t bytes, size_t slack);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte *pages_, *data_;
  size_t mapped_;
};

// Why an engine does not do a layer.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of the engine that is linked with adapter.cpp. ----------------------------------------------------------

std::string version();
void start(int threads, bool only_avx2);
// Throws Refusal, or what its library throws.
std::function<void()> prepare(const pooljit_engine_layer& layer, const Buffers& buffers);

// Helpers ------------------------------------------------------------------------------------------------

// The padding at the end that makes exactly these outputs, for libraries without a ceil mode; below 0 it
// crops. Throws Refusal where a window would then see what the layer crops: ceil_mode may put one there.
inline int64_t end_padding(const pooljit_engine_layer& layer, int d) {
  const int64_t covered =
      (layer.output.dims[2 + d] - 1) * layer.stride[d] + layer.dilation[d] * (layer.kernel[d] - 1) + 1;
  const int64_t end = covered - layer.input.dims[2 + d] - layer.pad_begin[d];
  if (layer.pad_end[d] < 0 && end > layer.pad_end[d]) throw Refusal("has no windows that are cropped");
  return end;
}

}  // namespace adapter
