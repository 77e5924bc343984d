#include "tools/plain_unpool.h"

#include <cstring>

namespace pooljit::tools {
namespace {

// Calls move(value's number, place's number) for all of a task.
template <typename Move>
void for_values(const PlainUnpool& unpool, const int64_t* place, const Move& move) {
  const int64_t channels = unpool.channels_last ? unpool.channels : 1, values = unpool.values * channels;
  if (channels == 1) {
    for (int64_t i = 0; i < values; ++i) move(i, place[i]);
    return;
  }
  for (int64_t i = 0; i < values; i += channels)
    for (int64_t c = 0; c < channels; ++c) move(i + c, place[i + c] * channels + c);
}

template <typename T>
void run(const PlainUnpool& unpool, const void* input, const int64_t* indices, void* output, int64_t begin,
         int64_t end) {
  const int64_t channels = unpool.channels_last ? unpool.channels : 1;
  const int64_t values = unpool.values * channels, places = unpool.places * channels;  // of a task
  for (int64_t task = begin; task < end; ++task) {
    const T* const x = static_cast<const T*>(input) + task * (unpool.gathers ? places : values);
    T* const y = static_cast<T*>(output) + task * (unpool.gathers ? values : places);
    const int64_t* const place = indices + task * values;
    if (unpool.gathers) {
      for_values(unpool, place, [&](int64_t value, int64_t at) { y[value] = x[at]; });
      continue;
    }
    memset(y, 0, static_cast<size_t>(places) * sizeof(T));
    for_values(unpool, place, [&](int64_t value, int64_t at) { y[at] = x[value]; });
  }
}

}  // namespace

int64_t plain_tasks(const PlainUnpool& unpool) {
  return unpool.batch * (unpool.channels_last ? 1 : unpool.channels);
}

void run_plain_unpool(const PlainUnpool& unpool, const void* input, const int64_t* indices, void* output,
                      int64_t begin, int64_t end) {
  if (unpool.element_bytes == 1) return run<uint8_t>(unpool, input, indices, output, begin, end);
  if (unpool.element_bytes == 2) return run<uint16_t>(unpool, input, indices, output, begin, end);
  if (unpool.element_bytes == 4) return run<uint32_t>(unpool, input, indices, output, begin, end);
  run<uint64_t>(unpool, input, indices, output, begin, end);
}

}  // namespace pooljit::tools
