#include "tools/regular_file.h"

#include <fmt/format.h>

#include <filesystem>

namespace pooljit::tools {

ir::Result<void> check_regular_file(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (unknown || !is_other(status)) return {};
  return ir::invalid("file.special", fmt::format("{} is a FIFO, a socket or a device", path),
                     "write what comes out of it to a file first");
}

}  // namespace pooljit::tools
