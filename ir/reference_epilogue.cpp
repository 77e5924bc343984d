#include "ir/reference_epilogue.h"

namespace pooljit::ir {

namespace {

template <typename T>
T requantized(const PoolNest& nest, T x, T scale, T zero_point) {
  const T shifted = x / scale + zero_point;
  return with_element_type(nest.output.dtype, [&]<typename Out>(Out) {
    return static_cast<T>(converted<Out>(shifted, nest.rounding));
  });
}

template <typename T>
T all_steps(const PoolNest& nest, T x, const OperandValues<T>& operands) {
  const T* y = operands.data();
  for (const EpilogueStep& step : nest.epilogue) {
    const T a = static_cast<T>(step.numbers[0]), b = static_cast<T>(step.numbers[1]);
    switch (step.kind) {
      case StepKind::relu:
        x = x <= 0 ? 0 : x;
        break;
      case StepKind::clamp:
        x = x < a ? a : x > b ? b : x;
        break;
      case StepKind::scale:
        x = x * a + b;
        break;
      case StepKind::scale_channel:
        x = x * y[0] + y[1];
        break;
      case StepKind::mul_channel:
        x = x * y[0];
        break;
      case StepKind::add_channel:
      case StepKind::add:
        x = x + y[0];
        break;
      case StepKind::requantize:
        x = requantized(nest, x, a, b);
        break;
    }
    y += info(step.kind).operands.size();
  }
  return x;
}

// What rounds in the type that the steps compute in.
struct Rounding {
  double eps, least, most;
};

// The bound of x * a: the value's own distance, and each product's rounding.
ErrorBound times(const ErrorBound& x, double a, const Rounding& type) {
  const double size = std::abs(a) * (std::abs(x.value) + x.error);
  return {x.value * a, std::abs(a) * x.error + type.eps * size + type.least};
}

ErrorBound plus(const ErrorBound& x, double b, const Rounding& type) {
  const double sum = x.value + b;
  return {sum, x.error + type.eps * (std::abs(sum) + x.error)};
}

template <typename Out>
ErrorBound as_integer(const ErrorBound& x) {
  return {static_cast<double>(converted<Out>(x.value)), x.error + 1};
}

ErrorBound one_step(const PoolNest& nest, const EpilogueStep& step, const ErrorBound& x, const double* y,
                    const Rounding& type) {
  const auto [a, b] = step.numbers;
  switch (step.kind) {
    case StepKind::relu:
      return {std::max(x.value, 0.0), x.error};
    case StepKind::clamp:
      return {std::clamp(x.value, a, b), x.error};
    case StepKind::scale:
      return plus(times(x, a, type), b, type);
    case StepKind::scale_channel:
      return plus(times(x, y[0], type), y[1], type);
    case StepKind::mul_channel:
      return times(x, y[0], type);
    case StepKind::add_channel:
    case StepKind::add:
      return plus(x, y[0], type);
    case StepKind::requantize: {
      // The scale is rounded to the type too.
      ErrorBound quotient = times(x, 1 / a, type);
      quotient.error += type.eps * std::abs(quotient.value);
      const ErrorBound shifted = plus(quotient, b, type);
      // At the end the store rounds, and so does who judges by the bound.
      if (&step == &nest.epilogue.back()) return shifted;
      return with_element_type(nest.output.dtype, [&]<typename Out>(Out) {
        if constexpr (is_float_type<Out>)
          return shifted;
        else
          return as_integer<Out>(shifted);
      });
    }
  }
  return x;
}

}  // namespace

float through_steps(const PoolNest& nest, float x, const OperandValues<float>& operands) {
  return all_steps(nest, x, operands);
}

double through_steps(const PoolNest& nest, double x, const OperandValues<double>& operands) {
  return all_steps(nest, x, operands);
}

ErrorBound through_steps(const PoolNest& nest, const ErrorBound& bound,
                         const OperandValues<double>& operands) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (bound.error == 0) return bound;  // the steps are exact about bits that are the same
  using Narrow = std::numeric_limits<float>;
  using Long = std::numeric_limits<double>;
  const Rounding type = nest.result_dtype() == DType::f64
                            ? Rounding{Long::epsilon(), Long::denorm_min(), Long::max()}
                            : Rounding{Narrow::epsilon(), Narrow::denorm_min(), Narrow::max()};
  ErrorBound x = bound;
  const double* y = operands.data();
  for (const EpilogueStep& step : nest.epilogue) {
    x = one_step(nest, step, x, y, type);
    y += info(step.kind).operands.size();
    // What may overflow, or has met an infinity, may come out as anything.
    if (!(std::abs(x.value) + x.error < type.most)) return {x.value, infinity};
  }
  return x;
}

}  // namespace pooljit::ir
