// GuardedBuffer: memory whose first or last byte lies against a page that nobody may touch, so that an access
// beyond it is a crash and not luck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/error.h"

namespace pooljit::runtime {

class GuardedBuffer {
 public:
  enum class Flush : uint8_t { first_byte, last_byte };

  // Errors: "system.memory".
  static ir::Result<GuardedBuffer> make(size_t bytes, Flush flush);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  GuardedBuffer() = default;
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace pooljit::runtime
