#include "tools/fuzz/seen_before.h"

#include <algorithm>
#include <cmath>

namespace pooljit::fuzz {

SeenBefore::SeenBefore(const ir::PoolNest& nest, int64_t batch, const std::byte* input)
    : dims_(nest.dims), channels_(nest.channels) {
  for (const ir::NestDim& dim : dims_) plane_ *= dim.input;
  const ir::View& view = nest.input;
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t p = 0; p < plane_; ++p) {
        int64_t element = n * view.batch_stride + view.channel_offset(c), rest = p;
        for (size_t d = dims_.size(); d-- > 0; rest /= dims_[d].input)
          element += rest % dims_[d].input * view.strides[d];
        const Number value = std::abs(read_element(view.dtype, input, element));
        seen_.push_back({std::isfinite(value) ? value : 0, std::isfinite(value), std::isnan(value)});
      }
  int64_t step = 1;
  for (size_t d = dims_.size(); d-- > 0; step *= dims_[d].input)
    for (int64_t e = 0; e < std::ssize(seen_); ++e)
      if (e / step % dims_[d].input > 0) {
        Seen& here = seen_[static_cast<size_t>(e)];
        const Seen& before = seen_[static_cast<size_t>(e - step)];
        here = {std::max(here.size, before.size), here.is_finite && before.is_finite,
                here.has_nan || before.has_nan};
      }
}

Seen SeenBefore::at(int64_t n, int64_t c, const std::array<int64_t, 8>& position) const {
  int64_t element = 0;
  Number count = 1;
  for (size_t d = 0; d < dims_.size(); ++d) {
    const ir::NestDim& dim = dims_[d];
    const int64_t last =
        std::min(position[d] * dim.stride - dim.pad_begin + (dim.kernel - 1) * dim.dilation, dim.input - 1);
    if (last < 0) return {};
    element = element * dim.input + last;
    count *= static_cast<Number>(last + 1);
  }
  Seen seen = seen_[static_cast<size_t>((n * channels_ + c) * plane_ + element)];
  seen.size *= count;
  return seen;
}

}  // namespace pooljit::fuzz
