// The loop that an unpool is measured against: fill with zeros, then put each value where its index says; or
// its gradient, which takes each value from there.
// Compiled like the plain loop (tools/plain_loop.h), for the building machine, so it uses plain types; see
// there. Like most such code it does not look whether indices name a place.
#pragma once

#include <cstdint>

namespace pooljit::tools {

// Tensors packed, in NCHW or NHWC; indices count in the plane.
struct PlainUnpool {
  int64_t element_bytes = 4;
  bool channels_last = false;
  bool gathers = false;  // the gradient
  int64_t batch = 1, channels = 1;
  int64_t values = 1, places = 1;  // of one plane
};

// Tasks are planes (channels first) or images (channels last).
int64_t plain_tasks(const PlainUnpool& unpool);
void run_plain_unpool(const PlainUnpool& unpool, const void* input, const int64_t* indices, void* output,
                      int64_t begin, int64_t end);

}  // namespace pooljit::tools
