// .npz files: several arrays in one, as numpy.load() reads them. A zip archive of .npy files, stored as they
// are.
//
// Own code, because such an archive is three fixed records: a library for zip would be a dependency for its
// compression, which is not used.
#pragma once

#include <string>
#include <vector>

#include "ir/dtype.h"
#include "runtime/memory_view.h"

namespace pooljit::tools {

struct NpzArray {
  std::string name;  // "x"
  std::string file;  // a whole .npy file
};

// The elements of a view in logical order: N, C, spatial, whatever its layout and strides are.
NpzArray npz_array(const std::string& name, const runtime::MemoryView& view, ir::DType dtype,
                   std::span<const std::byte> memory);

// Below 4 GiB in all.
std::string npz_bytes(const std::vector<NpzArray>& arrays);

}  // namespace pooljit::tools
