// The plain loop of a forward pooling that reads or writes a view.
#include "tools/plain_forward.h"

namespace pooljit::tools {

void run_plain_view(const PlainPool& pool, const void* input, void* output, int64_t* indices, int64_t begin,
                    int64_t end) {
  run_forward<true>(pool, input, output, indices, begin, end);
}

}  // namespace pooljit::tools
