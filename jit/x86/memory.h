// Memory as executed machine code sees it: a few buffers of bytes of a domain, far apart. What lies between
// them must not be touched.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "jit/machine_code.h"

namespace pooljit::jit::x86 {

enum class Touch : uint8_t { none, read = 1, write = 2, both = 3 };

template <typename Byte>
class Memory {
 public:
  struct Buffer {
    std::string name;
    uint64_t base = 0;
    Touch touch = Touch::read;
    std::vector<std::optional<Byte>> bytes;  // none: nothing was written there yet
    std::vector<bool> touchable;             // empty: all of them
  };

  // Its base lies so many bytes behind a multiple of 4096; references stay valid. size 0: nothing of it may
  // be touched.
  Buffer& add(std::string name, size_t size, Touch touch, uint64_t offset = 0) {
    buffers_.push_back({std::move(name), next_base_ + offset, touch, {}, {}});
    buffers_.back().bytes.resize(size);
    next_base_ += (size / page + 2) * page;
    return buffers_.back();
  }

  Byte load(uint64_t address) {
    Buffer& buffer = find(address, Touch::read);
    const std::optional<Byte>& byte = buffer.bytes[address - buffer.base];
    if (!byte) throw Refused{0, "a load of what was not written, of " + buffer.name};
    return *byte;
  }
  void store(uint64_t address, const Byte& byte) {
    Buffer& buffer = find(address, Touch::write);
    buffer.bytes[address - buffer.base] = byte;
  }

 private:
  static constexpr uint64_t page = 4096;

  Buffer& find(uint64_t address, Touch touch) {
    if (last_ && holds(*last_, address)) return allowed(*last_, address, touch);
    for (Buffer& buffer : buffers_)
      if (holds(buffer, address)) return allowed(*(last_ = &buffer), address, touch);
    throw Refused{0, "an access outside all buffers"};
  }
  static bool holds(const Buffer& buffer, uint64_t address) {
    return address >= buffer.base && address - buffer.base < buffer.bytes.size();
  }
  static Buffer& allowed(Buffer& buffer, uint64_t address, Touch touch) {
    const bool may = (static_cast<int>(buffer.touch) & static_cast<int>(touch)) != 0;
    if (!may || (!buffer.touchable.empty() && !buffer.touchable[address - buffer.base]))
      throw Refused{0, (touch == Touch::read ? "a load of what no element owns, of "
                                             : "a store to what no element owns, of ") +
                           buffer.name};
    return buffer;
  }

  uint64_t next_base_ = uint64_t{1} << 32;
  std::deque<Buffer> buffers_;
  Buffer* last_ = nullptr;
};

}  // namespace pooljit::jit::x86
