#include "ir/schedules/lowering/roll_any_size.h"

#include "ir/reductions/neutral.h"

namespace pooljit::ir {
namespace {

// Positions that a loop goes over, so many in an iteration.
class Places {
 public:
  // The factor of the step is computed here, before the loop.
  Places(Builder& builder, Address first, const Step& step, int64_t iteration)
      : b_(builder), first_(std::move(first)), step_(step), iteration_(iteration) {
    if (step.word == no_value) return;
    for (int64_t place = 1; place <= iteration; ++place)
      multiples_.push_back(b_.imul(step.word, b_.iconst(place)));
  }

  Address at(Value iv, int64_t place) {
    if (step_.word == no_value)
      return plus(plus(first_, iv, iteration_ * step_.constant), place * step_.constant);
    if (iv != iv_) iv_ = iv, here_ = {b_.ptradd(first_, b_.imul(iv, multiples_.back())), {}, 0};
    if (place == 0) return here_;
    return Address{b_.ptradd(here_, multiples_[static_cast<size_t>(place - 1)]), {}, 0};
  }

 private:
  Builder& b_;
  Address first_, here_;
  Step step_;
  int64_t iteration_;
  std::vector<Value> multiples_;
  Value iv_ = no_value;
};

}  // namespace

DimOfSize read_dim(Lowering& low, size_t dim) {
  const auto read = [&](SizeLayout::DimField field) { return low.word(low.layout().of_dim(dim, field)); };
  DimOfSize size = {};
  size.first = read(SizeLayout::first);
  size.visible = read(SizeLayout::visible);
  size.padded = read(SizeLayout::padded);
  size.outputs = read(SizeLayout::outputs);
  size.seen_begin = read(SizeLayout::seen_begin);
  size.seen_end = read(SizeLayout::seen_end);
  size.roll_begin = read(SizeLayout::roll_begin);
  size.roll_pairs = read(SizeLayout::roll_pairs);
  return size;
}

Value reaches(Builder& b, Value iv, Value count) {
  const Value one = b.iconst(1);
  const Value beyond = b.iadd(b.iadd(iv, one), b.imul(count, b.iconst(-1)));
  return b.imin(b.imax(beyond, b.iconst(0)), one);
}

Value skipping(Builder& b, Value iv, Value count, Value more) {
  return b.iadd(iv, b.imul(more, reaches(b, iv, count)));
}

Value divisor_taps_at(Builder& b, const PoolNest& nest, const NestDim& dim, const DimOfSize& size,
                      Value first) {
  if (!nest.divides_by_taps()) return b.iconst(1);
  const Value end = b.iadd(first, b.iconst(dim.kernel));
  const Value to = b.imin(end, nest.count_include_pad ? size.padded : size.visible);
  const Value from = nest.count_include_pad ? first : b.imax(first, b.iconst(0));
  return b.imax(b.isub(to, from), b.iconst(1));
}

void RollAnySize::emit(Cursor cursor, const Steps& steps) {
  cursor.windows.push_back(low_.usual_window(dim_));
  store_empty(cursor, steps);
  const Value behind =
      b_.iadd(size_.roll_begin, b_.imul(size_.roll_pairs, b_.iconst(RollingOutputs::outputs_per_iteration)));
  const Stage before = one_by_one(cursor, steps, size_.seen_begin, size_.roll_begin);
  const NestDim dim = RollingOutputs::iteration_of(nest_.dims[dim_], RollingOutputs::outputs_per_iteration);
  RollingOutputs(dim, b_, facts_, steps.join)
      .emit_stages(steps.nothing, before.load,
                   {before, pairs(cursor, steps), one_by_one(cursor, steps, behind, size_.seen_end)});
}

RollingOutputs::Stage RollAnySize::one_by_one(const Cursor& cursor, const Steps& steps, Value begin,
                                              Value end) {
  const Value first = b_.iadd(size_.first, b_.imul(begin, b_.iconst(nest_.dims[dim_].stride)));
  Cursor base = cursor;
  low_.for_each_output(
      base, [&](Address& address, const View& view) { low_.move(address, begin, low_.step(view, dim_)); });
  const auto load = [this, cursor, first, &steps](const Position& position) {
    return load_looked_at(cursor, first, position, steps);
  };
  const auto store = [this, base, first, &steps](const Position& position, const Bundle& windows) {
    const Value output = position.steps[0].iv;
    Cursor at = base;
    low_.for_each_output(
        at, [&](Address& address, const View& view) { low_.move(address, output, low_.step(view, dim_)); });
    const NestDim& dim = nest_.dims[dim_];
    at.windows.back().divisor_taps =
        divisor_taps_at(b_, nest_, dim, size_, b_.iadd(first, b_.imul(output, b_.iconst(dim.stride))));
    steps.store(at, windows);
  };
  return {b_.isub(end, begin), 1, load, store};
}

// Whole windows, or what is new in them.
RollingOutputs::Stage RollAnySize::pairs(const Cursor& cursor, const Steps& steps) {
  const NestDim& dim = nest_.dims[dim_];
  const int64_t newest = dim.kernel - dim.stride;
  const Value first = b_.iadd(size_.first, b_.imul(size_.roll_begin, b_.iconst(dim.stride)));
  Cursor middle = cursor;
  low_.move(middle.input, b_.iadd(first, b_.iconst(newest)), low_.step(nest_.input, dim_));
  Places input(b_, middle.input, low_.step(nest_.input, dim_),
               RollingOutputs::outputs_per_iteration * dim.stride);
  std::vector<Places> outputs;
  low_.for_each_output(middle, [&](Address& address, const View& view) {
    low_.move(address, size_.roll_begin, low_.step(view, dim_));
    outputs.emplace_back(b_, address, low_.step(view, dim_), RollingOutputs::outputs_per_iteration);
  });
  const auto load = [middle, input, newest, &steps](const Position& position) mutable {
    Cursor at = middle;
    at.input = input.at(position.steps[0].iv, position.first - newest);
    return steps.load(at);
  };
  const auto store = [this, middle, outputs, &steps](const Position& position,
                                                     const Bundle& windows) mutable {
    Cursor at = middle;
    auto place = outputs.begin();
    low_.for_each_output(at, [&](Address& address, const View&) {
      address = place++->at(position.steps[0].iv, position.first);
    });
    steps.store(at, windows);
  };
  return {size_.roll_pairs, RollingOutputs::outputs_per_iteration, load, store};
}

// A position outside the image is, for a maximum, as good as the nearest inside, which the window has too; to
// a sum or a product it adds nothing, not even to the sign of a zero.
Bundle RollAnySize::load_looked_at(const Cursor& cursor, Value first, const Position& position,
                                   const Steps& steps) {
  const Value place = b_.iadd(first, as_index(b_, position));
  const Value last = b_.iadd(size_.visible, b_.iconst(-1));
  Cursor at = cursor;
  low_.move(at.input, b_.imin(b_.imax(place, b_.iconst(0)), last), low_.step(nest_.input, dim_));
  Bundle found = steps.load(at);
  if (!facts_.is_idempotent)
    for (Value& sum : found) sum = where_seen(place, sum);
  return found;
}

// Of a position outside the image, what changes nothing.
Value RollAnySize::where_seen(Value position, Value sum) {
  const Type type = b_.type(sum), number = Type::vec(signed_of(type.dtype), type.lanes);
  const Value one = b_.iconst(1);
  const Value left = b_.isub(size_.visible, position);
  const Value inside_by = b_.imin(b_.iadd(position, one), left);
  const Value is_seen = b_.imax(b_.imin(inside_by, one), b_.iconst(0));
  const Value mask = b_.cmp(Predicate::gt, b_.splat(number, is_seen), b_.vconst_splat(number, 0));
  return b_.select(mask, sum, b_.vconst_splat(type, neutral_bits(nest_, type.dtype)));
}

// Outputs whose windows have no tap along the dimension.
void RollAnySize::store_empty(const Cursor& cursor, const Steps& steps) {
  const Value seen = b_.isub(size_.seen_end, size_.seen_begin);
  const Value output = skipping(b_, b_.begin_loop(b_.isub(size_.outputs, seen)).iv, size_.seen_begin, seen);
  Cursor at = cursor;
  low_.for_each_output(
      at, [&](Address& address, const View& view) { low_.move(address, output, low_.step(view, dim_)); });
  steps.store(at, steps.nothing);
  b_.end_loop();
}

}  // namespace pooljit::ir
