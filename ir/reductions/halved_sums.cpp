#include "ir/reductions/halved_sums.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "ir/reductions/halves.h"
#include "ir/reductions/short_average.h"

namespace pooljit::ir {
namespace {

// Sums of twice the width, which the ordinary reducer adds and ends.
class WideSums : public Reducer {
 public:
  WideSums(const PoolNest& nest, Builder& builder, const ReductionFacts& facts,
           std::unique_ptr<Reducer> ordinary)
      : Reducer(facts),
        nest_(nest),
        b_(builder),
        input_(nest.input.dtype),
        sum_(halves_dtype(input_)),
        ordinary_(std::move(ordinary)) {}

  // Vector by vector, as the digits of a wide sum are added.
  State combine(const State& a, const State& b) override { return ordinary_->combine(a, b); }

 protected:
  // Of a sum that is one vector.
  Value finish_one(Value sum, const Divisor& divisor) {
    return ordinary_->finish({is_float(sum_) ? sum : b_.cvt(DType::i32, sum)}, divisor);
  }

  // The results' bits in unsigned lanes as wide as the sum's.
  struct Ended {
    Value bits;
    bool has_zeros_above;
  };
  Ended ended_lanes(Value sum, const Divisor& divisor) {
    if (is_float(sum_)) return {ended_bits(sum, divisor), true};
    if (const Value average = short_average(nest_, b_, sum, divisor); average != no_value)
      return {b_.bitcast(Type::vec(DType::u16, b_.type(sum).lanes), average), false};
    const Halves wide = widened_halves(b_, sum);
    const Halves ended{ended_bits(as_i32(wide.even), every_other(divisor, 0)),
                       ended_bits(as_i32(wide.odd), every_other(divisor, 1))};
    return {interleaved(b_, DType::u16, ended), true};
  }

  Value with_zeros_above(const Ended& ended) {
    if (ended.has_zeros_above) return ended.bits;
    return b_.binary(Op::and_, ended.bits, b_.vconst_splat(b_.type(ended.bits), 0xff));
  }

  static Divisor every_other(const Divisor& divisor, size_t first) {
    Divisor half{divisor.rows, {}};
    for (size_t lane = first; lane < divisor.lane_taps.size(); lane += 2)
      half.lane_taps.push_back(divisor.lane_taps[lane]);
    return half;
  }

  const PoolNest& nest_;
  Builder& b_;
  const DType input_, sum_;
  const std::unique_ptr<Reducer> ordinary_;

 private:
  Value as_i32(Value sum) { return b_.bitcast(Type::vec(DType::i32, b_.type(sum).lanes), sum); }

  Value ended_bits(Value sum, const Divisor& divisor) {
    const Value result = ordinary_->finish({sum}, divisor);
    return b_.cvt(DType::u32, b_.bitcast(Type::vec(unsigned_of(input_), b_.type(result).lanes), result));
  }
};

class HalvedSums final : public WideSums {
 public:
  using WideSums::WideSums;

  State start(const std::vector<int64_t>& first_tap) override {
    const bool halved = has_halves(first_tap.size());
    const Type type = Type::vec(sum_, static_cast<int>(first_tap.size() / (halved ? 2 : 1)));
    return State(halved ? 2 : 1, b_.vconst_splat(type, 0));
  }

  State accumulate(const State& state, Value x, const TapOffset&) override {
    if (!has_halves(static_cast<size_t>(b_.type(x).lanes))) return combine(state, {b_.cvt(sum_, x)});
    const Halves halves = widened_halves(b_, x);
    return combine(state, {halves.even, halves.odd});
  }

  State held(const State& state, bool) override { return state; }
  State from_held(const State& held, bool) override { return held; }

  Value finish(const State& state, const Divisor& divisor) override {
    if (state.size() == 1) return finish_one(state[0], divisor);
    const Halves ended{with_zeros_above(ended_lanes(state[0], every_other(divisor, 0))),
                       ended_lanes(state[1], every_other(divisor, 1)).bits};
    const Value bits = interleaved(b_, unsigned_of(input_), ended);
    return b_.bitcast(Type::vec(input_, b_.type(bits).lanes), bits);
  }

 private:
  // Sums of bytes are halved once more at the end.
  bool has_halves(size_t lanes) const { return lanes >= (is_float(sum_) ? 2 : 4); }
};

class WidenedSums final : public WideSums {
 public:
  using WideSums::WideSums;

  State start(const std::vector<int64_t>& first_tap) override {
    return {b_.vconst_splat(Type::vec(sum_, static_cast<int>(first_tap.size())), 0)};
  }

  State accumulate(const State& state, Value x, const TapOffset&) override {
    return combine(state, {b_.cvt(sum_, x)});
  }

  Value finish(const State& state, const Divisor& divisor) override {
    if (b_.type(state[0]).lanes % 2 != 0) return finish_one(state[0], divisor);
    return b_.cvt(input_, ended_lanes(state[0], divisor).bits);
  }
};

class PairedSums final : public WideSums {
 public:
  using WideSums::WideSums;

  State start(const std::vector<int64_t>& first_tap) override {
    const auto lanes = static_cast<int>(first_tap.size());
    return {b_.vconst_splat(Type::vec(sum_, lanes > 1 ? lanes / 2 : 1), 0)};
  }

