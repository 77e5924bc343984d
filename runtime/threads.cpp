#include "runtime/threads.h"

#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "runtime/limits.h"

namespace pooljit::runtime {
namespace {

// What the pool promises: a task sees what its caller did before, the caller what the tasks did. It is told
// to ThreadSanitizer, which does not see into a library that was built without it.
#ifdef __SANITIZE_THREAD__
void hand_over(void* place) { __tsan_release(place); }
void take_over(void* place) { __tsan_acquire(place); }
#else
void hand_over(void*) {}
void take_over(void*) {}
#endif

class BuiltinPool final : public ThreadPool {
 public:
  explicit BuiltinPool(int threads) : threads_(threads), pool_(pthreadpool_create(size_t(threads))) {}
  ~BuiltinPool() override { pthreadpool_destroy(pool_); }
  BuiltinPool(const BuiltinPool&) = delete;
  BuiltinPool& operator=(const BuiltinPool&) = delete;

  int threads() const override { return threads_; }

  void parallel(int64_t tasks, FunctionRef<void(int64_t)> task) override {
    const std::unique_lock<std::mutex> lock(busy_, std::try_to_lock);
    // A null pool (the system refused threads, or the caller has this pool in use) does the tasks one by one.
    hand_over(&task);
    pthreadpool_parallelize_1d(lock.owns_lock() ? pool_ : nullptr, run_task, &task, size_t(tasks), 0);
    take_over(&task);
  }

 private:
  static void run_task(void* context, size_t i) {
    take_over(context);
    (*static_cast<FunctionRef<void(int64_t)>*>(context))(int64_t(i));
    hand_over(context);
  }

  int threads_;
  std::mutex busy_;
  pthreadpool_t pool_;
};

// pools[n] has n threads. A pool's threads do not survive fork(), so the child forgets the parent's pools.
std::atomic<BuiltinPool*> pools[max_threads + 1];

void forget_pools() {
  for (std::atomic<BuiltinPool*>& pool : pools) pool.store(nullptr, std::memory_order_relaxed);
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                                : int(std::thread::hardware_concurrency());
  return std::clamp(count, 1, max_threads);
}

ThreadPool& builtin_pool(int threads) {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, forget_pools);
  std::atomic<BuiltinPool*>& slot = pools[std::clamp(threads, 1, max_threads)];
  if (BuiltinPool* pool = slot.load(std::memory_order_acquire)) return *pool;
  auto made = std::make_unique<BuiltinPool>(threads);
  BuiltinPool* found = nullptr;
  if (!slot.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *found;
  return *made.release();
}

}  // namespace pooljit::runtime
