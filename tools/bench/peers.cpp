#include "tools/bench/peers.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace pooljit::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view file_prefix = "libengine_", file_suffix = ".so";

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// "onednn" of "build/libengine_onednn.so", "mine" of "libmine.so".
std::string name_of(const fs::path& library) {
  std::string stem = library.stem().string();
  for (const std::string_view prefix : {file_prefix, std::string_view("lib")})
    if (stem.starts_with(prefix)) return stem.substr(prefix.size());
  return stem;
}

struct Candidate {
  std::string name;
  fs::path path;  // empty: not found
  bool is_named = true;
};

// In the order of the folders; of two libraries of one name the first counts.
std::vector<Candidate> all_of(const std::vector<std::string>& folders) {
  std::vector<Candidate> found;
  for (const std::string& folder : folders) {
    std::vector<fs::path> paths;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with(file_prefix) && file.ends_with(file_suffix)) paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    for (const fs::path& path : paths)
      if (std::ranges::find(found, name_of(path), &Candidate::name) == found.end())
        found.push_back({name_of(path), path, false});
  }
  return found;
}

Candidate find_one(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) return {name_of(name), name};
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / fmt::format("{}{}{}", file_prefix, lower(name), file_suffix);
    std::error_code ignored;
    if (fs::exists(path, ignored)) return {lower(name), path};
  }
  return {lower(name), {}};
}

// Adaptive windows that are all alike, for engines that know no others.
std::optional<frontend::PoolSpec> with_fixed_windows(frontend::PoolSpec spec) {
  if (!is_adaptive(spec)) return std::nullopt;
  for (frontend::SpecDim& dim : spec.dims) {
    if (dim.input % dim.adaptive_output != 0) return std::nullopt;
    dim.kernel = dim.stride = dim.input / dim.adaptive_output;
    dim.adaptive_output = 0;
  }
  return spec;
}

}  // namespace

ir::Result<Peer> Peer::open(std::string name, const std::string& path) {
  const auto refuse = [&](const char* why) {
    return ir::system_error("bench.peer", fmt::format("{}: {}", path, why ? why : "no reason given"),
                            "a shared library with both parts of include/pooljit_engine.h");
  };
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return refuse(::dlerror());
  Peer peer;
  peer.name_ = std::move(name);
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
    return function != nullptr;
  };
  if (!find(peer.version_, "pooljit_engine_version") || !find(peer.start_, "pooljit_engine_start") ||
      !find(peer.prepare_, "pooljit_engine_prepare") || !find(peer.call_, "pooljit_engine_call") ||
      !find(peer.release_, "pooljit_engine_release"))
    return refuse(::dlerror());
  return peer;
}

ir::Result<void> Peer::start(int threads, ir::Isa isa) const {
  if (start_(threads, info(isa).text.data()) == POOLJIT_ENGINE_DONE) return {};
  return ir::system_error("bench.peer", fmt::format("{} does not start", name_));
}

ir::Result<PeerCall> Peer::prepare(const runtime::LayerStruct& layer,
                                   const BenchCase::Theirs& tensors) const {
  const char* why = nullptr;
  void* const indices = tensors.indices.size() > 0 ? tensors.indices.data() : nullptr;
  void* const prepared = prepare_(layer.get(), tensors.input, tensors.output.data(), indices, &why);
  if (!prepared)
    return ir::unsupported("bench.peer", fmt::format("{} {}", name_, why ? why : "does not say why not"));
  return PeerCall(prepared, call_, release_);
}

PeerLayer::PeerLayer(const frontend::PoolSpec& spec) : layer_(spec) {
  if (const auto fixed = with_fixed_windows(spec)) fixed_.emplace(*fixed);
}

ir::Result<PeerCall> PeerLayer::prepare(const Peer& peer, const BenchCase::Theirs& tensors) const {
  auto call = peer.prepare(layer_, tensors);
  return call || !fixed_ ? std::move(call) : peer.prepare(*fixed_, tensors);
}

std::string why_no_peer(const frontend::PoolSpec& spec) {
  if (!spec.batch) return "peers are compared on layers with a batch";
  if (!spec.strides.empty() || !spec.output_strides.empty()) return "peers are compared on packed tensors";
  if (!spec.epilogue.empty()) return "peers are compared without an epilogue";
  return "";
}

ir::Result<Peers> find_peers(const std::vector<std::string>& names, const std::vector<std::string>& folders) {
  Peers peers;
  std::vector<Candidate> candidates;
  const bool alone = names.size() == 1 && lower(names[0]) == "none";
  if (alone) return peers;
  for (const std::string& name : names) {
    const bool is_all = lower(name) == "all";
    if (is_all || lower(name) == plain_loop_name) peers.has_plain_loop = true;
    if (is_all)
      std::ranges::copy(all_of(folders), std::back_inserter(candidates));
    else if (lower(name) != plain_loop_name)
      candidates.push_back(find_one(name, folders));
  }
  for (const Candidate& candidate : candidates) {
    if (std::ranges::find(peers.found, candidate.name, &Peer::name) != peers.found.end()) continue;
    if (candidate.path.empty()) {
      peers.absent.push_back({candidate.name, fmt::format("no {}{}{} in {}", file_prefix, candidate.name,
                                                          file_suffix, fmt::join(folders, ", "))});
      continue;
    }
    auto peer = Peer::open(candidate.name, candidate.path.string());
    if (peer)
      peers.found.push_back(std::move(*peer));
    else if (candidate.is_named)
      peers.absent.push_back({candidate.name, peer.error().message});
  }
  if (!peers.found.empty() || peers.has_plain_loop) return peers;
  std::string message = "nothing of what was asked for is here";
  for (const LeftOut& absent : peers.absent) message += fmt::format("; {}: {}", absent.engine, absent.why);
  return ir::unsupported(
      "bench.peers", message,
      "build the targets engine_* (examples/engines/), say --peer-path, or `--peers plain`");
}

std::vector<std::string> usual_peer_folders() {
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path folder = command.parent_path();
  return {folder.string(), (folder / POOLJIT_PEER_FOLDER).lexically_normal().string()};
}

}  // namespace pooljit::tools
