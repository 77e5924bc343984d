#include "runtime/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace pooljit::runtime {

ir::Result<GuardedBuffer> GuardedBuffer::make(size_t bytes, Flush flush) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inner = (bytes + page - 1) / page * page, mapped = inner + 2 * page;
  const auto refuse = [&] {
    return ir::system_error("system.memory",
                            "the system refuses " + std::to_string(bytes) + " bytes between guard pages");
  };
  void* mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return refuse();
  GuardedBuffer buffer;
  buffer.mapping_ = mapping;
  buffer.mapped_ = mapped;
  buffer.size_ = bytes;
  std::byte* first = static_cast<std::byte*>(mapping) + page;
  buffer.data_ = flush == Flush::first_byte ? first : first + (inner - bytes);
  if (inner > 0 && mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) return refuse();
  return buffer;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_) munmap(mapping_, mapped_);
}

}  // namespace pooljit::runtime
