// Buffer: uninitialised memory on a cache line, whose want is an error and not an exception: specs can ask
// for terabytes.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

#include "ir/error.h"

namespace pooljit::tools {

class Buffer {
 public:
  static ir::Result<Buffer> allocate(size_t bytes);

  std::byte* data() const { return memory_.get(); }
  size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {data(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t bytes_ = 0;
};

}  // namespace pooljit::tools
