// The processor's own counts of cycles and instructions around a piece of work, where the machine gives them
// to this process (perf_event_open(2)).
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace pooljit::tools {

class Counters {
 public:
  Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ~Counters();

  bool any() const { return !files_.empty(); }
  void start() const;
  // Since start(), by name, of the calling thread; null where the machine gives none.
  nlohmann::ordered_json stop() const;

 private:
  std::vector<int> files_;  // of the counters that there are, in the order of the table; the first leads
  std::vector<const char*> names_;
};

}  // namespace pooljit::tools
