#include "tools/plain_unpool.h"

#include <cstring>

namespace pooljit::tools {
namespace {

template <typename T>
void run(const PlainUnpool& unpool, const T* values, const int64_t* indices, T* output, int64_t begin,
         int64_t end) {
  const int64_t channels = unpool.channels_last ? unpool.channels : 1;
  const int64_t from = unpool.values * channels, to = unpool.places * channels;  // elements of a task
  for (int64_t task = begin; task < end; ++task) {
    const T* const x = values + task * from;
    const int64_t* const place = indices + task * from;
    T* const y = output + task * to;
    memset(y, 0, static_cast<size_t>(to) * sizeof(T));
    if (channels == 1) {
      for (int64_t i = 0; i < from; ++i) y[place[i]] = x[i];
      continue;
    }
    for (int64_t i = 0; i < from; i += channels)
      for (int64_t c = 0; c < channels; ++c) y[place[i + c] * channels + c] = x[i + c];
  }
}

template <typename T>
void run(const PlainUnpool& unpool, const void* values, const int64_t* indices, void* output, int64_t begin,
         int64_t end) {
  run(unpool, static_cast<const T*>(values), indices, static_cast<T*>(output), begin, end);
}

}  // namespace

int64_t plain_tasks(const PlainUnpool& unpool) {
  return unpool.batch * (unpool.channels_last ? 1 : unpool.channels);
}

void run_plain_unpool(const PlainUnpool& unpool, const void* values, const int64_t* indices, void* output,
                      int64_t begin, int64_t end) {
  if (unpool.element_bytes == 1) return run<uint8_t>(unpool, values, indices, output, begin, end);
  if (unpool.element_bytes == 2) return run<uint16_t>(unpool, values, indices, output, begin, end);
  if (unpool.element_bytes == 4) return run<uint32_t>(unpool, values, indices, output, begin, end);
  run<uint64_t>(unpool, values, indices, output, begin, end);
}

}  // namespace pooljit::tools
