// window_rows: a vector holds neighbouring taps of one window's row; when all rows are taken in, its lanes
// are joined. For windows that are long and few, where columns of outputs would leave lanes idle: global and
// adaptive pooling of channels-first planes. The taps of a row must lie next to each other, and be as many in
// all windows. Planes without gaps that a window covers whole are one row.
#include <algorithm>
#include <map>

#include "ir/schedules/family.h"
#include "ir/schedules/lowering.h"

namespace pooljit::ir {
namespace {

// Vectors of a row that have a state of their own, so that one need not wait for another.
constexpr size_t most_states = 4;
// Straight-line code up to so many vectors per row.
constexpr size_t unroll_vectors = 16;
// Straight-line code up to so many rows.
constexpr int64_t unroll_rows = 8;
constexpr int64_t shortest_row = 4;
// Offered where a row of a window has so many times more taps than there are outputs in a row.
constexpr int64_t taps_per_output = 2;

bool covers_all(const NestDim& dim) {
  const Window window = dim.window(0);
  return dim.kind != DimKind::gather && dim.output == 1 && window.step == 1 && window.taps == dim.input &&
         window.padded_taps == window.taps;
}

// The nest with the innermost dimensions as one, as far as one window is all of them and they lie without
// gaps.
PoolNest joined(PoolNest nest) {
  while (nest.dims.size() > 1) {
    const size_t last = nest.dims.size() - 1;
    NestDim &outer = nest.dims[last - 1], inner = nest.dims[last];
    std::vector<int64_t>& strides = nest.input.strides;
    if (!covers_all(outer) || !covers_all(inner) || strides[last - 1] != strides[last] * inner.input) break;
    outer = NestDim{.input = outer.input * inner.input};
    outer.kernel = outer.stride = outer.input;
    strides[last - 1] = strides[last];
    nest.dims.pop_back();
    strides.pop_back();
    nest.output.strides.pop_back();
  }
  return nest;
}

struct Row {
  std::vector<Slice> slices;
  // Groups of whole vectors that a loop goes over before the rest; 0: all slices are straight-line code.
  int64_t groups = 0;
};

int64_t row_taps(const PoolNest& nest) { return nest.dims.back().most_taps(); }

Row cut(const PoolNest& nest, const Schedule& schedule) {
  Row row;
  const int64_t taps = row_taps(nest), group = schedule.lanes * static_cast<int64_t>(most_states);
  if (taps > schedule.lanes * static_cast<int64_t>(unroll_vectors)) row.groups = taps / group;
  row.slices = slices(row.groups * group, taps, schedule.lanes, schedule.tail);
  return row;
}

bool can_serve(const PoolNest& nest, const Reducer& reducer, int lanes) {
  const NestDim& dim = nest.dims.back();
  const std::vector<Run> all = runs(dim);
  const bool sums_long_rows =
      reducer.is_split() && row_taps(nest) > 2 * Lowering::part * lanes * int64_t{most_states};
  const bool in_blocks = nest.input.channel_block > 1 || nest.output.channel_block > 1;
  return !nest.is_backward() && !nest.indices && !in_blocks && reducer.any_order() &&
         nest.input.strides.back() == 1 && dim.tap_step() == 1 && all.size() == 1 &&
         all[0].window.taps == row_taps(nest) && row_taps(nest) >= shortest_row && !sums_long_rows;
}

std::vector<Schedule> enumerate_window_rows(const PoolNest& given, Isa isa, int working_bytes, size_t) {
  const PoolNest nest = joined(given);
  Builder probe("", isa);
  const auto reducer = make_reducer(nest, probe);
  Schedule schedule{.family = Family::window_rows};
  schedule.lanes = fitting_lanes(row_taps(nest), isa, working_bytes);
  const bool are_few = row_taps(nest) >= taps_per_output * nest.dims.back().output;
  if (!are_few || !can_serve(nest, **reducer, schedule.lanes)) return {};
  std::vector<Schedule> found;
  add_tails(found, schedule, nest, isa, row_taps(nest));
  if (!(*reducer)->is_idempotent())
    std::erase_if(found, [](const Schedule& one) { return one.tail == Tail::overlap; });
  return found;
}

class WindowRows {
 public:
  WindowRows(const PoolNest& nest, const Schedule& schedule, Builder& builder, Reducer& reducer)
      : nest_(nest),
        row_(cut(nest, schedule)),
        lanes_(schedule.lanes),
        b_(builder),
        reducer_(reducer),
        low_(nest, builder, reducer) {}

  void emit() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    loops += low_.open_channels(cursor);
    const size_t last = nest_.dims.size() - 1;
    for (size_t i = 0; i < last; ++i) {
      loops += low_.open_runs(cursor, /*task=*/i == 0);
      loops += low_.open_outputs(cursor);
    }
    loops += low_.open_runs(cursor, /*task=*/last == 0);
    low_.split_full(cursor, [&](Cursor at) {
      const int outputs = low_.open_outputs(at);
      emit_window(at);
      low_.close(outputs);
    });
    low_.close(loops);
    b_.ret();
  }

