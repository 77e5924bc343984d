// WorkerPool: the built-in pool of threads.
//
// The caller does every task that no thread has begun, and waits only for tasks that a worker has begun. So a
// worker that the system does not schedule only fails to help. Workers spin briefly for the next tasks, then
// sleep. If the system refuses threads, the pool works with those that it got, at least the calling one.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/thread_pool.h"

namespace pooljit::runtime {

// Never destroyed once parallel() was called: its workers are detached.
class WorkerPool final : public ThreadPool {
 public:
  // threads: the calling one included, >= 1. They are made by the first parallel().
  explicit WorkerPool(int threads) : threads_(threads) {}

  int threads() const override { return threads_; }

  // A caller that finds the pool in use, by another thread or by the task that it is called from, does its
  // tasks itself.
  void parallel(int64_t tasks, FunctionRef<void(int64_t)> task) override;

 private:
  static void* enter(void* pool);
  void start_workers();
  [[noreturn]] void work();
  void publish(int64_t tasks, const FunctionRef<void(int64_t)>& task);
  bool do_one_task();
  void wait_for_begun_tasks();

  static constexpr size_t line_bytes = 64;  // what the threads fight for lies apart

  const int threads_;
  int workers_ = 0;          // that the system granted
  bool is_started_ = false;  // these two are the owner's
  std::atomic_flag is_busy_;
  // The present work. A thread that has claimed a task may read it: it changes only when all tasks are done.
  const FunctionRef<void(int64_t)>* task_ = nullptr;
  int64_t tasks_ = 0;

  alignas(line_bytes) std::atomic<int64_t> unclaimed_ = 0;
  alignas(line_bytes) std::atomic<int64_t> undone_ = 0;
  alignas(line_bytes) std::atomic<uint32_t> published_ = 0;  // counts publish(): what idle workers wait on
  std::atomic<uint32_t> finished_ = 0;                       // counts last tasks: what the caller waits on
};

}  // namespace pooljit::runtime
