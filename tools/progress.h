// The line that a terminal shows while it waits; in a pipe there is none.
#pragma once

#include <cstddef>
#include <string>

namespace pooljit::tools {

class Progress {
 public:
  explicit Progress(size_t total);
  void show(size_t number, const std::string& name) const;
  void clear() const;

 private:
  size_t total_;
  bool shown_;
};

}  // namespace pooljit::tools
