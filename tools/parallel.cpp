#include "tools/parallel.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace pooljit::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Waits until the word differs from a value: gives way to others, and sleeps after a while. What is timed
// beside must not meet threads that spin.
void wait_for_change(const std::atomic<uint32_t>& word, uint32_t value) {
  constexpr std::chrono::microseconds awake{200};
  const Clock::time_point end = Clock::now() + awake;
  while (word.load(std::memory_order_acquire) == value) {
    if (Clock::now() < end)
      sched_yield();
    else
      word.wait(value, std::memory_order_acquire);
  }
}

// Threads with a fixed share each. What the system refuses to start is done by the calling thread.
class Team {
 public:
  explicit Team(int threads) : shares_(threads) {
    try {
      for (int share = 1; share < threads; ++share) members_.emplace_back([this, share] { follow(share); });
    } catch (const std::system_error&) {
    }
  }
  ~Team() {
    announce(nullptr);
    for (std::thread& member : members_) member.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run(runtime::FunctionRef<void(int share)> work) {
    const int members = static_cast<int>(members_.size());
    busy_.store(static_cast<uint32_t>(members), std::memory_order_relaxed);
    announce(&work);
    work(0);
    for (int share = members + 1; share < shares_; ++share) work(share);
    for (uint32_t busy; (busy = busy_.load(std::memory_order_acquire)) > 0;) wait_for_change(busy_, busy);
  }

 private:
  void announce(const runtime::FunctionRef<void(int)>* work) {
    work_ = work;
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void follow(int share) {
    for (uint32_t round = 0;; ++round) {
      wait_for_change(round_, round);
      if (!work_) return;
      (*work_)(share);
      busy_.fetch_sub(1, std::memory_order_acq_rel);
      busy_.notify_one();
    }
  }

  const int shares_;
  const runtime::FunctionRef<void(int)>* work_ = nullptr;  // null: go
  std::atomic<uint32_t> round_ = 0, busy_ = 0;
  std::vector<std::thread> members_;
};

}  // namespace

void in_parallel(int threads, int64_t tasks, runtime::FunctionRef<void(int64_t begin, int64_t end)> work) {
  if (threads == 1) return work(0, tasks);
  static std::map<int, Team> teams;
  teams.try_emplace(threads, threads).first->second.run([&](int share) {
    work(tasks * share / threads, tasks * (share + 1) / threads);
  });
}

}  // namespace pooljit::tools
