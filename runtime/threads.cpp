#include "runtime/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "runtime/limits.h"
#include "runtime/worker_pool.h"

namespace pooljit::runtime {
namespace {

// pools[n] has n threads.
std::atomic<WorkerPool*> pools[max_threads + 1];

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                                : int(std::thread::hardware_concurrency());
  return std::clamp(count, 1, max_threads);
}

void forget_pools_in_child() {
  for (std::atomic<WorkerPool*>& pool : pools) pool.store(nullptr, std::memory_order_relaxed);
}

ThreadPool& builtin_pool(int threads) {
  std::atomic<WorkerPool*>& slot = pools[std::clamp(threads, 1, max_threads)];
  if (WorkerPool* pool = slot.load(std::memory_order_acquire)) return *pool;
  auto made = std::make_unique<WorkerPool>(threads);
  WorkerPool* found = nullptr;
  if (!slot.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *found;
  return *made.release();
}

}  // namespace pooljit::runtime
