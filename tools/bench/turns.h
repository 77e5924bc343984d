// Engines that do the same work in turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/bench/results.h"

namespace pooljit::tools {

class Turns {
 public:
  // The first one is pooljit; what `work` points to has to live as long.
  void add(std::string engine, std::function<void()> work, int64_t differences = 0, double setup_seconds = 0);

  // Into result.engines and result.copy. seconds: for each of them. copy: moves as many bytes, past the
  // caches or not. All take turns but the copy with streaming stores, which would leave empty caches to the
  // next one.
  void measure(double seconds, const std::function<void(bool streaming)>& copy, LayerResult& result);

 private:
  std::vector<std::function<void()>> works_;
  std::vector<EngineResult> engines_;
};

// Of one call.
double seconds_of(const std::function<void()>& work);

// Why an engine is left out whose call takes so long.
std::string too_long(double seconds);

}  // namespace pooljit::tools
