#include "jit/llvm/exit_gate.h"

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>

namespace pooljit::jit {

namespace {

// A child of fork() inherits it with nobody inside: compiles hold forks (jit/fork_gate.h).
class ExitGate {
 public:
  // Whether LLVM may be used still.
  bool enter() {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    if (entered_++ == 0) close_at_exit();
    ++inside_;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (left_++ == 0) close_at_exit();
    if (--inside_ == 0) nobody_inside_.notify_all();
  }

  static ExitGate& instance() {
    static ExitGate& gate = *new ExitGate;
    return gate;
  }

 private:
  // Twice, as the first compile begins and as it ends: exit() ends in reverse order what it was told of, and
  // what is static in LLVM's functions was made in between. Where there is no memory for it, exit() waits for
  // nobody.
  static void close_at_exit() {
    static_cast<void>(std::atexit([] { instance().close(); }));
  }
  void close() {
    std::unique_lock lock(mutex_);
    is_closed_ = true;
    nobody_inside_.wait(lock, [&] { return inside_ == 0; });
  }

  std::mutex mutex_;
  std::condition_variable nobody_inside_;
  bool is_closed_ = false;
  int64_t inside_ = 0, entered_ = 0, left_ = 0;
};

}  // namespace

LlvmInUse::LlvmInUse() : is_refused_(!ExitGate::instance().enter()) {}
LlvmInUse::~LlvmInUse() {
  if (!is_refused_) ExitGate::instance().leave();
}

}  // namespace pooljit::jit
