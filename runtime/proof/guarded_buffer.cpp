#include "runtime/proof/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

namespace pooljit::runtime {
namespace {

// Mappings of small buffers that are gone, for the next ones of their size: a check makes six of them for
// each input, and to unmap one costs more than to pool a small layer. A child that is forked meanwhile may
// find the lock taken for ever, so nobody waits for it.
class SpareMappings {
 public:
  void* take(size_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return nullptr;
    const auto spare = std::ranges::find_if(
        all_, [&](const Mapping& one) { return one.begin != nullptr && one.bytes == bytes; });
    return spare == all_.end() ? nullptr : std::exchange(spare->begin, nullptr);
  }
  bool keep(void* begin, size_t bytes) {
    constexpr size_t most_bytes = size_t{1} << 18;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || bytes > most_bytes) return false;
    const auto free = std::ranges::find(all_, nullptr, &Mapping::begin);
    if (free == all_.end()) return false;
    *free = {begin, bytes};
    return true;
  }

 private:
  struct Mapping {
    void* begin = nullptr;
    size_t bytes = 0;
  };
  std::mutex mutex_;
  std::array<Mapping, 64> all_ = {};
};
SpareMappings spare_mappings;

}  // namespace

ir::Result<GuardedBuffer> GuardedBuffer::make(size_t bytes, Flush flush) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inner = (bytes + page - 1) / page * page, mapped = inner + 2 * page;
  const auto refuse = [&] {
    return ir::system_error("system.memory",
                            "the system refuses " + std::to_string(bytes) + " bytes between guard pages");
  };
  void* mapping = spare_mappings.take(mapped);
  const bool is_spare = mapping != nullptr;
  if (!is_spare)
    mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return refuse();
  GuardedBuffer buffer;
  buffer.mapping_ = mapping;
  buffer.mapped_ = mapped;
  buffer.size_ = bytes;
  std::byte* first = static_cast<std::byte*>(mapping) + page;
  buffer.data_ = flush == Flush::first_byte ? first : first + (inner - bytes);
  if (is_spare)
    std::memset(first, 0, inner);
  else if (inner > 0 && mprotect(first, inner, PROT_READ | PROT_WRITE) != 0)
    return refuse();
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
  if (mapping_ && !spare_mappings.keep(mapping_, mapped_)) munmap(mapping_, mapped_);
}

}  // namespace pooljit::runtime
