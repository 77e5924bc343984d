#include "runtime/threads.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include "ir/parse_number.h"
#include "runtime/cpu_quota.h"
#include "runtime/limits.h"
#include "runtime/worker_pool.h"

namespace pooljit::runtime {
namespace {

// pools[n] has n threads.
std::atomic<WorkerPool*> pools[max_threads + 1];

int processors_of_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                     : int(std::thread::hardware_concurrency());
}

std::string_view thread_limit_text() {
  const char* const text = std::getenv("POOLJIT_THREADS");
  return text ? text : "";
}

// 0: it is no number of threads.
int parse_thread_limit(std::string_view text) {
  const int limit = ir::parse_number<int>(text).value_or(0);
  return limit >= 1 && limit <= max_threads ? limit : 0;
}

}  // namespace

int available_threads() {
  static const int quota = cpu_quota("");
  int count = processors_of_affinity();
  for (const int limit : {quota, parse_thread_limit(thread_limit_text())})
    if (limit > 0) count = std::min(count, limit);
  return std::clamp(count, 1, max_threads);
}

ir::Result<void> check_thread_limit() {
  const std::string_view text = thread_limit_text();
  if (text.empty() || parse_thread_limit(text) > 0) return {};
  return ir::invalid("runtime.threads", fmt::format("POOLJIT_THREADS=\"{}\" is no number of threads", text),
                     fmt::format("1 to {}; or leave it out", max_threads));
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
