// The code cache. Two maps: from the text of a spec and its options to a Kernel, so that a hit neither parses
// nor allocates; and from a key (signature, ISA, schedule, back end) to Code, so that all spellings and batch
// sizes share it.
//
// Thread-safe. Missing code is made once, however many threads ask for it: the others wait for the thread
// that makes it. A failure goes to all who waited, and is forgotten. Bounded by entries and bytes; the entry
// that was used longest ago goes first. Eviction only forgets code: a run or a Kernel keeps it alive.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "ir/error.h"
#include "runtime/code.h"
#include "runtime/function_ref.h"
#include "runtime/kernel_options.h"
#include "runtime/limits.h"

namespace pooljit::runtime {

class Kernel;
using KernelPtr = std::shared_ptr<const Kernel>;
class FreeKernel;
using FreeKernelPtr = std::shared_ptr<const FreeKernel>;
// The compiled form of a spec: a kernel, or one whose sizes are given at each run.
using AnyKernel = std::variant<KernelPtr, FreeKernelPtr>;

class Cache {
 public:
  struct Limits {
    size_t entries = cache_entries;
    size_t bytes = cache_bytes;
  };
  struct Stats {
    size_t entries = 0, bytes = 0, texts = 0;
    uint64_t made = 0, evicted = 0;
    uint64_t hits = 0, misses = 0;            // of find() and get(); waiting for code in the making is a hit
    std::chrono::nanoseconds compile_time{};  // of all that was made
    Limits limits;
  };
  using Made = ir::Result<CodePtr>;

  // A spec's text and its options, which must outlive it. Hashed once: a kept key is found faster.
  class TextView {
   public:
    TextView(std::string_view spec, const Options& options);
    std::string_view spec() const { return spec_; }
    const Options& options() const { return *options_; }
    size_t hash() const { return hash_; }

   private:
    std::string_view spec_;
    const Options* options_;
    size_t hash_;
  };

  Cache() : Cache(Limits{}) {}
  explicit Cache(Limits limits) : limits_(limits) {}

  // The kernel that was remembered for this text; none, or null, if there is none.
  std::optional<AnyKernel> find(const TextView& text) const;
  // Remembers a kernel for a text. Its code, that of all its sizes, is what get(key) gave; nothing is
  // remembered if that is evicted already.
  void remember(const TextView& text, std::string_view key, AnyKernel kernel);
  // The same of a kernel that has no code of its own.
  void remember(const TextView& text, FreeKernelPtr kernel);
  // Forgets what get(key) gave, if that is this code and no kernel is remembered that has it.
  void forget(std::string_view key, const Code& code);

  // The code for the key. If it is missing, `make` is called, by one thread. If it throws, so does get(), in
  // all threads that waited.
  Made get(std::string_view key, FunctionRef<Made()> make);

  Stats stats() const;
  void clear();               // what is being made stays
  void limit(Limits limits);  // from now on

  // No other thread is inside while the process forks. The child makes again what another thread was making
  // then.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();

 private:
  // Time is counted in insertions: a hit writes only if something was inserted since the last one, so hits
  // from many threads do not fight for a cache line.
  using Time = uint64_t;

  struct Slot {
    std::shared_future<Made> made;
    const Code* code = nullptr;  // null while it is being made
    size_t bytes = 0;
    uint64_t process = 0;  // that makes it
    std::atomic<Time> used = 0;
  };

  class TextKey {
   public:
    explicit TextKey(const TextView& text)
        : spec_(text.spec()), options_(text.options()), hash_(text.hash()) {}
    std::string_view spec() const { return spec_; }
    const Options& options() const { return options_; }
    size_t hash() const { return hash_; }

   private:
    std::string spec_;
    Options options_;
    size_t hash_;
  };
  struct Text {
    AnyKernel kernel;
    std::shared_ptr<Slot> slot;  // null: the kernel has no code of its own
    mutable std::atomic<Time> used = 0;
  };
  struct TextHash {
    using is_transparent = void;
    template <typename Text>
    size_t operator()(const Text& text) const {
      return text.hash();
    }
  };
  struct TextEqual {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      const Options &x = a.options(), &y = b.options();
      return a.hash() == b.hash() && a.spec() == b.spec() && x.backend == y.backend && x.isa == y.isa &&
             x.schedule == y.schedule && x.threads == y.threads && x.verify == y.verify &&
             x.tune_db == y.tune_db && x.measure == y.measure && x.names == y.names &&
             x.fallback == y.fallback && x.label == y.label && x.sizes == y.sizes &&
             x.exact_after == y.exact_after;
    }
  };
  struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  bool is_abandoned(const Slot& slot) const { return !slot.code && slot.process != process_; }
  void touch(std::atomic<Time>& used) const;
  void remember(const TextView& text, AnyKernel kernel, std::shared_ptr<Slot> slot);
  void keep(Slot& slot, const Code& code);
  void evict_codes();
  void evict_oldest_code();
  void evict_texts();

  Limits limits_;
  mutable std::shared_mutex mutex_;  // guards all below; the atomics may be written under a shared lock
  std::unordered_map<std::string, std::shared_ptr<Slot>, StringHash, std::equal_to<>> codes_;
  std::unordered_map<TextKey, Text, TextHash, TextEqual> texts_;
  size_t bytes_ = 0;
  Time now_ = 0;
  uint64_t process_ = 0;  // counts forks, from parent to child
  uint64_t made_ = 0, evicted_ = 0, misses_ = 0;
  std::chrono::nanoseconds compile_time_{};
  mutable std::atomic<uint64_t> hits_ = 0;
};

// The one that compile() uses. Lives as long as the process.
Cache& cache();

}  // namespace pooljit::runtime
