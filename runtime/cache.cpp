#include "runtime/cache.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>

#include "jit/fork_gate.h"
#include "runtime/free_kernel.h"
#include "runtime/kernel.h"

namespace pooljit::runtime {
namespace {

// Calls an action when a scope is left, unless it was told not to.
template <typename Action>
class OnExit {
 public:
  explicit OnExit(Action action) : action_(std::move(action)) {}
  ~OnExit() {
    if (armed_) action_();
  }
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;
  void dismiss() { armed_ = false; }

 private:
  Action action_;
  bool armed_ = true;
};

const Code* code_of(const AnyKernel& any) {
  if (const auto* const kernel = std::get_if<KernelPtr>(&any)) return &(*kernel)->code();
  return std::get<FreeKernelPtr>(any)->general_code().get();
}

// Eviction costs passes over all entries, so it makes room for several.
size_t after_eviction(size_t limit) { return limit - limit / 8; }

}  // namespace

Cache::TextView::TextView(std::string_view spec, const Options& options) : spec_(spec), options_(&options) {
  const std::hash<std::string_view> hash;
  // The options are few and short: their differences need to reach the hash, not to spread well.
  hash_ = hash(spec) + 31 * hash(options.backend) + 131 * hash(options.isa) +
          (options.schedule.empty() ? 0 : 521 * hash(options.schedule)) + size_t(options.threads) +
          (options.tune_db.empty() ? 0 : 1031 * hash(options.tune_db)) + (options.verify ? 257 : 0) +
          (options.measure.empty() ? 0 : 4099 * hash(options.measure)) +
          (options.names.empty() ? 0 : 2053 * hash(options.names)) +
          (options.fallback == "reference" ? 0 : 8209 * hash(options.fallback)) +
          (options.label.empty() ? 0 : 16411 * hash(options.label)) + 32771 * size_t(options.sizes) +
          65537 * size_t(options.exact_after);
}

void Cache::touch(std::atomic<Time>& used) const {
  if (used.load(std::memory_order_relaxed) != now_) used.store(now_, std::memory_order_relaxed);
}

std::optional<AnyKernel> Cache::find(const TextView& text) const {
  const std::shared_lock lock(mutex_);
  const auto found = texts_.find(text);
  if (found == texts_.end()) return std::nullopt;
  touch(found->second.used);
  if (found->second.slot) touch(found->second.slot->used);
  hits_.fetch_add(1, std::memory_order_relaxed);
  return found->second.kernel;
}

void Cache::remember(const TextView& view, std::string_view key, AnyKernel kernel) {
  const std::unique_lock lock(mutex_);
  const auto found = codes_.find(key);
  if (found == codes_.end() || found->second->code != code_of(kernel)) return;
  remember(view, std::move(kernel), found->second);
}

void Cache::remember(const TextView& view, FreeKernelPtr kernel) {
  const std::unique_lock lock(mutex_);
  remember(view, std::move(kernel), nullptr);
}

void Cache::remember(const TextView& view, AnyKernel kernel, std::shared_ptr<Slot> slot) {
  Text& text = texts_.try_emplace(TextKey(view)).first->second;
  text.kernel = std::move(kernel);
  text.slot = std::move(slot);
  text.used = ++now_;
  if (texts_.size() > limits_.entries * cache_texts_per_entry) evict_texts();
}

void Cache::forget(std::string_view key, const Code& code) {
  const std::unique_lock lock(mutex_);
  const auto found = codes_.find(key);
  // Texts share the slot with codes_.
  if (found == codes_.end() || found->second->code != &code || found->second.use_count() > 1) return;
  bytes_ -= found->second->bytes;
  codes_.erase(found);
}

Cache::Made Cache::get(std::string_view key, FunctionRef<Made()> make) {
  std::promise<Made> promise;
  const auto slot = std::make_shared<Slot>();
  slot->made = promise.get_future().share();
  {
    std::unique_lock lock(mutex_);
    const auto [entry, is_new] = codes_.try_emplace(std::string(key), slot);
    if (!is_new && is_abandoned(*entry->second)) {
      entry->second = slot;
    } else if (!is_new) {
      touch(entry->second->used);
      hits_.fetch_add(1, std::memory_order_relaxed);
      const std::shared_future<Made> made = entry->second->made;
      lock.unlock();
      const jit::LetForks let;  // the other thread may take long
      return made.get();
    }
    slot->process = process_;
    slot->used = ++now_;
    ++misses_;
  }
  OnExit forget([&] {
    const std::unique_lock lock(mutex_);
    const auto entry = codes_.find(key);
    if (entry != codes_.end() && entry->second == slot) codes_.erase(entry);
  });
  try {
    Made made = make();
    if (made) {
      keep(*slot, **made);
      forget.dismiss();
    }
    promise.set_value(made);
    return made;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

void Cache::keep(Slot& slot, const Code& code) {
  const std::unique_lock lock(mutex_);
  slot.code = &code;
  slot.bytes = code.info.held_bytes;
  bytes_ += slot.bytes;
  ++made_;
  compile_time_ += code.info.compile_time;
  if (codes_.size() > limits_.entries || bytes_ > limits_.bytes) evict_codes();
}

// Allocates nothing, so that it cannot fail half way. Ends: what is being made counts as an entry but is left
// alone, and holds no bytes yet.
void Cache::evict_codes() {
  const auto is_made = [](const auto& entry) { return entry.second->code != nullptr; };
  while ((codes_.size() > after_eviction(limits_.entries) || bytes_ > after_eviction(limits_.bytes)) &&
         std::any_of(codes_.begin(), codes_.end(), is_made))
    evict_oldest_code();
  std::erase_if(texts_, [](const auto& text) { return text.second.slot && !text.second.slot->code; });
}

void Cache::evict_oldest_code() {
  const auto oldest = std::min_element(codes_.begin(), codes_.end(), [](const auto& a, const auto& b) {
    if (!a.second->code || !b.second->code) return a.second->code != nullptr;
    return a.second->used < b.second->used;
  });
  bytes_ -= oldest->second->bytes;
  oldest->second->code = nullptr;
  ++evicted_;
  codes_.erase(oldest);
}

// Spellings are cheap to lose: the half of time that lies further back goes, which takes one pass.
void Cache::evict_texts() {
  Time oldest = now_;
  for (const auto& [key, text] : texts_) oldest = std::min(oldest, text.used.load());
  const Time cutoff = oldest + (now_ - oldest) / 2;
  std::erase_if(texts_, [cutoff](const auto& text) { return text.second.used <= cutoff; });
}

Cache::Stats Cache::stats() const {
  const std::shared_lock lock(mutex_);
  return {codes_.size(), bytes_, texts_.size(), made_, evicted_, hits_, misses_, compile_time_, limits_};
}

void Cache::clear() {
  const std::unique_lock lock(mutex_);
  texts_.clear();
  std::erase_if(codes_, [](const auto& entry) { return entry.second->code != nullptr; });
  bytes_ = 0;
}

void Cache::limit(Limits limits) {
  const std::unique_lock lock(mutex_);
  constexpr size_t most_entries = std::numeric_limits<size_t>::max() / cache_texts_per_entry;
  limits_ = {std::min(limits.entries, most_entries), limits.bytes};
  if (codes_.size() > limits_.entries || bytes_ > limits_.bytes) evict_codes();
  if (texts_.size() > limits_.entries * cache_texts_per_entry) evict_texts();
}

// The thread that forked holds the lock by a number that its child does not have.
void Cache::after_fork_in_child() {
  new (&mutex_) std::shared_mutex;
  ++process_;
}

Cache& cache() {
  static Cache& instance = *new Cache;
  return instance;
}

}  // namespace pooljit::runtime
