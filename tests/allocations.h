// What the present thread allocates, counted, and refused on demand. Included in one file of a program, whose
// operator new it replaces; AddressSanitizer has one of its own and tells of each call, and under it nothing
// is refused. Under ThreadSanitizer nothing is counted either.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define POOLJIT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOLJIT_ASAN 1
#endif
#endif

namespace pooljit::tests {

// Bytes in all, held now, and held at most.
struct Allocations {
  int64_t all = 0, held = 0, most_held = 0;
};
inline thread_local Allocations allocations;
// Counts down at each allocation of this thread; the one that finds 0 is refused. -1: none is.
inline thread_local int64_t allocations_left = -1;

// Compiles are counted as users have them: without the copies that verifying passes takes.
inline const int unverified = ::setenv("POOLJIT_VERIFY_PASSES", "0", 1);

inline void count_allocation(int64_t bytes) {
  allocations.all += bytes;
  allocations.held += bytes;
  allocations.most_held = std::max(allocations.most_held, allocations.held);
}

}  // namespace pooljit::tests

#if defined(POOLJIT_ASAN)
// As in clang's sanitizer/allocator_interface.h, which GCC does not come with.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's names
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, size_t),
                                              void (*freed)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* memory);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace pooljit::tests {

inline const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t size) { count_allocation(static_cast<int64_t>(size)); },
    [](const volatile void* memory) {
      const size_t size = memory ? __sanitizer_get_allocated_size(memory) : 0;
      allocations.held -= static_cast<int64_t>(size);
    });

}  // namespace pooljit::tests
#elif !defined(__SANITIZE_THREAD__)
#define POOLJIT_REFUSES_MEMORY 1
// Not inlined: gcc would see malloc on one side and a replaced operator on the other.
[[gnu::noinline]] void* operator new(size_t size) {
  using namespace pooljit::tests;
  const bool is_refused = allocations_left >= 0 && allocations_left-- == 0;
  void* const memory = is_refused ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (!memory) throw std::bad_alloc();
  count_allocation(int64_t(malloc_usable_size(memory)));
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory) pooljit::tests::allocations.held -= int64_t(malloc_usable_size(memory));
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
#endif
