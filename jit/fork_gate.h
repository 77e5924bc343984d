// The fork gate: fork() waits until no thread is in the midst of making code, so that a child finds no lock
// held by a thread that it does not have: ours, LLVM's, the loader's, those of initialisation.
//
//   const HoldForks hold;  // in whatever makes code: microseconds to milliseconds, seconds at most
//
// Work that takes longer, or waits for another thread, lets forks through meanwhile (LetForks).
// runtime/fork.cpp registers the gate with the system.
#pragma once

#include <atomic>
#include <mutex>
#include <type_traits>

namespace pooljit::jit {

// While one lives, no other thread forks; a fork() that already waits goes first. May be nested; inner ones
// cost nothing. A fork() of the thread itself is not held up.
class HoldForks {
 public:
  HoldForks();
  HoldForks(const HoldForks&) = delete;
  HoldForks& operator=(const HoldForks&) = delete;
  ~HoldForks();
};

// Within HoldForks of the same thread: forks may happen meanwhile. Without one it does nothing.
class LetForks {
 public:
  LetForks();
  LetForks(const LetForks&) = delete;
  LetForks& operator=(const LetForks&) = delete;
  ~LetForks();

 private:
  int depth_;
};

// The result of make(), made at the first call and never destroyed. It replaces a static variable: a child
// that is forked while a static variable is half made waits for it for ever.
template <typename Make>
const auto& made_once(Make make) {
  static_assert(std::is_class_v<Make>,
                "each lambda has a variable of its own, functions of one type share it");
  using Made = decltype(make());
  static constinit std::atomic<const Made*> known = nullptr;
  if (const Made* const found = known.load(std::memory_order_acquire)) return *found;
  const HoldForks hold;
  static const Made& made = *new Made(make());
  known.store(&made, std::memory_order_release);
  return made;
}

// Before fork(), in the thread that forks: waits for those who hold forks, and keeps others from it.
void close_fork_gate();
void open_fork_gate_in_parent();
void open_fork_gate_in_child();

// Locks that are also taken where no forks are held: when code goes. Fork takes them too, as the last ones.
std::mutex& gdb_mutex();
std::mutex& unwinder_mutex();

}  // namespace pooljit::jit
