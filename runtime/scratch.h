// Scratch: memory that a kernel needs while it runs. Each thread keeps one piece, made when it first needs it
// and returned when the thread ends, so that a call allocates nothing. A thread that gets none shares a
// reserve with the others, one at a time: a kernel always runs.
#pragma once

#include <mutex>

namespace pooljit::runtime {

// Holds the thread's scratch memory, ir::most_scratch_bytes of it; one at a time in a thread.
class Scratch {
 public:
  Scratch();
  void* data() const { return data_; }

 private:
  void* data_;
  std::unique_lock<std::mutex> reserved_;
};

// In a forked child: whoever held the reserve is not there.
void forget_reserve_in_child();

}  // namespace pooljit::runtime
