// Peer: another library that does the same pooling, for side-by-side measurements. Peers are found when the
// benchmarks are configured; none is needed, and none is linked into pooljit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "ir/isa.h"

namespace pooljit::bench {

// Packed tensors in the layout of the spec.
struct PeerTensors {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
};

// One dimension of windows as libraries without a ceil mode want it: the padding at the end makes exactly our
// outputs, and may crop.
struct WindowGeometry {
  int64_t begin = 0, end = 0;
};
std::vector<WindowGeometry> window_geometry(const frontend::PoolSpec& spec);

int64_t elements(const std::vector<int64_t>& shape);

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;     // a word, for tables
  virtual std::string version() const = 0;  // with what decides its speed
  // Everything that can be done before the first call; the result is the call. The spec is packed, batched,
  // forward, of one dtype, without indices. Error "bench.peer": the peer cannot do this layer, and why.
  virtual ir::Result<std::function<void()>> prepare(const frontend::PoolSpec& spec,
                                                    const PeerTensors& tensors) = 0;
};

struct PeerOptions {
  int threads = 1;
  ir::Isa isa = ir::Isa::avx512;  // the most that it may use
};

// One function per peer that was found: bench/peers/<name>.cpp.
std::unique_ptr<Peer> make_onednn(const PeerOptions& options);
std::unique_ptr<Peer> make_torch(const PeerOptions& options);
std::unique_ptr<Peer> make_xnnpack(const PeerOptions& options);

}  // namespace pooljit::bench
