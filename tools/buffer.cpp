#include "tools/buffer.h"

#include <fmt/format.h>

namespace pooljit::tools {

ir::Result<Buffer> Buffer::allocate(size_t bytes) {
  constexpr size_t alignment = 64;
  Buffer buffer;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) != 0)
    return ir::system_error("system.memory", fmt::format("there is no memory for {} bytes", bytes),
                            "use a smaller batch or tensor");
  buffer.memory_.reset(static_cast<std::byte*>(memory));
  buffer.bytes_ = bytes;
  return buffer;
}

}  // namespace pooljit::tools
