// Backward: each position of the forward's input sums the gradients of the windows that it belongs to. Those
// of an average are divided by their window's divisor before, those of a maximum count where the window chose
// this position. Narrow floats are summed in float32, in one fixed order.
#include <algorithm>
#include <bit>

#include "ir/reductions/reducer.h"

namespace pooljit::ir {
namespace {

DType sum_dtype(const PoolNest& nest) { return bytes(nest.input.dtype) == 8 ? DType::f64 : DType::f32; }

class GradientReducer final : public Reducer {
 public:
  GradientReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts)
      : Reducer(facts), b_(builder), nest_(nest), sum_(sum_dtype(nest)) {}

  State start(const std::vector<int64_t>& first_tap) override {
    return {b_.vconst_splat(Type::vec(sum_, static_cast<int>(first_tap.size())), 0)};
  }

  State accumulate(const State& state, Value loaded, const TapOffset& tap) override {
    Value gradient = b_.cvt(sum_, loaded);
    if (tap.chosen != no_value)
      gradient = b_.select(tap.chosen, gradient, b_.vconst_splat(b_.type(gradient), 0));
    if (tap.divisor.rows != no_value) gradient = divided(gradient, tap.divisor);
    return combine(state, {gradient});
  }

  State combine(const State& a, const State& b) override {
    if (a.empty()) return b;
    return {b_.binary(Op::add, a[0], b[0])};
  }

  Value finish(const State& state, const Divisor&) override { return b_.cvt(nest_.output.dtype, state[0]); }

 private:
  Value divided(Value gradient, const Divisor& divisor) {
    const Type type = b_.type(gradient);
    const auto is_one = [](int64_t count) { return count == 1; };
    const bool alike = std::all_of(divisor.lane_taps.begin(), divisor.lane_taps.end(), is_one);
    if (const std::optional<int64_t> rows = b_.constant(divisor.rows)) {
      if (alike && *rows == 1) return gradient;
      return b_.binary(Op::div, gradient, counts(type, divisor.lane_taps, *rows));
    }
    const DType integer = facts().offset_dtype;
    Value count = b_.cvt(sum_, b_.splat(Type::vec(integer, type.lanes), divisor.rows));
    if (!alike) count = b_.binary(Op::mul, count, counts(type, divisor.lane_taps, 1));
    return b_.binary(Op::div, gradient, count);
  }

  Value counts(Type type, const std::vector<int64_t>& lanes, int64_t factor) {
    std::vector<int64_t> bits;
    for (int64_t lane : lanes) {
      const auto count = static_cast<double>(lane * factor);
      bits.push_back(sum_ == DType::f64 ? std::bit_cast<int64_t>(count)
                                        : std::bit_cast<uint32_t>(static_cast<float>(count)));
    }
    return b_.vconst(type, std::move(bits));
  }

  Builder& b_;
  const PoolNest& nest_;
  const DType sum_;
};

// Indices are compared in lanes as wide as the sums.
bool fits_lanes(const PoolNest& nest) {
  if (!nest.indices || bytes(nest.input.dtype) == 8) return true;
  int64_t most = index_reach(nest);
  if (nest.index_scope == IndexScope::window) return most <= INT32_MAX;
  const IndexRule rule = index_rule(nest);
  most = rule.channel * (nest.channels - 1);
  for (size_t i = 0; i < nest.dims.size(); ++i) most += rule.dims[i] * (nest.dims[i].output - 1);
  return rule.batch == 0 && most <= INT32_MAX;
}

}  // namespace

Result<ReductionFacts> gradient_facts(const PoolNest& nest) {
  if (!is_float(nest.input.dtype))
    return unsupported("schedule.gradient_dtype", "gradients are floats", "use float32");
  const auto is_adaptive = [](const NestDim& dim) { return dim.kind == DimKind::adaptive; };
  if (nest.indices && nest.index_scope == IndexScope::window &&
      std::any_of(nest.dims.begin(), nest.dims.end(), is_adaptive))
    return unsupported("schedule.index_scope", "adaptive windows have no numbers of taps to go back from",
                       "use index_scope=plane");
  if (!fits_lanes(nest))
    return unsupported("schedule.index_range", "indices beyond 2^31 cannot be compared in lanes of 32 bits",
                       "use float64, or index_scope=window");
  ReductionFacts facts{.is_split = true};
  facts.working_bytes = facts.held_bytes = bytes(sum_dtype(nest));
  // An index beside the tap, a zero and a mask; or divisors, and parts of long windows.
  facts.extra_registers = nest.indices ? 4 : 8;
  facts.offset_dtype = bytes(sum_dtype(nest)) == 8 ? DType::i64 : DType::i32;
  // A tap is asked whether it was chosen, or divided by its own count.
  const bool is_plain = !nest.indices && !nest.divides();
  facts.tap_length = is_plain ? 1 : nest.indices && is_half(nest.input.dtype) ? 3 : 2;
  // Whether a window chose an output is known per output and tap, so its taps cannot be summed before they
  // are handed out.
  facts.any_order = !nest.indices;
  return facts;
}

std::unique_ptr<Reducer> make_gradient_reducer(const PoolNest& nest, Builder& builder,
                                               const ReductionFacts& facts) {
  return std::make_unique<GradientReducer>(nest, builder, facts);
}

}  // namespace pooljit::ir
