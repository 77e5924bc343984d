// The C header of exported kernels.
#pragma once

#include <span>
#include <string>

#include "export/kernel.h"

namespace pooljit::runtime {

// guard: what keeps it from being read twice; table: what the names of its table begin with. C identifiers.
std::string export_header(std::span<const ExportedKernel> kernels, const std::string& guard,
                          const std::string& table);

}  // namespace pooljit::runtime
