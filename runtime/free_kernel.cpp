#include "runtime/free_kernel.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "runtime/compile.h"
#include "runtime/limits.h"

namespace pooljit::runtime {
namespace {

// Never destroyed: threads may run kernels while the process ends.
std::shared_mutex& sizes_mutex() {
  alignas(std::shared_mutex) static std::byte room[sizeof(std::shared_mutex)];
  static std::shared_mutex& mutex = *new (room) std::shared_mutex;
  return mutex;
}

}  // namespace

size_t FreeKernel::SizeHash::operator()(const Size& size) const {
  uint64_t hash = 0;
  for (const int64_t extent : size) hash = (hash ^ static_cast<uint64_t>(extent)) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 32;
}

FreeKernel::FreeKernel(frontend::PoolSpec spec, Options options, bool needs_database)
    : spec_(std::move(spec)),
      text_(frontend::print(spec_)),
      signature_(frontend::signature(spec_)),
      options_([&] {
        options.sizes = options.sizes == 0 ? usual_kept_sizes : options.sizes;
        return std::move(options);
      }()),
      needs_database_(needs_database) {}

ir::Error FreeKernel::sizes_not_said() const {
  return {ir::ErrorKind::invalid, "run.dims",
          "the spec leaves " + frontend::free_letters(spec_) + " free, and the call does not say them",
          "dims of pooljit_args; pooljit_kernel_sized, or sized(), for what is known of one size"};
}

size_t FreeKernel::kept_sizes() const {
  const std::shared_lock lock(sizes_mutex());
  return kernels_.size();
}

KernelPtr FreeKernel::find(const Size& size) const {
  const std::shared_lock lock(sizes_mutex());
  const auto found = kernels_.find(size);
  if (found == kernels_.end()) return nullptr;
  if (found->second.used.load(std::memory_order_relaxed) != now_)
    found->second.used.store(now_, std::memory_order_relaxed);
  return found->second.kernel;
}

ir::Result<KernelPtr> FreeKernel::code_for(std::span<const int64_t> sizes) const {
  Size size = {};
  if (sizes.size() == spec_.dims.size()) {
    std::ranges::copy(sizes, size.begin());
    if (KernelPtr known = find(size)) return known;
  }
  return make(size, sizes);
}

// Threads that miss the same size wait in the cache for the one that makes its code.
ir::Result<KernelPtr> FreeKernel::make(const Size& size, std::span<const int64_t> sizes) const {
  auto sized = frontend::with_sizes(spec_, sizes);
  if (!sized) return tl::unexpected(sized.error());
  auto made = compile_keyed(std::move(*sized), options_, needs_database_);
  if (!made) return tl::unexpected(made.error());
  decltype(kernels_)::node_type oldest;  // gone after the lock is
  KernelPtr kernel;
  {
    const std::unique_lock lock(sizes_mutex());
    Entry& entry = kernels_[size];
    entry.used = ++now_;
    if (!entry.kernel) {
      entry.kernel = std::move(made->kernel);
      entry.key = std::move(made->key);
    }
    kernel = entry.kernel;
    if (kernels_.size() > static_cast<size_t>(options_.sizes))
      oldest = kernels_.extract(std::ranges::min_element(
          kernels_, {}, [](const auto& each) { return each.second.used.load(std::memory_order_relaxed); }));
  }
  if (oldest) cache().forget(oldest.mapped().key, oldest.mapped().kernel->code());
  return kernel;
}

void lock_sizes_before_fork() { sizes_mutex().lock(); }
void unlock_sizes_in_parent() { sizes_mutex().unlock(); }
// By a thread that the child does not have.
void unlock_sizes_in_child() { new (&sizes_mutex()) std::shared_mutex; }

}  // namespace pooljit::runtime
