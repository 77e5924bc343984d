#include "bench/peers/peer.h"

namespace pooljit::bench {

std::vector<WindowGeometry> window_geometry(const frontend::PoolSpec& spec) {
  std::vector<WindowGeometry> found;
  const auto output = frontend::output_shape(spec);
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    const frontend::SpecDim& dim = spec.dims[i];
    const int64_t outputs = output[output.size() - spec.dims.size() + i];
    const int64_t covered = (outputs - 1) * dim.stride + dim.dilation * (dim.kernel - 1) + 1;
    found.push_back({dim.pad_begin, covered - dim.input - dim.pad_begin});
  }
  return found;
}

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

}  // namespace pooljit::bench
