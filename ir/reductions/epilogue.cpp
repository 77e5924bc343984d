#include "ir/reductions/epilogue.h"

#include <algorithm>

#include "ir/reductions/stored.h"

namespace pooljit::ir {
namespace {

class Steps {
 public:
  Steps(Builder& builder, const PoolNest& nest, Type type, const LoadOperand& load)
      : b_(builder), nest_(nest), type_(type), load_(load) {}

  Value apply(const EpilogueStep& step, Value x) {
    for (const StepPart& part : info(step.kind).parts) {
      // At the end the store makes the integer.
      if (part.kind == PartKind::store && &step == &nest_.epilogue.back()) continue;
      x = apply(part.kind, x, info(part.kind).takes_argument ? argument(step, part) : Value{});
    }
    first_operand_ += info(step.kind).operands.size();
    return x;
  }

 private:
  Value apply(PartKind kind, Value x, Value a) {
    switch (kind) {
      case PartKind::rectify: {
        const Value zero = number(0);
        return b_.select(b_.cmp(Predicate::le, x, zero), zero, x);
      }
      // The second operand stands where they are equal or one is NaN.
      case PartKind::at_least:
        return b_.binary(Op::max, a, x);
      case PartKind::at_most:
        return b_.binary(Op::min, a, x);
      case PartKind::multiply:
        return b_.binary(Op::mul, x, a);
      case PartKind::add:
        return b_.binary(Op::add, x, a);
      case PartKind::divide:
        return b_.binary(Op::div, x, a);
      case PartKind::store:
        return stored(b_, type_.dtype, stored(b_, nest_.output.dtype, x, nest_.rounding));
    }
    return x;
  }

  Value argument(const EpilogueStep& step, const StepPart& part) {
    if (info(step.kind).numbers > 0) return number(step.numbers[part.argument]);
    return stored(b_, type_.dtype, load_(first_operand_ + part.argument));
  }

  Value number(double value) { return b_.vconst_splat(type_, float_bits(type_.dtype, value)); }

  Builder& b_;
  const PoolNest& nest_;
  const Type type_;
  const LoadOperand& load_;
  size_t first_operand_ = 0;  // of the step
};

}  // namespace

Value through_epilogue(Builder& builder, const PoolNest& nest, Value result, const LoadOperand& load) {
  if (nest.epilogue.empty()) return result;
  Steps steps(builder, nest, builder.type(result), load);
  for (const EpilogueStep& step : nest.epilogue) result = steps.apply(step, result);
  return stored(builder, nest.output.dtype, result, nest.rounding);
}

int epilogue_bytes(const PoolNest& nest) {
  if (nest.epilogue.empty()) return 0;
  int widest = bytes_to_store(nest.output.dtype, nest.result_dtype());
  for (const View& view : operand_views(nest))
    widest = std::max(widest, bytes_to_store(nest.result_dtype(), view.dtype));
  return widest;
}

// An operand or a constant, a mask, and what conversions to integers hold.
int epilogue_registers(const PoolNest& nest) { return nest.epilogue.empty() ? 0 : 4; }

}  // namespace pooljit::ir
