// Results of `pooljit bench --file` as data: every output is made from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tools/bench/peers.h"
#include "tools/load.h"
#include "tools/measure.h"

namespace pooljit::tools {

inline constexpr const char* pooljit_name = "pooljit";
// Its code for one size alone, beside that for all sizes.
inline constexpr const char* exact_name = "exact";

struct EngineResult {
  std::string engine;
  Timing call;
  std::optional<Timing> ratio;  // to pooljit's time, of neighbouring samples; of peers only
  double setup_seconds = 0;     // from text or layer to the first call: pooljit's median, of a peer once
  int64_t differences = 0;      // to pooljit's results
  Samples samples;
};

// pooljit itself, by one of its kernels.
bool is_ours(const EngineResult& result);

struct LayerResult {
  std::string name, spec, dtype, schedule, schedule_origin;
  int threads = 1;
  int64_t bytes_read = 0, bytes_written = 0, outputs = 0;
  Timing compile, copy;  // copy: the faster of both ways to store
  bool copy_streams = false;
  std::vector<EngineResult> engines;  // pooljit first
  std::vector<LeftOut> left_out;

  int64_t bytes() const { return bytes_read + bytes_written; }
  double bandwidth(const EngineResult& engine) const { return double(bytes()) / engine.call.median; }
  double share(const EngineResult& engine) const { return copy.median / engine.call.median; }
};

// A layer that pooljit itself does not do, or bench cannot.
struct RefusedLayer {
  std::string name, spec;
  ir::Error error;
};

// One layer with one number changed.
struct FamilyMember {
  int64_t value;
  LayerResult layer;
};
struct LayerFamily {
  std::string name, axis, base;  // "kernel", "kernel size", the spec of one member
  std::vector<FamilyMember> members;
};

struct RooflinePoint {
  int64_t bytes;  // read and written
  double bytes_per_second;
  bool streams;
};

struct MeasuredEngine {
  std::string name, version;
};

// "cpu" and "AMD EPYC ...": for people.
struct Fact {
  std::string name, value;
};

struct BenchResults {
  std::string command, date;
  bool is_complete = false;  // false: stopped by Ctrl-C
  std::vector<Fact> machine;
  Load load_before, load_after;         // it was measured
  std::vector<int64_t> caches;          // bytes of L1, L2, L3; 0: there is none
  std::vector<MeasuredEngine> engines;  // pooljit first, in the order of every picture
  std::vector<LeftOut> absent;
  std::vector<LayerResult> layers;
  std::vector<RefusedLayer> refused;
  std::vector<RooflinePoint> roofline;
  std::vector<LayerFamily> families;
};

// Over the layers of `results` that an engine did.
struct Summary {
  std::string engine;
  int layers = 0;
  double geometric_mean = 0, least = 0;  // of ratios
  std::string least_layer;
};
std::vector<Summary> summarize(const BenchResults& results);

// Why the times may be wrong, a sentence each: others worked on the machine, times spread far.
std::vector<std::string> disturbances(const BenchResults& results);

std::string as_json(const BenchResults& results);

}  // namespace pooljit::tools
