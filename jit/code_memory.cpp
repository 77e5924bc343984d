#include "jit/code_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace pooljit::jit {

namespace {

ir::Result<CodeMemory> no_memory() {
  return ir::system_error("jit.memory", std::string("no memory for code: ") + std::strerror(errno),
                          "more memory, or a higher limit of it");
}
ir::Result<CodeMemory> not_executable() {
  return ir::system_error(
      "jit.executable", std::string("code may not be made executable: ") + std::strerror(errno),
      "allow the process executable memory, leave backend=auto to fall back, or use backend=reference");
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

// Writable and zero. If another thread has the pages ahead, or for ever one that a fork left behind, the
// caller maps its own.
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

CodeMemory owned(uint8_t* memory, size_t size) {
  return {memory, std::shared_ptr<void>(memory, [size](void* pages) { munmap(pages, size); })};
}

// No bytes and errno: refused.
CodeMemory write_then_protect(std::span<const uint8_t> bytes, uint8_t* memory, size_t size) {
  CodeMemory code = owned(memory, size);
  std::memcpy(memory, bytes.data(), bytes.size());
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) == 0) return code;
  const int why = errno;
  code = {};
  errno = why;
  return code;
}

// A file in memory that may be mapped executable. -1: refused.
int memory_file() {
  constexpr unsigned executable = 0x10;  // MFD_EXEC, since Linux 6.3, which warns where neither is said
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int file = memfd_create("pooljit", flags | executable);
  return file < 0 && errno == EINVAL ? memfd_create("pooljit", flags) : file;
}

bool write_all(int file, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// A file longer than the process may write would not be an error but a signal.
bool may_write(size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

// No bytes and errno: refused.
CodeMemory map_sealed_file(std::span<const uint8_t> bytes, size_t size) {
  errno = EFBIG;
  const int file = may_write(bytes.size()) ? memory_file() : -1;
  if (file < 0) return {};
  void* memory = MAP_FAILED;
  if (write_all(file, bytes) &&
      fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    memory = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  const int why = errno;
  close(file);
  errno = why;
  return memory == MAP_FAILED ? CodeMemory{} : owned(static_cast<uint8_t*>(memory), size);
}

// Whether mprotect has been refused once, so that it need not be asked again.
constinit std::atomic<bool> protect_is_refused = false;

}  // namespace

ir::Result<CodeMemory> make_executable(std::span<const uint8_t> bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (bytes.size() + page - 1) / page * page;
  if (protect_is_refused.load(std::memory_order_relaxed))
    if (CodeMemory code = map_sealed_file(bytes, size); code.bytes) return code;
  uint8_t* const memory = writable_pages(size, page);
  if (!memory) return no_memory();
  if (CodeMemory code = write_then_protect(bytes, memory, size); code.bytes) return code;
  const int why = errno;
  if (CodeMemory code = map_sealed_file(bytes, size); code.bytes) {
    protect_is_refused.store(true, std::memory_order_relaxed);
    return code;
  }
  if (errno == ENOMEM) return no_memory();
  errno = why;
  return not_executable();
}

}  // namespace pooljit::jit
