#include "jit/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace pooljit::jit {

namespace {

ir::Result<CodeMemory> refused(const char* what) {
  return ir::system_error("jit.memory", std::string(what) + ": " + std::strerror(errno),
                          "allow the process executable memory, or use backend=interpreter");
}

}  // namespace

ir::Result<CodeMemory> make_executable(std::span<const uint8_t> bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (bytes.size() + page - 1) / page * page;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return refused("no memory for code");
  std::shared_ptr<void> owner(memory, [size](void* pages) { munmap(pages, size); });
  std::memcpy(memory, bytes.data(), bytes.size());
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) return refused("code may not be made executable");
  return CodeMemory{static_cast<const uint8_t*>(memory), std::move(owner)};
}

}  // namespace pooljit::jit
