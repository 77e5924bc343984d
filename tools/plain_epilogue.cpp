#include "tools/plain_epilogue.h"

namespace pooljit::tools {
namespace {

// Calls use(x, y, z) for each element of a row and its operands: an array's number, or a tensor's element.
template <typename T, typename Use>
void for_row(const PlainEpilogue& epilogue, const PlainStep& step, bool is_tensor, int64_t number, T* x,
             const Use& use) {
  const T* first = static_cast<const T*>(step.first);
  const T* second = static_cast<const T*>(step.second ? step.second : step.first);
  if (is_tensor) first = second = first + number * epilogue.row;
  if (is_tensor || epilogue.channels_last) {
    for (int64_t i = 0; i < epilogue.row; ++i) x[i] = use(x[i], first[i], second[i]);
    return;
  }
  const T a = first[number % epilogue.channels], b = second[number % epilogue.channels];
  for (int64_t i = 0; i < epilogue.row; ++i) x[i] = use(x[i], a, b);
}

template <typename T>
void run_step(const PlainEpilogue& epilogue, const PlainStep& step, int64_t number, T* x) {
  const T a = static_cast<T>(step.a), b = static_cast<T>(step.b);
  const int64_t count = epilogue.row;
  switch (step.kind) {
    case PlainStepKind::relu:
      for (int64_t i = 0; i < count; ++i) x[i] = x[i] <= 0 ? 0 : x[i];
      return;
    case PlainStepKind::clamp:
      for (int64_t i = 0; i < count; ++i) x[i] = x[i] < a ? a : x[i] > b ? b : x[i];
      return;
    case PlainStepKind::scale:
      for (int64_t i = 0; i < count; ++i) x[i] = x[i] * a + b;
      return;
    case PlainStepKind::scale_channel:
      return for_row(epilogue, step, false, number, x, [](T v, T y, T z) { return v * y + z; });
    case PlainStepKind::mul_channel:
      return for_row(epilogue, step, false, number, x, [](T v, T y, T) { return v * y; });
    case PlainStepKind::add_channel:
      return for_row(epilogue, step, false, number, x, [](T v, T y, T) { return v + y; });
    case PlainStepKind::add:
      return for_row(epilogue, step, true, number, x, [](T v, T y, T) { return v + y; });
    case PlainStepKind::requantize:  // makes integers
      return;
  }
}

template <typename T>
void run(const PlainEpilogue& epilogue, T* output, int64_t begin, int64_t end) {
  for (int64_t number = begin; number < end; ++number)
    for (int step = 0; step < epilogue.steps; ++step)
      run_step(epilogue, epilogue.step[step], number, output + number * epilogue.row);
}

}  // namespace

void run_plain_epilogue(const PlainEpilogue& epilogue, void* output, int64_t begin, int64_t end) {
  if (epilogue.is_double) return run(epilogue, static_cast<double*>(output), begin, end);
  run(epilogue, static_cast<float*>(output), begin, end);
}

}  // namespace pooljit::tools
