#include "jit/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace pooljit::jit {

namespace {

ir::Result<CodeMemory> refused(const char* what) {
  return ir::system_error("jit.memory", std::string(what) + ": " + std::strerror(errno),
                          "allow the process executable memory, or use backend=interpreter");
}

// Pages that the next kernels will have: mapping and clearing them one by one is most of what memory for a
// small kernel costs.
constexpr size_t pages_ahead = 16;
struct Ahead {
  std::mutex mutex;
  uint8_t* next = nullptr;
  size_t bytes = 0;
};
constinit Ahead ahead;

// Null: there is no memory.
uint8_t* map(size_t bytes, int flags) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

// Writable and zero. Whoever finds the pages ahead taken, by another thread or for ever by one that a fork
// left behind, maps its own.
uint8_t* writable_pages(size_t bytes, size_t page) {
  const size_t batch = pages_ahead * page;
  const std::unique_lock lock(ahead.mutex, std::try_to_lock);
  if (!lock || bytes > batch / 2) return map(bytes, 0);
  if (ahead.bytes < bytes) {
    uint8_t* const fresh = map(batch, MAP_POPULATE);
    if (!fresh) return map(bytes, 0);
    if (ahead.bytes > 0) munmap(ahead.next, ahead.bytes);
    ahead.next = fresh;
    ahead.bytes = batch;
  }
  ahead.bytes -= bytes;
  return std::exchange(ahead.next, ahead.next + bytes);
}

}  // namespace

ir::Result<CodeMemory> make_executable(std::span<const uint8_t> bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (bytes.size() + page - 1) / page * page;
  uint8_t* const memory = writable_pages(size, page);
  if (!memory) return refused("no memory for code");
  std::shared_ptr<void> owner(memory, [size](void* pages) { munmap(pages, size); });
  std::memcpy(memory, bytes.data(), bytes.size());
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) return refused("code may not be made executable");
  return CodeMemory{memory, std::move(owner)};
}

}  // namespace pooljit::jit
