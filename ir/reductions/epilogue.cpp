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
    switch (step.kind) {
      case StepKind::relu: {
        const Value zero = number(0);
        return b_.select(b_.cmp(Predicate::le, x, zero), zero, x);
      }
      case StepKind::clamp: {
        // The second operand stands where they are equal or one is NaN.
        const Value low = b_.binary(Op::max, number(step.numbers[0]), x);
        return b_.binary(Op::min, number(step.numbers[1]), low);
      }
      case StepKind::scale: {
        const Value scaled = b_.binary(Op::mul, x, number(step.numbers[0]));
        return b_.binary(Op::add, scaled, number(step.numbers[1]));
      }
      case StepKind::scale_channel: {
        const Value scaled = b_.binary(Op::mul, x, operand());
        return b_.binary(Op::add, scaled, operand());
      }
      case StepKind::mul_channel:
        return b_.binary(Op::mul, x, operand());
      case StepKind::add_channel:
      case StepKind::add:
        return b_.binary(Op::add, x, operand());
      case StepKind::requantize: {
        const Value quotient = b_.binary(Op::div, x, number(step.numbers[0]));
        const Value shifted = b_.binary(Op::add, quotient, number(step.numbers[1]));
        // What follows computes with the integer; at the end the store makes it.
        return &step == &nest_.epilogue.back()
                   ? shifted
                   : stored(b_, type_.dtype, stored(b_, nest_.output.dtype, shifted, nest_.rounding));
      }
    }
    return x;
  }

 private:
  Value number(double value) { return b_.vconst_splat(type_, float_bits(type_.dtype, value)); }
  Value operand() { return stored(b_, type_.dtype, load_(next_operand_++)); }

  Builder& b_;
  const PoolNest& nest_;
  const Type type_;
  const LoadOperand& load_;
  size_t next_operand_ = 0;
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
