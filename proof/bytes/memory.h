// Memory as executed machine code sees it: a few buffers of bytes of a domain, far apart. Bytes
// between them must not be touched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
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
    std::vector<Byte> bytes;
    std::vector<uint8_t> states;  // of each byte: is_owned, and is_written where something was

    void put(size_t at, const Byte& byte) {
      bytes[at] = byte;
      states[at] |= is_written;
      take(at, 1);
    }
    bool has(size_t at) const { return (states[at] & is_written) != 0; }
    // Outside of this nothing was written.
    size_t first_written() const { return std::min(first_, bytes.size()); }
    size_t end_written() const { return end_; }
    // As if nothing had been written yet.
    void forget() {
      for (size_t at = first_written(); at < end_; ++at) states[at] &= static_cast<uint8_t>(~is_written);
      first_ = static_cast<size_t>(-1), end_ = 0;
    }

   private:
    friend Memory;
    void take(size_t at, size_t count) { first_ = std::min(first_, at), end_ = std::max(end_, at + count); }
    size_t first_ = static_cast<size_t>(-1), end_ = 0;
  };
  static constexpr uint8_t is_owned = 1, is_written = 2;

  // Its base lies so many bytes behind a multiple of 4096; references stay valid. size 0: nothing of it may
  // be touched. Of what is not owned, by `states`, neither.
  Buffer& add(std::string_view name, size_t size, Touch touch, uint64_t offset = 0) {
    Buffer& buffer = buffers_.emplace_back();
    buffer.name = name;
    buffer.base = next_base_ + offset;
    buffer.touch = touch;
    buffer.bytes.resize(size);
    buffer.states.assign(size, is_owned);
    next_base_ += (size / page + 2) * page;
    return buffer;
  }

  void load(uint64_t address, size_t count, Byte* to) {
    const Buffer& buffer = find(address, count, Touch::read);
    const size_t at = address - buffer.base;
    expect(buffer, at, count, is_owned, "a load of what no element owns, of ");
    expect(buffer, at, count, is_written, "a load of what was not written, of ");
    std::copy_n(buffer.bytes.begin() + static_cast<std::ptrdiff_t>(at), count, to);
  }
  void store(uint64_t address, size_t count, const Byte* from) {
    Buffer& buffer = find(address, count, Touch::write);
    const size_t at = address - buffer.base;
    expect(buffer, at, count, is_owned, "a store to what no element owns, of ");
    std::copy_n(from, count, buffer.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    std::fill_n(buffer.states.begin() + static_cast<std::ptrdiff_t>(at), count,
                static_cast<uint8_t>(is_owned | is_written));
    buffer.take(at, count);
  }

 private:
  static constexpr uint64_t page = 4096;

  Buffer& find(uint64_t address, size_t count, Touch touch) {
    if (!last_ || !holds(*last_, address, count)) {
      const auto found =
          std::ranges::find_if(buffers_, [&](const Buffer& buffer) { return holds(buffer, address, count); });
      if (found == buffers_.end()) throw Refused{0, "an access outside all buffers", true};
      last_ = &*found;
    }
    if ((static_cast<int>(last_->touch) & static_cast<int>(touch)) == 0)
      throw Refused{0,
                    (touch == Touch::read ? "a load of what is only written, of "
                                          : "a store to what is only read, of ") +
                        last_->name,
                    true};
    return *last_;
  }
  static bool holds(const Buffer& buffer, uint64_t address, size_t count) {
    return address >= buffer.base && address - buffer.base + count <= buffer.bytes.size();
  }
  static void expect(const Buffer& buffer, size_t at, size_t count, uint8_t state, const char* else_why) {
    uint8_t all = state;
    for (size_t i = at; i < at + count; ++i) all &= buffer.states[i];
    if (all == 0) throw Refused{0, else_why + buffer.name, true};
  }

  uint64_t next_base_ = uint64_t{1} << 32;
  std::deque<Buffer> buffers_;
  Buffer* last_ = nullptr;
};

}  // namespace pooljit::jit::x86
