// The table of exported kernels in their C header: each behind one signature, found by name, spec or
// signature.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "export/kernel.h"

namespace pooljit::runtime {

// The part that all headers share, after their other types.
std::string_view table_types();

// NAME_run of each kernel, and TABLE_kernels() and TABLE_find().
std::string table_functions(std::span<const ExportedKernel> kernels, const std::string& table);

}  // namespace pooljit::runtime
