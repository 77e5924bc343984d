// The C header of exported kernels.
#pragma once

#include <span>
#include <string>

#include "runtime/export/kernel.h"

namespace pooljit::runtime {

// guard: what keeps it from being read twice, a C identifier.
std::string export_header(std::span<const ExportedKernel> kernels, const std::string& guard);

}  // namespace pooljit::runtime
