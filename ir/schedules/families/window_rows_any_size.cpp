#include "ir/schedules/families/window_rows_any_size.h"

#include <algorithm>
#include <bit>

#include "ir/lane_list.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lowering/channel_tasks.h"
#include "ir/schedules/lowering/run_table.h"

namespace pooljit::ir {
namespace {

constexpr int vectors_of_group = SizeLayout::vectors_of_group;
// Registers beside those that hold states.
constexpr int registers_beside = 5;

// Vectors of a state while a row is taken in: of a sum also the part that the row is, of a maximum what each
// tap is compared by.
int vectors_of_state(const ReductionFacts& facts) { return 2 * static_cast<int>(facts.state_vectors); }

int room_for_states(const PoolNest& nest, const ReductionFacts& facts, Isa isa) {
  return info(isa).vector_registers - extra_registers(nest, facts) - registers_beside;
}

// States of one window that need not wait for each other.
size_t states_of_window(const PoolNest& nest, const ReductionFacts& facts, Isa isa) {
  if (joins_whole_states(nest)) return 1;
  const int most = room_for_states(nest, facts, isa) / vectors_of_state(facts);
  return std::bit_floor(static_cast<unsigned>(std::clamp(most, 1, int{most_row_states})));
}

// Neighbouring channels whose windows are read at once, of those that are joined together: each has a pointer
// and a state. 0: registers hold none.
int64_t channels_at_once(const PoolNest& nest, const ReductionFacts& facts, Isa isa, int64_t together) {
  const int room = room_for_states(nest, facts, isa);
  for (int64_t at_once = together, joined = 0; at_once > 0; at_once /= 2, ++joined)
    if (vectors_of_state(facts) * at_once + joined <= room) return at_once;
  return 0;
}

}  // namespace

Result<void> WindowRowsAnySize::check(const Layer& layer, const WindowRowsSchedule& schedule) {
  const PoolNest nest = with_joined_rows(layer);
  const ReductionFacts& facts = layer.facts(LaneUse::joined);
  if (nest.extents != Extents::any_windows || !has_rows_of_windows(nest, facts))
    return unsupported(
        "schedule.sizes",
        "code for all sizes takes rows of windows of global and adaptive pooling, whose columns "
        "lie next to each other",
        "use channels_last");
  if (auto tail = check_tail_of_any_size(layer, schedule); !tail) return tail;
  const int64_t together = schedule.windows_together;
  const bool are_channels = is_one_window(nest) && nest.output.channel_stride == 1 &&
                            nest.output.channel_block == 1 && together <= most_windows_together(layer) &&
                            std::has_single_bit(static_cast<unsigned>(together));
  if (together == 1 ||
      (are_channels && !joins_whole_states(nest) && channels_at_once(nest, facts, layer.isa(), together) > 0))
    return {};
  return unsupported(
      "schedule.together",
      "for all sizes window_rows does windows of a row together whose results lie next to each "
      "other, or 2, 4 or 8 such channels of one window each",
      "use windows_together=1");
}

WindowRowsAnySize::WindowRowsAnySize(const PoolNest& nest, const WindowRowsSchedule& schedule,
                                     Builder& builder, Reducer& reducer, bool stores_indices)
    : nest_(nest),
      schedule_(schedule),
      type_(Type::vec(nest.input.dtype, schedule.lanes)),
      together_(static_cast<size_t>(schedule.windows_together)),
      states_(together_ > 1 ? 1 : states_of_window(nest, reducer.facts(), builder.isa())),
      b_(builder),
      reducer_(reducer),
      low_(nest, builder, reducer),
      lanes_(nest, builder, reducer) {
  if (!stores_indices) low_.leave_indices();
}

void WindowRowsAnySize::emit() {
  together_ > 1 ? emit_channels() : emit_windows();
  b_.ret();
}

// Each channel is one window: the lanes of some channels are joined with those of each other.
void WindowRowsAnySize::emit_channels() {
  Cursor cursor = low_.start();
  int loops = low_.open_batch(cursor);
  loops += low_.open_dims(cursor, nest_.dims.size());
  const RowVectors vectors = row_vectors(b_, low_, type_.lanes, b_.iconst(0));
  const CutRow row_of_window = cut(vectors);
  Apart apart = {no_value};
  const int64_t at_once =
      channels_at_once(nest_, reducer_.facts(), b_.isa(), static_cast<int64_t>(together_));
  for (int64_t i = 1; i < at_once; ++i) {
    const Step step = low_.times(low_.channel_step(nest_.input), i);
    apart.push_back(step.word == no_value ? b_.iconst(step.constant) : step.word);
  }
  const ChannelCut stored{.lanes = schedule_.windows_together,
                          .tail = can_mask(nest_, b_.isa()) ? Tail::mask : Tail::split};
  ChannelTasks channels(nest_, stored, b_, low_);
  reducer_.plan(together_, nest_.full_taps() / schedule_.lanes + 1);
  channels.for_each(channels.origin(cursor), [&](const ChannelTasks::Block& block) {
    Lowering::States folded;
    for (const Slice& slice : block.side) {
      LaneFold fold = lanes_.fold();
      const int64_t count =
          slice.stored.empty() ? slice.lanes : std::count(slice.stored.begin(), slice.stored.end(), 1);
      for (int64_t first = 0; first < count; first += at_once) {
        Cursor at = block.cursor;
        low_.move(at.input, b_.iconst(slice.begin + first), low_.channel_step(nest_.input));
        const Apart here(apart.begin(), apart.begin() + std::min(count - first, at_once));
        const Lowering::States states = low_.reduce(
            at, nest_.dims.size() - 1, fresh(here.size()),
            [&](const Lowering::States& before, const TapAt& row) {
              return take_row(before, row, row_of_window, here);
            },
            /*unroll_limit=*/1);
        for (const State& state : states) fold.add(reducer_.value(state));
      }
      folded.push_back({fold.finish()});
    }
    channels.store(block.cursor, folded, block.side);
  });
  low_.close(loops);
}

void WindowRowsAnySize::emit_windows() {
  const size_t last = nest_.dims.size() - 1;
  Cursor cursor = low_.start();
  int loops = low_.open_batch(cursor);
  loops += low_.open_channels(cursor);
  loops += low_.open_dims(cursor, last);
  reducer_.plan(states_, nest_.full_taps() / schedule_.lanes + 1);
  loops += low_.open_dims(cursor, last + 1);
  const RowVectors vectors = row_vectors(b_, low_, type_.lanes, cursor.windows.back().output);
  const CutRow row_of_window = cut(vectors);
  const Lowering::States states = low_.reduce(
      cursor, last, fresh(1),
      [&](const Lowering::States& before, const TapAt& row) {
        return take_row(before, row, row_of_window, {no_value});
      },
      /*unroll_limit=*/1);
  low_.store(cursor, lanes_.join(states), Lanes::channels(1));
  low_.close(loops);
}

// ------------------------------------------------------------------------------------------ a window's row

WindowRowsAnySize::CutRow WindowRowsAnySize::cut(const RowVectors& vectors) {
  return {vectors, schedule_.tail == Tail::mask ? low_.mask_of(type_, vectors.rest) : no_value};
}

Lowering::States WindowRowsAnySize::fresh(size_t windows) const {
  return Lowering::States(windows * states_,
                          reducer_.start(std::vector<int64_t>(static_cast<size_t>(schedule_.lanes), 0)));
}

Lowering::States WindowRowsAnySize::take_row(const Lowering::States& before, const TapAt& row,
                                             const CutRow& vectors, const Apart& apart) {
  // Rounding errors of sums grow with the longest part: a row is one.
  const bool joins = reducer_.facts().is_split && !before[0].empty();
  Taken taken = begin_row(joins || before[0].empty() ? fresh(apart.size()) : before, row, apart);
  taken = repeat(taken, vectors.groups, vectors_of_group);
  taken = repeat(taken, vectors.singles, 1);
  vectors.mask == no_value ? take_unmasked(taken, vectors) : take_masked(taken, vectors.mask);
  for (size_t i = 0; joins && i < before.size(); ++i)
    taken.states[i] = reducer_.combine(before[i], taken.states[i]);
  return taken.states;
}

WindowRowsAnySize::Taken WindowRowsAnySize::begin_row(const Lowering::States& states, const TapAt& row,
                                                      const Apart& apart) {
  Taken taken{{}, states};
  for (const Value bytes : apart)
    taken.pointers.push_back(bytes == no_value ? b_.ptradd(row.input) : b_.ptradd(row.input, bytes));
  if (!nest_.indices) return taken;
  const Type type = Type::vec(reducer_.facts().offset_dtype, schedule_.lanes);
  const LaneList lanes = lanes_from(row.offset.constant, schedule_.lanes);
  taken.offset = b_.vconst(type, {lanes.begin(), lanes.end()});
  if (row.offset.vec != no_value) taken.offset = b_.binary(Op::add, row.offset.vec, taken.offset);
  return taken;
}

// `trip` times so many vectors of each window.
WindowRowsAnySize::Taken WindowRowsAnySize::repeat(const Taken& before, Value trip, int vectors) {
  const Builder::Loop loop = b_.begin_loop(trip, pack(before));
  Taken taken = unpack(before, loop.carried);
  for (int number = 0; number < vectors; ++number) take_vector(taken, number);
  for (Value& pointer : taken.pointers)
    pointer = b_.ptradd({pointer, {}, vectors * int64_t{type_.vector_bytes()}});
  taken.offset = further(taken.offset, vectors * int64_t{schedule_.lanes});
  return unpack(before, b_.end_loop(pack(taken)));
}

void WindowRowsAnySize::take_vector(Taken& taken, int number) {
  for (size_t window = 0; window < taken.pointers.size(); ++window) {
    const Value x = b_.load(type_, {taken.pointers[window], {}, number * int64_t{type_.vector_bytes()}});
    const size_t states = taken.states.size() / taken.pointers.size();
    accumulate(taken.states[window * states + static_cast<size_t>(number) % states], x,
               further(taken.offset, number * int64_t{schedule_.lanes}));
  }
}

void WindowRowsAnySize::take_unmasked(Taken& taken, const CutRow& vectors) {
  const Value has_rest = b_.imin(vectors.rest, b_.iconst(1));
  const Value is_long = b_.imul(has_rest, vectors.any);
  const Value is_short = b_.isub(b_.iconst(1), vectors.any);
  taken = take_last_vector(taken, is_long, vectors.rest);
  taken = take_one_by_one(taken, b_.imul(vectors.rest, is_short));
}

// Of several states in the last, which waits for no other.
void WindowRowsAnySize::take_masked(Taken& taken, Value mask) {
  const Value outside = b_.vconst_splat(type_, reducer_.facts().identity);
  const size_t states = taken.states.size() / taken.pointers.size();
  for (size_t window = 0; window < taken.pointers.size(); ++window) {
    const Value x = b_.load(type_, {taken.pointers[window], {}, 0}, mask, outside);
    accumulate(taken.states[window * states + states - 1], x, taken.offset);
  }
}

// A vector that ends with the row; sums leave out what others took.
WindowRowsAnySize::Taken WindowRowsAnySize::take_last_vector(const Taken& before, Value trip, Value rest) {
  const Builder::Loop loop = b_.begin_loop(trip, pack(before));
  Taken taken = unpack(before, loop.carried);
  const Value back = b_.iadd(rest, b_.iconst(-schedule_.lanes));
  const Value bytes_back = b_.imul(back, b_.iconst(bytes(type_.dtype)));
  Value offset = taken.offset, mask = no_value;
  if (nest_.indices) offset = b_.binary(Op::add, offset, b_.splat(b_.type(offset), back));
  if (!reducer_.facts().is_idempotent) {
    const Type number = Type::vec(signed_of(type_.dtype), type_.lanes);
    const LaneList lanes = lanes_from(0, type_.lanes);
    const Value numbers = b_.vconst(number, {lanes.begin(), lanes.end()});
    const Value last_taken = b_.splat(number, b_.isub(b_.iconst(-1), back));
    mask = b_.cmp(Predicate::gt, numbers, last_taken);
  }
  const Value outside = b_.vconst_splat(type_, reducer_.facts().identity);
  const size_t states = taken.states.size() / taken.pointers.size();
  for (size_t window = 0; window < taken.pointers.size(); ++window) {
    const Value pointer = b_.ptradd({taken.pointers[window], {}, 0}, bytes_back);
    const Value loaded = b_.load(type_, {pointer, {}, 0});
    const Value x = mask == no_value ? loaded : b_.select(mask, loaded, outside);
    accumulate(taken.states[window * states + states - 1], x, offset);
  }
  return unpack(before, b_.end_loop(pack(taken)));
}

// Each tap in all lanes; of a sum in one.
WindowRowsAnySize::Taken WindowRowsAnySize::take_one_by_one(const Taken& before, Value trip) {
  const std::vector<int64_t> everywhere(static_cast<size_t>(type_.lanes), 0);
  Taken begun = before;
  if (nest_.indices) begun.offset = b_.shuffle(begun.offset, no_value, everywhere);
  const Builder::Loop loop = b_.begin_loop(trip, pack(begun));
  Taken taken = unpack(begun, loop.carried);
  std::vector<int64_t> first = everywhere;
  first[0] = 1;
  const size_t states = taken.states.size() / taken.pointers.size();
  for (size_t window = 0; window < taken.pointers.size(); ++window) {
    const Value one = b_.load(Type::vec(type_.dtype, 1), {taken.pointers[window], {}, 0});
    Value x = b_.shuffle(one, no_value, everywhere);
    if (!reducer_.facts().is_idempotent) {
      const Value outside = b_.vconst_splat(type_, reducer_.facts().identity);
      x = b_.select(b_.vmask(type_.mask_of(), first), x, outside);
    }
    accumulate(taken.states[window * states], x, taken.offset);
    taken.pointers[window] = b_.ptradd({taken.pointers[window], {}, bytes(type_.dtype)});
  }
  taken.offset = further(taken.offset, 1);
  return unpack(begun, b_.end_loop(pack(taken)));
}

void WindowRowsAnySize::accumulate(State& state, Value x, Value offset) {
  TapOffset tap;
  tap.vec = offset;
  state = reducer_.accumulate(state, x, tap);
}

Value WindowRowsAnySize::further(Value offset, int64_t taps) {
  if (offset == no_value || taps == 0) return offset;
  return b_.binary(Op::add, offset, b_.vconst_splat(b_.type(offset), taps));
}

Values WindowRowsAnySize::pack(const Taken& taken) {
  Values values;
  values.insert(values.end(), taken.pointers.begin(), taken.pointers.end());
  if (taken.offset != no_value) values.push_back(taken.offset);
  for (const State& state : taken.states) {
    const State settled = reducer_.settle(state);
    values.insert(values.end(), settled.begin(), settled.end());
  }
  return values;
}

// In the form of states that were settled.
WindowRowsAnySize::Taken WindowRowsAnySize::unpack(const Taken& like, const Values& values) const {
  Taken taken = like;
  auto value = values.begin();
  for (Value& pointer : taken.pointers) pointer = *value++;
  if (taken.offset != no_value) taken.offset = *value++;
  const auto size = (values.end() - value) / std::ssize(taken.states);
  for (State& state : taken.states) {
    state.assign(value, value + size);
    value += size;
  }
  return taken;
}

}  // namespace pooljit::ir
