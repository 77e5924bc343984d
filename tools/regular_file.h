// What is read whole has to be a file: whoever opens a FIFO waits for a writer, and a device may never end.
#pragma once

#include <string>

#include "ir/error.h"

namespace pooljit::tools {

// Errors: "file.special" for a FIFO, a socket or a device. What is not there is left to whoever opens it.
ir::Result<void> check_regular_file(const std::string& path);

}  // namespace pooljit::tools
