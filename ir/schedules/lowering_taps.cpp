// Lowering: reducing over the taps of a window, in straight-line code or loops.
#include "ir/schedules/lowering.h"

namespace pooljit::ir {

int64_t Lowering::index_step(size_t dim) const {
  const NestDim& along = nest_.dims[dim];
  return rule_.dims[dim] * (rule_.of_window ? along.tap_number_step() : along.tap_step());
}

Lowering::States Lowering::reduce(const Cursor& cursor, size_t dims, const States& fresh, const Leaf& leaf,
                                  int64_t unroll_limit) {
  const Walk walk{cursor, dims, fresh, leaf, unroll_limit};
  return reduce_level(walk, {0, {cursor.input, {}}, States(fresh.size())});
}

Lowering::States Lowering::combine(const States& a, const States& b) {
  States joined;
  for (size_t i = 0; i < a.size(); ++i) joined.push_back(reducer_.combine(a[i], b[i]));
  return joined;
}

Lowering::States Lowering::reduce_level(const Walk& walk, const Level& level) {
  if (level.dim == walk.dims) return walk.leaf(level.states, level.at);
  int64_t straight = 1;  // taps from here inwards, if all are constants
  for (size_t i = level.dim; i < walk.dims; ++i) {
    const int64_t* taps = b_.constant(walk.cursor.windows[i].taps);
    straight = taps && straight <= walk.unroll_limit ? straight * *taps : walk.unroll_limit + 1;
  }
  if (straight <= walk.unroll_limit) return reduce_straight(walk, level);
  const WindowAt& window = walk.cursor.windows[level.dim];
  if (!reducer_.is_split() || !is_long(nest_.dims[level.dim]))
    return reduce_loop(walk, level, window.taps, 0).states;
  Level next = level;
  for (int digit = 0; digit < 3; ++digit)
    next = reduce_loop(walk, std::move(next), window.parts[static_cast<size_t>(digit)], 2 - digit);
  return next.states;
}

Lowering::States Lowering::reduce_straight(const Walk& walk, Level level) {
  const bool started = !level.states[0].empty();
  States before = level.states;
  if (started && reducer_.is_split()) level.states = States(walk.fresh.size());
  const int64_t positions = nest_.dims[level.dim].tap_step();
  const int64_t step = byte_stride(nest_.input, nest_.input.strides[level.dim] * positions);
  const int64_t taps = *b_.constant(walk.cursor.windows[level.dim].taps);
  for (int64_t tap = 0; tap < taps; ++tap) {
    TapAt at = level.at;
    at.input = plus(at.input, tap * step);
    at.offset.constant += tap * index_step(level.dim);
    level.states = reduce_level(walk, {level.dim + 1, at, level.states});
  }
  return started && reducer_.is_split() ? combine(before, level.states) : level.states;
}

Value Lowering::carried_offset(const TapOffset& offset, int lanes) {
  const Value constant = b_.vconst_splat(Type::vec(reducer_.offset_dtype(), lanes), offset.constant);
  if (offset.vec == no_value) return constant;
  return offset.constant == 0 ? offset.vec : b_.binary(Op::add, offset.vec, constant);
}

// Goes over trip * part^depth taps. The pointer and the offset are carried, so that the next loop goes on
// from there.
Lowering::Level Lowering::reduce_loop(const Walk& walk, Level level, Value trip, int depth) {
  if (const int64_t* constant = b_.constant(trip); constant && *constant == 0) return level;
  const int64_t positions = nest_.dims[level.dim].tap_step();
  const bool joins = reducer_.is_split() && !level.states[0].empty();
  const States& begin = level.states[0].empty() || reducer_.is_split() ? walk.fresh : level.states;
  Values init = {b_.ptradd(level.at.input)};
  if (indexed()) init.push_back(carried_offset(level.at.offset, b_.type(walk.fresh[0][0]).lanes));
  const auto first_state = static_cast<std::ptrdiff_t>(init.size());
  const auto append = [&](Values& values, const States& states) {
    for (const State& state : states) {
      const State settled = reducer_.settle(state);
      values.insert(values.end(), settled.begin(), settled.end());
    }
  };
  append(init, begin);

  const auto unpack = [&](const Values& values) {
    Level at = level;
    at.at.input = Address{values[0], {}, 0};
    at.at.offset = TapOffset{indexed() ? values[1] : no_value, 0};
    auto value = values.begin() + first_state;
    for (State& state : at.states) {
      state.assign(value, value + static_cast<std::ptrdiff_t>(walk.fresh[0].size()));
      value += static_cast<std::ptrdiff_t>(walk.fresh[0].size());
    }
    return at;
  };
  const auto pack = [&](const Level& at) {
    Values values = {b_.ptradd(at.at.input)};
    if (indexed()) values.push_back(at.at.offset.vec);
    append(values, at.states);
    return values;
  };

  Level inside = unpack(b_.begin_loop(trip, init).carried);
  if (depth > 0) {
    inside = reduce_loop(walk, std::move(inside), b_.iconst(part), depth - 1);
  } else {
    inside.states = reduce_level(walk, {level.dim + 1, inside.at, inside.states});
    inside.at.input =
        plus(inside.at.input, byte_stride(nest_.input, nest_.input.strides[level.dim] * positions));
    if (indexed())
      inside.at.offset.vec = b_.binary(Op::add, inside.at.offset.vec,
                                       b_.vconst_splat(b_.type(inside.at.offset.vec), index_step(level.dim)));
  }
  Level after = unpack(b_.end_loop(pack(inside)));
  if (joins) after.states = combine(level.states, after.states);
  return after;
}

}  // namespace pooljit::ir
