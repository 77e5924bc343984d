// FreeKernel: a layer whose spatial extents, or some of them, are given at each run. One piece of code serves
// all sizes: a new size gets a Kernel of its words (runtime/sized_code.h), in a few microseconds. If there is
// no such code, each size gets its own when it is first asked for. A bounded number of sizes is kept; the
// size that was used longest ago goes first.
//
// Immutable to its users, and thread-safe. A kept size is found under a shared lock. Adding a size takes it
// exclusively, but not while code is made.
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
#include "ir/general/same_bits.h"
#include "runtime/kernel.h"
#include "runtime/kernel_options.h"

namespace pooljit::runtime {

class FreeKernel {
 public:
  // The code for all sizes, and why it has its schedule; or none, and why each size needs its own.
  struct General {
    CodePtr code;
    std::string why;
    bool makes_code = true;  // false: a size that it is not for is an error ("general.window")
  };
  // Of a checked spec with free dims, and options that resolve. needs_database: as CheckedSpec has it.
  FreeKernel(frontend::PoolSpec spec, Options options, bool needs_database, General general);
  FreeKernel(const FreeKernel&) = delete;
  FreeKernel& operator=(const FreeKernel&) = delete;

  // The kernel for the extents of all spatial dims. Kernels for one size all split runs into the same parts.
  // Errors: those of frontend::with_sizes, the tuning database and the engines.
  ir::Result<KernelPtr> code_for(std::span<const int64_t> sizes) const;
  // The same for a whole run, which is counted. From a certain run on it is a kernel with code for the size
  // alone, which that run makes. Both give the same bits.
  ir::Result<KernelPtr> code_for_run(std::span<const int64_t> sizes) const;

  const frontend::PoolSpec& spec() const { return spec_; }
  const Options& options() const { return options_; }
  const std::string& text() const { return text_; }  // canonical
  const std::string& signature() const { return signature_; }
  // Null: each size has its own.
  const CodePtr& general_code() const { return general_.code; }
  const std::string& schedule_origin() const { return general_.why; }
  size_t kept_sizes() const;
  size_t exact_sizes() const;  // of them, those with code of their own beside the general code

  // "run.dims", of a call that needs a size and has none.
  ir::Error sizes_not_said() const;

 private:
  using Size = std::array<int64_t, frontend::max_rank>;  // 0 behind the rank
  struct SizeHash {
    size_t operator()(const Size& size) const;
  };
  // Time is counted in sizes that were added, as in the cache: finding one writes only after that.
  struct Entry {
    KeyedKernel made;     // its key is empty where it is of the general code
    KeyedKernel exact;    // of code for the size alone, beside the general code
    int exact_after = 0;  // the run that makes it
    mutable std::atomic<uint64_t> used = 0;
    mutable std::atomic<int> runs = 0;
  };
  struct Found {
    KernelPtr kernel;     // null: the size is not kept
    bool is_due = false;  // this run is the one that makes exact code
  };

  Found find(const Size& size, bool is_run) const;
  ir::Result<KernelPtr> get(std::span<const int64_t> sizes, bool is_run) const;
  ir::Result<KeyedKernel> make(frontend::PoolSpec sized) const;
  ir::Result<KernelPtr> add(const Size& size, std::span<const int64_t> sizes, bool is_run) const;
  KernelPtr add_exact(const Size& size, std::span<const int64_t> sizes) const;
  bool suits_general_code(const ir::PoolNest& sized) const;
  int exact_after(const ir::PoolNest& sized) const;
  // By code of the same schedule, of other families only, or of the one or the other.
  enum class Saved : uint8_t { by_the_same_schedule, by_others, by_any_schedule };
  double saved_seconds(const ir::PoolNest& sized, Saved by) const;
  ir::SameBits same_bits(const ir::PoolNest& sized) const;
  static bool counts_runs(const Entry& entry);
  static void forget(const Entry& entry);

  const frontend::PoolSpec spec_;
  const std::string text_, signature_;
  const Options options_;
  const bool needs_database_;
  const General general_;
  const ir::Schedule general_schedule_;  // of the general code, if there is some
  const int threads_;
  // Guarded by one lock for all kernels, so that a fork finds it free; the atomics may be written under a
  // shared one.
  mutable std::unordered_map<Size, Entry, SizeHash> kernels_;
  mutable uint64_t now_ = 0;
};

using FreeKernelPtr = std::shared_ptr<const FreeKernel>;

// For fork(): locks and unlocks (runtime/fork.cpp).
void lock_sizes_before_fork();
void unlock_sizes_in_parent();
void unlock_sizes_in_child();

}  // namespace pooljit::runtime