 private:
  // One state per lane count and turn: slices of other lane counts are tails.
  void emit_window(const Cursor& cursor) {
    std::vector<int> lanes(row_.groups > 0 ? most_states : 0, lanes_);
    std::vector<size_t> state_of;
    for (size_t i = 0; i < row_.slices.size(); ++i) {
      const int own = row_.slices[i].lanes;
      if (own == lanes_ && lanes.size() >= most_states) {
        state_of.push_back(i % most_states);
      } else {
        state_of.push_back(lanes.size());
        lanes.push_back(own);
      }
    }
    reducer_.plan(lanes.size(), nest_.full_taps() / lanes_ + 1);
    Lowering::States fresh;
    for (const int own : lanes)
      fresh.push_back(reducer_.start(std::vector<int64_t>(static_cast<size_t>(own), 0)));
    const auto leaf = [&](const Lowering::States& states, const TapAt& at) {
      return take_row(states, at.input, fresh, state_of);
    };
    const Lowering::States states = low_.reduce(cursor, nest_.dims.size() - 1, fresh, leaf, unroll_rows);
    low_.store(cursor, {join_lanes(states)}, Lanes::channels(1));
  }

  Lowering::States take_row(const Lowering::States& states, const Address& row, const Lowering::States& fresh,
                            const std::vector<size_t>& state_of) {
    // Rounding errors of sums grow with the longest part: a row of several vectors per state is one.
    const bool joins =
        !states[0].empty() && reducer_.is_split() && row_.slices.size() + size_t(row_.groups) > most_states;
    Lowering::States taken = joins ? Lowering::States(states.size()) : states;
    if (row_.groups > 0) {
      if (taken[0].empty()) taken = fresh;
      take_groups(taken, row, fresh);
    }
    for (size_t i = 0; i < row_.slices.size(); ++i) {
      State& state = taken[state_of[i]];
      state = reducer_.accumulate(state, load(row, row_.slices[i]), {});
    }
    for (size_t i = 0; joins && i < states.size(); ++i) taken[i] = reducer_.combine(states[i], taken[i]);
    return taken;
  }

  // The loop over whole vectors, most_states at a time.
  void take_groups(Lowering::States& states, const Address& row, const Lowering::States& fresh) {
    const auto pack = [&] {
      Values values;
      for (size_t i = 0; i < most_states; ++i) {
        const State settled = reducer_.settle(states[i]);
        values.insert(values.end(), settled.begin(), settled.end());
      }
      return values;
    };
    const auto unpack = [&](const Values& values) {
      auto value = values.begin();
      for (size_t i = 0; i < most_states; ++i) {
        const auto size = static_cast<std::ptrdiff_t>(fresh[i].size());
        states[i].assign(value, value + size);
        value += size;
      }
    };
    const int64_t vector_bytes = lanes_ * int64_t{bytes(nest_.input.dtype)};
    const auto loop = b_.begin_loop(b_.iconst(row_.groups), pack());
    unpack(loop.carried);
    const Address group = plus(row, loop.iv, vector_bytes * int64_t{most_states});
    const Type type = Type::vec(nest_.input.dtype, lanes_);
    for (size_t i = 0; i < most_states; ++i)
      states[i] = reducer_.accumulate(states[i],
                                      b_.load(type, plus(group, vector_bytes * static_cast<int64_t>(i))), {});
    unpack(b_.end_loop(pack()));
  }

  Value load(const Address& row, const Slice& slice) {
    const Type type = Type::vec(nest_.input.dtype, slice.lanes);
    const Address address = plus(row, slice.begin * bytes(nest_.input.dtype));
    if (slice.stored.empty()) return b_.load(type, address);
    const Value mask = b_.vmask(type.mask_of(), slice.stored);
    return b_.load(type, address, mask, b_.vconst_splat(type, reducer_.identity()));
  }

  // All lanes of all states in one, by halves.
  State join_lanes(const Lowering::States& states) {
    std::map<int, std::vector<State>, std::greater<>> by_lanes;
    for (const State& state : states)
      if (!state.empty()) {
        const Value value = reducer_.value(state);
        by_lanes[b_.type(value).lanes].push_back({value});
      }
    for (int lanes = by_lanes.begin()->first;; lanes /= 2) {
      State all;
      for (const State& state : by_lanes[lanes]) all = all.empty() ? state : reducer_.combine(all, state);
      if (lanes == 1) return all;
      if (all.empty()) continue;
      const Value value = reducer_.value(all);
      for (const int64_t begin : {0, lanes / 2})
        by_lanes[lanes / 2].push_back({half(value, begin, lanes / 2)});
    }
  }

  Value half(Value value, int64_t begin, int lanes) {
    std::vector<int64_t> list;
    for (int64_t lane = 0; lane < lanes; ++lane) list.push_back(begin + lane);
    return b_.shuffle(value, no_value, std::move(list));
  }

  const PoolNest& nest_;
  const Row row_;
  const int lanes_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
};

Result<Program> lower_window_rows(const PoolNest& given, const Schedule& schedule, Isa isa) {
  const PoolNest nest = joined(given);
  Builder builder(print(schedule), isa);
  const auto reducer = make_reducer(nest, builder);
  if (!reducer) return tl::unexpected(reducer.error());
  if (!can_serve(nest, **reducer, schedule.lanes))
    return unsupported(
        "schedule.strides",
        "window_rows needs rows of at least four taps that lie next to each other, as many in all "
        "windows, and no indices, zeros=first or blocks of channels",
        "use channels_last or channels_first");
  if (schedule.tail == Tail::overlap && (!(*reducer)->is_idempotent() || row_taps(nest) < schedule.lanes))
    return unsupported("schedule.tail",
                       "an overlapping tail takes taps twice, and needs a whole vector before it",
                       "use tail=mask or tail=split");
  WindowRows(nest, schedule, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo window_rows_family = {Family::window_rows, "window_rows", enumerate_window_rows,
                                       lower_window_rows};

}  // namespace pooljit::ir
