#include "runtime/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <csignal>

#include "runtime/limits.h"

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// False if the time is over first.
template <typename Condition>
bool spin_until(Condition condition, std::chrono::microseconds longest) {
  constexpr int looks_per_clock = 32;
  const Clock::time_point end = Clock::now() + longest;
  do {
    for (int i = 0; i < looks_per_clock; ++i) {
      if (condition()) return true;
      __builtin_ia32_pause();
    }
  } while (Clock::now() < end);
  return false;
}

// Signals are for the application's threads; faults are this thread's own.
sigset_t signals_of_others() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGPROF}) sigdelset(&set, fault);
  return set;
}

}  // namespace

void WorkerPool::parallel(int64_t tasks, FunctionRef<void(int64_t)> task) {
  if (tasks <= 1 || threads_ <= 1 || is_busy_.test_and_set(std::memory_order_acquire)) {
    for (int64_t i = 0; i < tasks; ++i) task(i);
    return;
  }
  if (!is_started_) start_workers();
  publish(tasks, task);
  while (do_one_task()) {
  }
  wait_for_begun_tasks();
  is_busy_.clear(std::memory_order_release);
}

void WorkerPool::start_workers() {
  is_started_ = true;
  sigset_t others = signals_of_others(), before;
  pthread_sigmask(SIG_BLOCK, &others, &before);
  for (pthread_t worker; workers_ < threads_ - 1; ++workers_) {
    if (pthread_create(&worker, nullptr, enter, this) != 0) break;  // no memory, or a limit
    pthread_setname_np(worker, "pooljit");
    pthread_detach(worker);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* WorkerPool::enter(void* pool) { static_cast<WorkerPool*>(pool)->work(); }

void WorkerPool::work() {
  for (;;) {
    const uint32_t seen = published_.load(std::memory_order_acquire);
    if (do_one_task()) {
      while (do_one_task()) {
      }
      // On a busy machine the others' turn comes now, while nobody waits for this thread, and not in the
      // middle of the next task.
      sched_yield();
    }
    const auto is_new = [&] { return published_.load(std::memory_order_acquire) != seen; };
    if (!spin_until(is_new, idle_spin)) published_.wait(seen, std::memory_order_acquire);
  }
}

void WorkerPool::publish(int64_t tasks, const FunctionRef<void(int64_t)>& task) {
  task_ = &task;
  tasks_ = tasks;
  undone_.store(tasks, std::memory_order_relaxed);
  unclaimed_.store(tasks, std::memory_order_release);
  published_.fetch_add(1, std::memory_order_release);
  if (tasks > workers_) return published_.notify_all();
  for (int64_t i = 1; i < tasks; ++i) published_.notify_one();
}

// False if none is left to begin.
bool WorkerPool::do_one_task() {
  int64_t unclaimed = unclaimed_.load(std::memory_order_acquire);
  do {
    if (unclaimed == 0) return false;
  } while (!unclaimed_.compare_exchange_weak(unclaimed, unclaimed - 1, std::memory_order_acq_rel,
                                             std::memory_order_acquire));
  (*task_)(tasks_ - unclaimed);
  if (undone_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    finished_.fetch_add(1, std::memory_order_release);
    finished_.notify_one();
  }
  return true;
}

void WorkerPool::wait_for_begun_tasks() {
  const auto all_done = [&] { return undone_.load(std::memory_order_acquire) == 0; };
  if (spin_until(all_done, caller_spin)) return;
  for (;;) {
    const uint32_t seen = finished_.load(std::memory_order_acquire);
    if (all_done()) return;
    finished_.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace pooljit::runtime
