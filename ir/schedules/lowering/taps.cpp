// Lowering: reducing over the taps of a window, in straight-line code or loops.
#include <algorithm>
#include <optional>

#include "ir/schedules/lowering/lowering.h"
#include "ir/windows.h"

namespace pooljit::ir {

namespace {

// The taps of the usual windows of a dimension; of many that are not alike, which take long to find, `most`.
int64_t usual_taps(const NestDim& dim, int64_t most) {
  constexpr int64_t many_outputs = 4096;
  const Interior whole = dim.kind == DimKind::pool ? interior(dim) : Interior{};
  if (whole.begin < whole.end) return dim.most_taps();
  if (dim.output > many_outputs) return most;
  return std::max<int64_t>(usual_taps(dim, runs(dim)), 1);
}

// taps: of a dimension, those that are constant in the code; more than `most`: it loops.
template <typename Taps>
int64_t copies_of_a_tap(const PoolNest& nest, const ReductionFacts& facts, size_t dims, int64_t unroll_limit,
                        const Taps& taps) {
  constexpr int64_t loops_of_long_sums = 3;
  int64_t copies = 1;
  for (; dims > 0; --dims) {
    const int64_t most = unroll_limit / copies, constant = taps(nest.dims[dims - 1], most);
    if (constant > most) break;
    copies *= constant;
  }
  for (; dims > 0; --dims)
    if (facts.is_split && is_long(nest.dims[dims - 1])) copies *= loops_of_long_sums;
  return copies;
}

bool is_whole(const NestDim& dim) { return dim.kind == DimKind::pool && !has_borders(dim); }

// taps: as in copies_of_a_tap. What a loop carries has registers of its own beside those of several taps in
// its body, and beside a narrow index that is chosen.
template <typename Taps>
int64_t states_of_code(const PoolNest& nest, const ReductionFacts& facts, size_t dims, int64_t unroll_limit,
                       const Taps& taps) {
  int64_t straight = 1, parts = 0;
  bool loops = false;
  const size_t innermost = dims;
  for (; dims > 0; --dims) {
    const NestDim& dim = nest.dims[dims - 1];
    const int64_t most = unroll_limit / straight, constant = taps(dim, most);
    loops = loops || constant > most;
    if (!loops) straight *= constant;
    if (loops || constant > 1 || dims == innermost) ++parts;
    if (nest.has_any_size() && is_long(dim)) parts += 2;
    for (int64_t block = sum_block; is_long(dim) && block < dim.most_taps(); block *= sum_block) ++parts;
  }
  if (facts.is_split) return std::max<int64_t>(parts, 1);
  const bool chooses_narrow = nest.indices && bytes(facts.offset_dtype) < 4;
  return loops && (straight > 1 || chooses_narrow) ? 2 : 1;
}

}  // namespace

int64_t codes_for_windows(const PoolNest& nest, size_t dims) {
  const auto end = nest.dims.begin() + static_cast<std::ptrdiff_t>(dims);
  return std::all_of(nest.dims.begin(), end, is_whole) ? 1 : 2;
}

int64_t taps_in_code(const PoolNest& nest, const ReductionFacts& facts, size_t dims, int64_t unroll_limit,
                     std::optional<int64_t> innermost) {
  const auto is_given = [&](const NestDim& dim) { return innermost && &dim == &nest.dims[dims - 1]; };
  const auto of_usual = [&](const NestDim& dim, int64_t most) {
    return is_given(dim) ? *innermost : usual_taps(dim, most);
  };
  const auto of_others = [&](const NestDim& dim, int64_t most) {
    return is_given(dim) ? *innermost : is_whole(dim) ? dim.most_taps() : most + 1;
  };
  const int64_t usual = copies_of_a_tap(nest, facts, dims, unroll_limit, of_usual);
  if (codes_for_windows(nest, dims) == 1) return usual;
  return usual + copies_of_a_tap(nest, facts, dims, unroll_limit, of_others);
}

int64_t states_at_once(const PoolNest& nest, const ReductionFacts& facts, size_t dims, int64_t unroll_limit) {
  constexpr int64_t many_outputs = 256;
  const auto of_usual = [](const NestDim& dim, int64_t most) { return usual_taps(dim, most); };
  const auto of_others = [](const NestDim& dim, int64_t most) {
    return is_whole(dim) ? dim.most_taps() : most + 1;
  };
  // Windows that are alike have as many taps in the code, although they hang over the image's ends.
  const auto of_alike = [&](const NestDim& dim, int64_t most) {
    const bool are_alike = !is_whole(dim) && dim.output <= many_outputs && runs(dim).size() == 1;
    return are_alike ? dim.most_taps() : of_others(dim, most);
  };
  const int64_t usual = states_of_code(nest, facts, dims, unroll_limit, of_usual);
  if (codes_for_windows(nest, dims) == 1) return usual;
  return std::max({usual, states_of_code(nest, facts, dims, unroll_limit, of_others),
                   states_of_code(nest, facts, dims, unroll_limit, of_alike)});
}

int64_t Lowering::index_step(size_t dim) const {
  const NestDim& along = nest_.dims[dim];
  return rule_.dims[dim] * (rule_.of_window ? along.tap_number_step() : along.tap_step());
}

Lowering::States Lowering::no_taps(size_t vectors, int lanes) const {
  return States(vectors, reducer_.start(std::vector<int64_t>(static_cast<size_t>(lanes), 0)));
}

Lowering::States Lowering::reduce(const Cursor& cursor, size_t dims, const States& fresh, const Leaf& leaf,
                                  int64_t unroll_limit) {
  const Walk walk{cursor, dims, fresh, leaf, unroll_limit, divisor_tables(cursor, dims)};
  TapAt at;
  at.input = cursor.input;
  if (beside_) at.beside = cursor.beside;
  if (divides()) at.divisor = b_.iconst(nest_.divisor_override.value_or(1));
  return reduce_level(walk, {0, at, States(fresh.size())});
}

// The next tap along a dimension.
TapAt Lowering::next_tap(const TapAt& at, size_t dim) const {
  TapAt next = at;
  const auto go_on = [&](Address& address, const Step& step) {
    address =
        step.word == no_value ? plus(address, step.constant) : Address{b_.ptradd(address, step.word), {}, 0};
  };
  go_on(next.input, tap_steps_[dim]);
  if (beside_) go_on(next.beside, beside_tap_steps_[dim]);
  if (next.divisors.base != no_value)
    next.divisors = plus(next.divisors, nest_.dims[dim].tap_step() * table_entry);
  return next;
}

Lowering::States Lowering::combine(const States& a, const States& b) {
  States joined;
  for (size_t i = 0; i < a.size(); ++i) joined.push_back(reducer_.combine(a[i], b[i]));
  return joined;
}

Lowering::States Lowering::reduce_level(const Walk& walk, const Level& entered) {
  if (entered.dim == walk.dims) return walk.leaf(entered.states, entered.at);
  Level level = entered;
  if (divides()) level.at.divisors = walk.divisors[level.dim];
  int64_t straight = 1;  // taps from here inwards, if all are constants
  for (size_t i = level.dim; i < walk.dims; ++i) {
    const std::optional<int64_t> taps = b_.constant(walk.cursor.windows[i].taps);
    straight = taps && straight <= walk.unroll_limit ? straight * *taps : walk.unroll_limit + 1;
  }
  if (straight <= walk.unroll_limit) return reduce_straight(walk, level);
  const WindowAt& window = walk.cursor.windows[level.dim];
  if (!reducer_.facts().is_split || !is_long(nest_.dims[level.dim]))
    return reduce_loop(walk, level, window.taps, 0).states;
  Level next = level;
  for (int digit = 0; digit < 3; ++digit)
    next = reduce_loop(walk, std::move(next), window.digits[static_cast<size_t>(digit)], 2 - digit);
  return next.states;
}

Lowering::States Lowering::reduce_straight(const Walk& walk, Level level) {
  const bool started = !level.states[0].empty();
  States before = level.states;
  if (started && reducer_.facts().is_split) level.states = States(walk.fresh.size());
  const int64_t taps = *b_.constant(walk.cursor.windows[level.dim].taps);
  for (int64_t tap = 0; tap < taps; ++tap) {
    if (tap > 0) level.at = next_tap(level.at, level.dim);
    TapAt at = level.at;
    if (divides()) at.divisor = divisor_here(at, level.dim);
    at.offset.constant += tap * index_step(level.dim);
    level.states = reduce_level(walk, {level.dim + 1, at, level.states});
  }
  return started && reducer_.facts().is_split ? combine(before, level.states) : level.states;
}

Value Lowering::carried_offset(const TapOffset& offset, int lanes) {
  const Value constant = b_.vconst_splat(Type::vec(reducer_.facts().offset_dtype, lanes), offset.constant);
  if (offset.vec == no_value) return constant;
  return offset.constant == 0 ? offset.vec : b_.binary(Op::add, offset.vec, constant);
}

// Goes over trip * sum_block^depth taps. Pointers and the offset are carried, so that the next loop goes on
// from there.
Lowering::Level Lowering::reduce_loop(const Walk& walk, Level level, Value trip, int depth) {
  if (const std::optional<int64_t> constant = b_.constant(trip); constant && *constant == 0) return level;
  const bool joins = reducer_.facts().is_split && !level.states[0].empty();
  const States& begin = level.states[0].empty() || reducer_.facts().is_split ? walk.fresh : level.states;
  const bool reads_divisors = level.at.divisors.base != no_value;
  const auto pointers = [&](TapAt& at) {
    boost::container::static_vector<Address*, 3> all = {&at.input};
    if (beside_) all.push_back(&at.beside);
    if (reads_divisors) all.push_back(&at.divisors);
    return all;
  };
  const auto pack = [&](TapAt at, const States& states) {
    Values values;
    for (const Address* pointer : pointers(at)) values.push_back(b_.ptradd(*pointer));
    if (indexed()) values.push_back(carried_offset(at.offset, b_.type(walk.fresh[0][0]).lanes));
    for (const State& state : states) {
      const State settled = reducer_.settle(state);
      values.insert(values.end(), settled.begin(), settled.end());
    }
    return values;
  };
  const auto unpack = [&](const Values& values) {
    Level at = level;
    auto value = values.begin();
    for (Address* pointer : pointers(at.at)) *pointer = Address{*value++, {}, 0};
    if (indexed()) at.at.offset = {}, at.at.offset.vec = *value++;
    for (State& state : at.states) {
      state.assign(value, value + static_cast<std::ptrdiff_t>(walk.fresh[0].size()));
      value += static_cast<std::ptrdiff_t>(walk.fresh[0].size());
    }
    return at;
  };

  Level inside = unpack(b_.begin_loop(trip, pack(level.at, begin)).carried);
  if (depth > 0) {
    inside = reduce_loop(walk, std::move(inside), b_.iconst(sum_block), depth - 1);
  } else {
    TapAt at = inside.at;
    if (divides()) at.divisor = divisor_here(at, level.dim);
    inside.states = reduce_level(walk, {level.dim + 1, at, inside.states});
    inside.at = next_tap(inside.at, level.dim);
    inside.at.offset.constant += index_step(level.dim);
  }
  Level after = unpack(b_.end_loop(pack(inside.at, inside.states)));
  if (joins) after.states = combine(level.states, after.states);
  return after;
}

}  // namespace pooljit::ir
