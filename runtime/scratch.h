// Scratch: memory that a kernel needs while it runs. It is thread-local: allocated at the first run that
// needs it, kept until the thread exits. If the allocation fails, the thread waits for a shared reserve, so a
// kernel always runs.
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

// In a forked child: frees the reserve, which a thread of the parent may have held.
void forget_reserve_in_child();

}  // namespace pooljit::runtime
