// --size: the sizes of specs that leave spatial dims free.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "tools/problem_file.h"

namespace pooljit::tools {

// "224x224": the extents of the spatial dims. Errors: "size.text".
ir::Result<std::vector<int64_t>> parse_size(std::string_view text);

// The texts of a spec of these sizes; the spec itself where there are none. Errors: "size.text", "spec.*".
ir::Result<std::vector<std::string>> at_sizes(const std::string& spec, const std::vector<std::string>& sizes);
ir::Result<std::string> at_size(const std::string& spec, const std::string& size);

// read_problems with those that leave dims free at each size. A spec that is wrong stays in the list, so that
// the caller reports it. Errors: also "size.text".
ir::Result<std::vector<Problem>> read_problems(const std::string& path,
                                               const std::vector<std::string>& sizes);

}  // namespace pooljit::tools
