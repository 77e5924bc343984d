#include "bindings/python/src/openmp.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "runtime/threads.h"

namespace pooljit::python {
namespace {

// What GCC makes of `#pragma omp parallel num_threads(n)`: part of libgomp's stable interface.
using GompParallel = void (*)(void (*body)(void*), void* data, unsigned threads, unsigned flags);
using GetMaxThreads = int (*)();

class OpenMpPool final : public runtime::ThreadPool {
 public:
  OpenMpPool(GompParallel parallel, GetMaxThreads most) : parallel_(parallel), most_(most) {}
  int threads() const override { return std::max(most_(), 1); }

  void parallel(int64_t tasks, runtime::FunctionRef<void(int64_t)> task) override {
    struct Shared {
      std::atomic<int64_t> next;
      int64_t tasks;
      runtime::FunctionRef<void(int64_t)> task;
    } shared{0, tasks, task};
    parallel_(
        [](void* data) {
          auto& all = *static_cast<Shared*>(data);
          for (int64_t i; (i = all.next.fetch_add(1, std::memory_order_relaxed)) < all.tasks;) all.task(i);
        },
        &shared, static_cast<unsigned>(threads()), 0);
  }

 private:
  GompParallel parallel_;
  GetMaxThreads most_;
};

// The path of libgomp, whatever a wheel renamed it to ("libgomp-a34b3233.so.1"); empty if none is loaded.
std::string loaded_libgomp() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* found) {
        if (!std::strstr(library->dlpi_name, "libgomp")) return 0;
        *static_cast<std::string*>(found) = library->dlpi_name;
        return 1;
      },
      &path);
  return path;
}

OpenMpPool* find_pool() {
  const std::string path = loaded_libgomp();
  void* const library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!library) return nullptr;
  void* const parallel = ::dlsym(library, "GOMP_parallel");
  void* const most = ::dlsym(library, "omp_get_max_threads");
  if (!parallel || !most) return nullptr;
  return new OpenMpPool(reinterpret_cast<GompParallel>(parallel), reinterpret_cast<GetMaxThreads>(most));
}

bool is_forked = false;

}  // namespace

runtime::ThreadPool* openmp_pool() {
  static OpenMpPool* const pool = find_pool();  // for the life of the process
  if (is_forked && pool) return &runtime::builtin_pool(pool->threads());
  return pool;
}

void leave_openmp_in_children() {
  ::pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
}

}  // namespace pooljit::python
