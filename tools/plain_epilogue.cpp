#include "tools/plain_epilogue.h"

namespace pooljit::tools {
namespace {

// Calls use(x, a) for each element of a row and the part's argument for it.
template <typename T, typename Use>
void for_row(const PlainEpilogue& epilogue, const PlainPart& part, int64_t row, T* x, const Use& use) {
  const T* operand = static_cast<const T*>(part.operand);
  if (part.is_tensor) operand += row * epilogue.row;
  if (operand && (part.is_tensor || epilogue.channels_last)) {
    for (int64_t i = 0; i < epilogue.row; ++i) x[i] = use(x[i], operand[i]);
    return;
  }
  const T a = operand ? operand[row % epilogue.channels] : static_cast<T>(part.number);
  for (int64_t i = 0; i < epilogue.row; ++i) x[i] = use(x[i], a);
}

template <typename T>
void run_part(const PlainEpilogue& epilogue, const PlainPart& part, int64_t row, T* x) {
  const auto each = [&](const auto& use) { for_row(epilogue, part, row, x, use); };
  switch (part.kind) {
    case PlainPartKind::rectify:
      return each([](T v, T) { return v <= 0 ? 0 : v; });
    case PlainPartKind::at_least:
      return each([](T v, T a) { return v < a ? a : v; });
    case PlainPartKind::at_most:
      return each([](T v, T a) { return v > a ? a : v; });
    case PlainPartKind::multiply:
      return each([](T v, T a) { return v * a; });
    case PlainPartKind::add:
      return each([](T v, T a) { return v + a; });
    case PlainPartKind::divide:
      return each([](T v, T a) { return v / a; });
    case PlainPartKind::store:  // makes integers
      return;
  }
}

template <typename T>
void run(const PlainEpilogue& epilogue, T* output, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row)
    for (int part = 0; part < epilogue.parts; ++part)
      run_part(epilogue, epilogue.part[part], row, output + row * epilogue.row);
}

}  // namespace

void run_plain_epilogue(const PlainEpilogue& epilogue, void* output, int64_t begin, int64_t end) {
  if (epilogue.is_double) return run(epilogue, static_cast<double*>(output), begin, end);
  run(epilogue, static_cast<float*>(output), begin, end);
}

}  // namespace pooljit::tools
