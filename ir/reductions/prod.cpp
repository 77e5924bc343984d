// Product. Floats are multiplied where an average would add them, halves in float32. Integers are multiplied
// modulo 2^n, in lanes that have the bits that are kept: so no order of the taps shows.
#include <algorithm>

#include "ir/reductions/neutral.h"
#include "ir/reductions/reducer.h"

namespace pooljit::ir {
namespace {

// Of integers no less than 16 bits, which each instruction set multiplies.
DType product_dtype(const PoolNest& nest) {
  if (is_float(nest.input.dtype)) return nest.input.dtype == DType::f64 ? DType::f64 : DType::f32;
  const int bits = product_bits(nest);
  return bits <= 16 ? DType::i16 : bits == 32 ? DType::i32 : DType::i64;
}

class ProdReducer final : public Reducer {
 public:
  ProdReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts)
      : Reducer(facts), b_(builder), nest_(nest), product_(product_dtype(nest)) {}

  State start(const std::vector<int64_t>& first_tap) override {
    return {b_.vconst_splat(Type::vec(product_, static_cast<int>(first_tap.size())),
                            neutral_bits(nest_, product_))};
  }

  State accumulate(const State& state, Value loaded, const TapOffset&) override {
    return combine(state, {b_.cvt(product_, loaded)});
  }

  State combine(const State& a, const State& b) override {
    if (a.empty()) return b;
    return {b_.binary(Op::mul, a[0], b[0])};
  }

  Value finish(const State& state, const Divisor&) override {
    const DType result = nest_.result_dtype();
    const bool keeps_bits = !is_float(product_) && !is_float(result);
    return keeps_bits ? b_.cvt(result, state[0]) : stored(b_, result, state[0]);
  }

 private:
  Builder& b_;
  const PoolNest& nest_;
  const DType product_;
};

}  // namespace

Result<ReductionFacts> prod_facts(const PoolNest& nest, Isa) {
  // Where 64 bits are multiplied by parts; and what a tap is widened in.
  constexpr int registers_of_parts = 8, registers_of_wide = 2;
  constexpr int64_t length_of_parts = 3;
  const DType product = product_dtype(nest);
  ReductionFacts facts{.is_split = is_float(product), .any_order = true};
  facts.working_bytes = std::max(bytes(nest.input.dtype), bytes_to_store(nest.result_dtype(), product));
  facts.held_bytes = bytes(product);
  facts.identity = lane_bits(nest.input.dtype, neutral_bits(nest, nest.input.dtype));
  if (bytes(product) > bytes(nest.input.dtype)) facts.extra_registers = registers_of_wide;
  if (product == DType::i64) facts.extra_registers = registers_of_parts, facts.tap_length = length_of_parts;
  return facts;
}

std::unique_ptr<Reducer> make_prod_reducer(const PoolNest& nest, Builder& builder,
                                           const ReductionFacts& facts) {
  return std::make_unique<ProdReducer>(nest, builder, facts);
}

}  // namespace pooljit::ir
