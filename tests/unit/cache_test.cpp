// The code cache alone, with code that does nothing.
#include "runtime/cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/kernel.h"

namespace pooljit::runtime {
namespace {

class IdleCode final : public Code {
 public:
  explicit IdleCode(size_t bytes, std::atomic<int>* alive = nullptr) : Code(make_info(bytes)), alive_(alive) {
    if (alive_) ++*alive_;
  }
  ~IdleCode() override {
    if (alive_) --*alive_;
  }
  void run(const Call&, const TaskRanges&) const override {}

 private:
  static CodeInfo make_info(size_t bytes) {
    CodeInfo info;
    info.nest = frontend::make_nest(*frontend::parse_spec("max_pool1d(float32[1,1,4], kernel_size=2)"));
    info.held_bytes = bytes;
    return info;
  }
  std::atomic<int>* alive_;
};

Cache::Made idle(size_t bytes, std::atomic<int>* alive = nullptr) {
  return std::make_shared<IdleCode>(bytes, alive);
}

// True if the key had to be made.
bool is_missing(Cache& cache, const std::string& key, size_t bytes = 1) {
  bool made = false;
  EXPECT_TRUE(cache.get(key, [&] {
    made = true;
    return idle(bytes);
  }));
  return made;
}

KernelPtr bind(CodePtr code) {
  return std::make_shared<Kernel>(*frontend::parse_spec("max_pool1d(float32[1,1,4], kernel_size=2)"),
                                  std::move(code), 1);
}

// Starts so many threads at the same moment, each with its number, and waits for them.
template <typename Body>
void together(int threads, Body body) {
  std::barrier start(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  for (std::thread& thread : running) thread.join();
}

TEST(Cache, MakesCodeOnceHoweverManyThreadsAsk) {
  Cache cache;
  for (int round = 0; round < 20; ++round) {
    const std::string key = "key " + std::to_string(round);
    std::atomic<int> made = 0;
    std::vector<CodePtr> codes(64);
    together(64, [&](int i) {
      codes[i] = *cache.get(key, [&] {
        ++made;
        std::this_thread::yield();
        return idle(1);
      });
    });
    EXPECT_EQ(made, 1);
    for (const CodePtr& code : codes) EXPECT_EQ(code, codes[0]);
  }
  EXPECT_EQ(cache.stats().made, 20U);
}

TEST(Cache, HandsAFailureToAllWhoWaitedAndForgetsIt) {
  Cache cache;
  std::atomic<int> attempts = 0, failures = 0;
  together(16, [&](int) {
    const auto code = cache.get("key", [&]() -> Cache::Made {
      ++attempts;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return ir::system_error("jit.memory", "refused");
    });
    if (!code && code.error().id == "jit.memory") ++failures;
  });
  EXPECT_EQ(failures, 16);
  EXPECT_GE(attempts, 1);
  EXPECT_EQ(cache.stats().entries, 0U);
  EXPECT_TRUE(is_missing(cache, "key"));
  EXPECT_FALSE(is_missing(cache, "key"));
}

TEST(Cache, AnExceptionReachesAllWhoWaitedAndLeavesNothing) {
  Cache cache;
  std::atomic<int> thrown = 0;
  together(16, [&](int) {
    try {
      (void)cache.get("key", []() -> Cache::Made {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        throw std::bad_alloc();
      });
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 16);
  EXPECT_EQ(cache.stats().entries, 0U);
  EXPECT_TRUE(is_missing(cache, "key"));
}

TEST(Cache, EvictsWhatWasUsedLongestAgo) {
  Cache cache({.entries = 3, .bytes = 1000});
  is_missing(cache, "a");
  is_missing(cache, "b");
  is_missing(cache, "c");
  EXPECT_FALSE(is_missing(cache, "a"));  // b is now the oldest
  is_missing(cache, "d");
  EXPECT_EQ(cache.stats().entries, 3U);
  EXPECT_EQ(cache.stats().evicted, 1U);
  EXPECT_FALSE(is_missing(cache, "a"));
  EXPECT_FALSE(is_missing(cache, "c"));
  EXPECT_TRUE(is_missing(cache, "b"));
}

TEST(Cache, IsBoundedByBytes) {
  Cache cache({.entries = 100, .bytes = 80});
  for (int i = 0; i < 50; ++i) {
    is_missing(cache, std::to_string(i), 10);
    EXPECT_LE(cache.stats().bytes, 80U);
  }
  EXPECT_GE(cache.stats().bytes, 70U);
  // More than the whole bound is made, handed out and not kept.
  EXPECT_TRUE(is_missing(cache, "huge", 81));
  EXPECT_TRUE(is_missing(cache, "huge", 81));
  EXPECT_LE(cache.stats().bytes, 80U);
}

TEST(Cache, EvictionLeavesCodeToThoseWhoHoldIt) {
  Cache cache({.entries = 1, .bytes = 1000});
  std::atomic<int> alive = 0;
  CodePtr held = *cache.get("held", [&] { return idle(1, &alive); });
  is_missing(cache, "other");
  EXPECT_EQ(alive, 1);
  held->run({}, {});
  held.reset();
  EXPECT_EQ(alive, 0);
}

TEST(Cache, RemembersTextsOfKeptCodeOnly) {
  Cache cache({.entries = 1, .bytes = 1000});
  std::atomic<int> alive = 0;
  const Options options, other{.threads = 2};
  cache.remember({"text", options}, "a", bind(*cache.get("a", [&] { return idle(1, &alive); })));
  ASSERT_TRUE(cache.find({"text", options}));
  EXPECT_FALSE(cache.find({"text", other}));
  EXPECT_FALSE(cache.find({"texts", options}));
  EXPECT_EQ(alive, 1);

  const auto evicted = std::get<KernelPtr>(*cache.find({"text", options}));
  is_missing(cache, "b");
  EXPECT_FALSE(cache.find({"text", options}));
  cache.remember({"text", options}, "a", evicted);  // its code is forgotten: nothing to remember
  EXPECT_FALSE(cache.find({"text", options}));
  EXPECT_EQ(cache.stats().texts, 0U);
}

TEST(Cache, ATextHitCountsAsUse) {
  Cache cache({.entries = 2, .bytes = 1000});
  cache.remember({"text", {}}, "a", bind(*cache.get("a", [] { return idle(1); })));
  is_missing(cache, "b");
  EXPECT_TRUE(cache.find({"text", {}}));
  is_missing(cache, "c");
  EXPECT_TRUE(cache.find({"text", {}}));
  EXPECT_FALSE(is_missing(cache, "a"));
}

TEST(Cache, TextsAreBounded) {
  Cache cache({.entries = 2, .bytes = 1000});
  const KernelPtr kernel = bind(*cache.get("a", [] { return idle(1); }));
  for (int i = 0; i < 100; ++i) {
    cache.remember({std::to_string(i), {}}, "a", kernel);
    EXPECT_TRUE(cache.find({std::to_string(i), {}}));
    EXPECT_LE(cache.stats().texts, 2 * cache_texts_per_entry);
  }
}

TEST(Cache, StaysConsistentWhileThreadsMakeUseAndEvict) {
  std::atomic<int> alive = 0;
  {
    Cache cache({.entries = 8, .bytes = 1000});
    together(64, [&](int thread) {
      for (int i = 0; i < 200; ++i) {
        const std::string key = std::to_string((thread * 7 + i * 5) % 40);
        const auto code = cache.get(key, [&]() -> Cache::Made {
          if (i % 11 == 0) return ir::invalid("test", "now and then");
          return idle(30, &alive);
        });
        if (!code) continue;
        (*code)->run({}, {});
        if (i % 3 == 0) cache.remember({key, {}}, key, bind(*code));
        if (i % 5 == 0) cache.find({key, {}});
        if (i % 97 == 0) cache.clear();
      }
    });
    const Cache::Stats stats = cache.stats();
    EXPECT_LE(stats.entries, 8U);
    EXPECT_EQ(stats.bytes, 30 * stats.entries);
    EXPECT_EQ(size_t(alive), stats.entries);
    cache.clear();
    EXPECT_EQ(alive, 0);
  }
}

}  // namespace
}  // namespace pooljit::runtime
