// FreeKernel: a layer whose spatial extents, or some of them, are said at each run. Each size gets a Kernel
// of its own when it is first asked for; a bounded number is kept, what was used longest ago goes first.
//
// Immutable to its users, and thread-safe. A size that is kept is found under a lock that only adding a size
// takes for itself, and not while code is made.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "runtime/kernel.h"
#include "runtime/kernel_options.h"

namespace pooljit::runtime {

class FreeKernel {
 public:
  // Of a checked spec with free dims, and options that resolve. needs_database: as CheckedSpec has it.
  FreeKernel(frontend::PoolSpec spec, Options options, bool needs_database);
  FreeKernel(const FreeKernel&) = delete;
  FreeKernel& operator=(const FreeKernel&) = delete;

  // The kernel for the extents of all spatial dims: the one place where code for a size comes from. Errors:
  // those of frontend::with_sizes, the tuning database and the engines.
  ir::Result<KernelPtr> code_for(std::span<const int64_t> sizes) const;

  const frontend::PoolSpec& spec() const { return spec_; }
  const Options& options() const { return options_; }
  const std::string& text() const { return text_; }  // canonical
  const std::string& signature() const { return signature_; }
  size_t kept_sizes() const;

  // "run.dims", of a call that needs a size and has none.
  ir::Error sizes_not_said() const;

 private:
  using Size = std::array<int64_t, frontend::max_rank>;  // 0 behind the rank
  struct SizeHash {
    size_t operator()(const Size& size) const;
  };
  // Time is counted in sizes that were added, as in the cache: finding one writes only after that.
  struct Entry {
    KernelPtr kernel;
    std::string key;  // of the cache, for its code
    mutable std::atomic<uint64_t> used = 0;
  };

  KernelPtr find(const Size& size) const;
  ir::Result<KernelPtr> make(const Size& size, std::span<const int64_t> sizes) const;

  const frontend::PoolSpec spec_;
  const std::string text_, signature_;
  const Options options_;
  const bool needs_database_;
  // Guarded by one lock for all kernels, so that a fork finds it free; the atomics may be written under a
  // shared one.
  mutable std::unordered_map<Size, Entry, SizeHash> kernels_;
  mutable uint64_t now_ = 0;
};

using FreeKernelPtr = std::shared_ptr<const FreeKernel>;

// What fork() does with the lock (runtime/fork.cpp).
void lock_sizes_before_fork();
void unlock_sizes_in_parent();
void unlock_sizes_in_child();

}  // namespace pooljit::runtime