  State accumulate(const State& state, Value x, const TapOffset&) override {
    if (b_.type(x).lanes == 1) return combine(state, {b_.cvt(sum_, x)});
    const Halves halves = widened_halves(b_, x);
    return combine(state, combine({halves.even}, {halves.odd}));
  }

  Value finish(const State& state, const Divisor& divisor) override { return finish_one(state[0], divisor); }
};

// Both are sums of lanes of their input's width.
ReductionFacts wide_facts(const PoolNest& nest, const ReductionFacts& ordinary) {
  ReductionFacts facts{.identity = ordinary.identity, .is_split = ordinary.is_split, .any_order = true};
  facts.working_bytes = facts.held_bytes = bytes(nest.input.dtype);
  facts.extra_registers = ordinary.extra_registers;
  return facts;
}

// Those of all windows, each once, but for windows that ceil_mode lets reach beyond the padding. Of forward
// dimensions.
std::vector<int64_t> divisors(const PoolNest& nest) {
  const auto has_border = [](const NestDim& dim) { return dim.pad_begin > 0 || dim.pad_end > 0; };
  if (nest.count_include_pad || std::ranges::none_of(nest.dims, has_border)) return {nest.full_taps()};
  std::vector<int64_t> products = {1};
  for (const NestDim& dim : nest.dims) {
    std::set<int64_t> found;
    for (const Run& run : runs(dim))
      for (const int64_t product : products) found.insert(product * divisor(nest, {run.window}));
    products.assign(found.begin(), found.end());
  }
  return products;
}

// Of columns that lie next to each other; several of them fill a vector.
bool are_short_rows(const PoolNest& nest) {
  constexpr int64_t two_vectors = 32;
  const NestDim& row = nest.dims.back();
  return row.kind == DimKind::pool && nest.input.strides.back() == 1 && row.output < two_vectors;
}

bool divides_by_one_product(const std::vector<int64_t>& taps) {
  return taps.size() == 1 && (taps[0] % 2 != 0 || std::has_single_bit(static_cast<uint64_t>(taps[0])));
}

}  // namespace

bool can_halve_sums(const PoolNest& nest) {
  const DType input = nest.input.dtype;
  if (!nest.is_sum() || nest.direction != Direction::forward || nest.indices || nest.quantization ||
      !nest.epilogue.empty() || nest.output.dtype != input)
    return false;
  const int64_t taps = nest.full_taps();
  return input == DType::bf16 || (input == DType::u8 && taps * 255 < int64_t{1} << 16) ||
         (input == DType::i8 && taps * 128 < int64_t{1} << 15);
}

bool can_widen_sums(const PoolNest& nest, Isa isa) {
  const NestDim& row = nest.dims.back();
  const bool is_strided = row.stride != row.pixel;
  const bool shuffles_in_halves = info(isa).shuffles == Shuffles::halves;
  // Of longer windows that move by several columns, the moves cost more than short lanes save: 572 random
  // layers in turns.
  const int64_t most_strided_columns = shuffles_in_halves ? 3 : 8;
  if (!can_halve_sums(nest) || is_float(nest.input.dtype) || !row.is_forward()) return false;
  if (is_strided && row.kernel > most_strided_columns) return false;
  const std::vector<int64_t> taps = divisors(nest);
  if (is_strided && shuffles_in_halves && are_short_rows(nest) && !divides_by_one_product(taps)) return false;
  return divides_in_short_lanes(nest, taps);
}

ReductionFacts halved_sums_facts(const PoolNest& nest, const ReductionFacts& ordinary) {
  const DType sum = halves_dtype(nest.input.dtype);
  ReductionFacts facts = wide_facts(nest, ordinary);
  facts.extra_registers += is_float(sum) ? 0 : 4;
  facts.state_vectors = facts.held_vectors = 2;
  facts.held_bytes = bytes(sum);
  return facts;
}

ReductionFacts widened_sums_facts(const PoolNest& nest, const ReductionFacts& ordinary) {
  ReductionFacts facts = wide_facts(nest, ordinary);
  facts.extra_registers += 1;
  facts.working_bytes = facts.held_bytes = bytes(halves_dtype(nest.input.dtype));
  return facts;
}

ReductionFacts paired_sums_facts(const PoolNest& nest, const ReductionFacts& ordinary) {
  ReductionFacts facts = wide_facts(nest, ordinary);
  facts.extra_registers += 1;
  return facts;
}

std::unique_ptr<Reducer> make_halved_sums(const PoolNest& nest, Builder& builder, const ReductionFacts& facts,
                                          std::unique_ptr<Reducer> ordinary) {
  return std::make_unique<HalvedSums>(nest, builder, facts, std::move(ordinary));
}

std::unique_ptr<Reducer> make_widened_sums(const PoolNest& nest, Builder& builder,
                                           const ReductionFacts& facts, std::unique_ptr<Reducer> ordinary) {
  return std::make_unique<WidenedSums>(nest, builder, facts, std::move(ordinary));
}

std::unique_ptr<Reducer> make_paired_sums(const PoolNest& nest, Builder& builder, const ReductionFacts& facts,
                                          std::unique_ptr<Reducer> ordinary) {
  return std::make_unique<PairedSums>(nest, builder, facts, std::move(ordinary));
}

}  // namespace pooljit::ir
