// Peers: other engines in shared libraries (include/pooljit_engine.h) that `pooljit bench` measures beside
// pooljit. They are loaded when they are asked for, and never linked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/isa.h"
#include "pooljit_engine.h"
#include "runtime/layer.h"
#include "tools/bench_case.h"

namespace pooljit::tools {

// A layer that a peer has set up.
class PeerCall {
 public:
  using Call = decltype(&pooljit_engine_call);
  using Release = decltype(&pooljit_engine_release);
  PeerCall(void* prepared, Call call, Release release) : prepared_(prepared, release), call_(call) {}
  bool operator()() const { return call_(prepared_.get()) == POOLJIT_ENGINE_DONE; }

 private:
  std::unique_ptr<void, Release> prepared_;
  Call call_;
};

class Peer {
 public:
  // Loads the library, for the life of the process. Errors: "bench.peer".
  static ir::Result<Peer> open(std::string name, const std::string& path);

  const std::string& name() const { return name_; }
  std::string version() const { return version_(); }
  // Before the first layer, and when the threads change. Errors: "bench.peer".
  ir::Result<void> start(int threads, ir::Isa isa) const;
  // Errors: "bench.peer": it does not do the layer, and why.
  ir::Result<PeerCall> prepare(const runtime::LayerStruct& layer, const BenchCase::Theirs& tensors) const;

 private:
  Peer() = default;
  std::string name_;
  decltype(&pooljit_engine_version) version_ = nullptr;
  decltype(&pooljit_engine_start) start_ = nullptr;
  decltype(&pooljit_engine_prepare) prepare_ = nullptr;
  PeerCall::Call call_ = nullptr;
  PeerCall::Release release_ = nullptr;
};

// A layer as peers may be asked for it.
class PeerLayer {
 public:
  explicit PeerLayer(const frontend::PoolSpec& spec);
  // Errors: "bench.peer".
  ir::Result<PeerCall> prepare(const Peer& peer, const BenchCase::Theirs& tensors) const;

 private:
  const runtime::LayerStruct layer_;
  std::optional<runtime::LayerStruct> fixed_;  // the same without adaptive windows, where that can be said
};

// Peers take and give packed tensors, and have nothing behind the pooling: why the layer is none of theirs.
std::string why_no_peer(const frontend::PoolSpec& spec);

struct LeftOut {
  std::string engine, why;
};

struct Peers {
  std::vector<Peer> found;
  std::vector<LeftOut> absent;  // those that were asked for by name
  bool has_plain_loop = false;
};

inline constexpr std::string_view plain_loop_name = "plain";

// names: of peers ("oneDNN": libengine_onednn.so in one of the folders), paths of libraries, "plain" (the
// plain loop, which is always there), or "all": the plain loop and every libengine_*.so of the folders.
// Errors: "bench.peers": nothing of what was asked for is there.
ir::Result<Peers> find_peers(const std::vector<std::string>& names, const std::vector<std::string>& folders);

// Beside the command, and where it is installed.
std::vector<std::string> usual_peer_folders();

}  // namespace pooljit::tools
