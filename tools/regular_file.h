// A file that is read whole must be a regular file: opening a FIFO waits for a writer, and a device may never
// end.
#pragma once

#include <string>

#include "ir/error.h"

namespace pooljit::tools {

// Errors: "file.special" for a FIFO, a socket or a device. A missing file is no error here: opening it is.
ir::Result<void> check_regular_file(const std::string& path);

}  // namespace pooljit::tools
