#include "ir/reference_epilogue.h"

namespace pooljit::ir {

namespace {

// Argument of a part of the step whose operands begin at y.
template <typename T>
T argument_of(const EpilogueStep& step, const StepPart& part, const T* y) {
  if (!info(part.kind).takes_argument) return 0;
  return info(step.kind).numbers > 0 ? static_cast<T>(step.numbers[part.argument]) : y[part.argument];
}

template <typename T>
T through_part(const PoolNest& nest, PartKind kind, T x, T a) {
  switch (kind) {
    case PartKind::rectify:
      return x <= 0 ? 0 : x;
    case PartKind::at_least:
      return x < a ? a : x;
    case PartKind::at_most:
      return x > a ? a : x;
    case PartKind::multiply:
      return x * a;
    case PartKind::add:
      return x + a;
    case PartKind::divide:
      return x / a;
    case PartKind::store:
      return with_element_type(nest.output.dtype, [&]<typename Out>(Out) {
        return static_cast<T>(converted<Out>(x, nest.rounding));
      });
  }
  return x;
}

template <typename T>
T all_steps(const PoolNest& nest, T x, const OperandValues<T>& operands) {
  const T* y = operands.data();
  for (const EpilogueStep& step : nest.epilogue) {
    for (const StepPart& part : info(step.kind).parts)
      x = through_part(nest, part.kind, x, argument_of(step, part, y));
    y += info(step.kind).operands.size();
  }
  return x;
}

// Steps that round in the type that they compute in.
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

// The argument is rounded to the type too.
ErrorBound divided(const ErrorBound& x, double a, const Rounding& type) {
  ErrorBound quotient = times(x, 1 / a, type);
  quotient.error += type.eps * std::abs(quotient.value);
  return quotient;
}

ErrorBound through_part(const PoolNest& nest, PartKind kind, const ErrorBound& x, double a,
                        const Rounding& type) {
  switch (kind) {
    case PartKind::rectify:
      return {std::max(x.value, 0.0), x.error};
    case PartKind::at_least:
      return {std::max(x.value, a), x.error};
    case PartKind::at_most:
      return {std::min(x.value, a), x.error};
    case PartKind::multiply:
      return times(x, a, type);
    case PartKind::add:
      return plus(x, a, type);
    case PartKind::divide:
      return divided(x, a, type);
    case PartKind::store:
      return with_element_type(nest.output.dtype, [&]<typename Out>(Out) {
        if constexpr (is_float_type<Out>)
          return x;
        else
          return as_integer<Out>(x);
      });
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
    for (const StepPart& part : info(step.kind).parts) {
      // At the end the store rounds, and so does who judges by the bound.
      if (part.kind == PartKind::store && &step == &nest.epilogue.back()) continue;
      x = through_part(nest, part.kind, x, argument_of(step, part, y), type);
    }
    y += info(step.kind).operands.size();
    // A value that may overflow, or has met an infinity, may come out as anything.
    if (!(std::abs(x.value) + x.error < type.most)) return {x.value, infinity};
  }
  return x;
}

}  // namespace pooljit::ir
