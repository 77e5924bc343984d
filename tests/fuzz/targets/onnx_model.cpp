// Bytes as a file of ONNX: a model or tensor that is wrong is refused; what a model's pooling nodes say reads
// as specs, alone and several of one tensor together.
#include <sys/mman.h>
#include <unistd.h>

#include <set>
#include <string>

#include "frontend/dialects.h"
#include "frontend/pool_spec.h"
#include "tests/fuzz/target.h"
#include "tools/onnx/groups.h"
#include "tools/onnx/model.h"

using namespace pooljit;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = ::memfd_create("model", MFD_CLOEXEC);
  fuzz::demand(file >= 0 && ::write(file, data, size) == ssize_t(size), "no room for the model");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (const auto model = tools::read_model(path)) {
    std::set<std::string> names;
    for (const tools::PoolNode& node : model->nodes) {
      fuzz::demand(names.insert(node.name).second, "two nodes of one name", node.name);
      if (!node.spec) continue;
      const auto spec = frontend::parse_meaning(*node.spec);
      fuzz::demand(spec && print(*spec) == *node.spec, "a node's spec does not read back", *node.spec);
    }
    for (const tools::PoolGroup& group : tools::find_groups(*model)) {
      const auto spec = frontend::parse_spec(group.spec, frontend::FreeDims::allowed);
      fuzz::demand(spec && print(*spec) == group.spec, "a group's spec does not read back", group.spec);
    }
  }
  (void)tools::read_tensor(path);
  ::close(file);
  return 0;
}
