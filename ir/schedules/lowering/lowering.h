// Lowering: the code that all schedule families share. It opens loops over batches, channels and output
// positions, reduces over taps, and stores values and indices.
//
// Runs and periods. The outputs along a dimension fall into runs whose windows keep the same taps
// (ir/windows.h). A dimension with several runs is walked as `for run in table: for period in run: for
// phase in run`, so one piece of code serves every run, without a branch on data. An ordinary pooling has
// one phase. Tasks over a dimension are its periods.
//
// Each run also says, as 0 or 1, whether its windows are the usual ones. That number is the trip count of
// a loop around straight-line code for the usual windows; its complement is that of a loop around code
// with counted loops for all others.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "ir/builder.h"
#include "ir/nest.h"
#include "ir/reductions/reducer.h"
#include "ir/schedules/lowering/size_layout.h"
#include "ir/schedules/lowering/staging.h"
#include "ir/schedules/windows/divisors.h"
#include "ir/schedules/windows/held_vectors.h"
#include "ir/schedules/windows/sum_block.h"

namespace pooljit::ir {

// A stride of a view in bytes.
int64_t byte_stride(const View& view, int64_t elements);
// For a nest of any size: channels are a plane apart, not adjacent.
bool follows_extents(const View& view);

// Step: what an address or an index moves by from one element to the next. A constant of the code, or a word
// of the size. For addresses in bytes.
struct Step {
  int64_t constant = 0;
  Value word = no_value;
  Step(int64_t same) : constant(same) {}  // NOLINT(google-explicit-constructor): most are constants
  Step(int64_t same, Value read) : constant(same), word(read) {}
};

// The facts of one dimension's window at the cursor's position. Index values; iconst if the window is a usual
// one.
struct WindowAt {
  Value taps = no_value;
  Value divisor_taps = no_value;
  std::array<Value, 3> digits = {};  // taps as digits of base sum_block, most significant first
  Value first = no_value;            // input position of the first visible tap of the present output
  Value first_tap = no_value;        // number of the first visible tap in its window
  Value periods = no_value;          // periods of the run
  Value phases = no_value;           // outputs of each period
  Value output = no_value;           // position of the present output; only if compares_positions()
};

// Where the emitted code stands: one batch, one channel, one output position of each dimension opened so far.
struct Cursor {
  Address input, output;
  Address indices;                                      // that are written
  Address beside;                                       // TapAt::beside
  boost::container::small_vector<Address, 2> operands;  // as operands_like_output() lists them
  InlineList<WindowAt, 3> windows;                      // one per opened dimension
  Value full =
      no_value;  // index 0 or 1: all opened windows are the usual ones; iconst 1 where they always are
  Value index = no_value;  // what batch and channel add to an index
};

// Where a tap is read.
struct TapAt {
  Address input;
  TapOffset offset;
  // Backward passes: the tap in view_beside(). For an average: the divisor of the windows over the dimensions
  // known so far, and where the divisors of the present one are listed.
  Address beside;
  Value divisor = no_value;
  Address divisors;
};

// How a vector of outputs is stored: at once if they are adjacent, else one by one.
struct Lanes {
  int count = 1;
  std::vector<int64_t> stored;  // 0/1 per lane; empty: all
  std::vector<int64_t>
      divisor_taps;  // per lane, of the dimension that the lanes run along; 1 if that is the channel
  std::vector<int64_t> empty;  // 1 where the lane's window has no tap along that dimension; empty: nowhere
  bool are_columns = false;    // neighbours along the innermost dimension, not channels
  // Summands of an index from the lanes' dimension: for lane 0, and for each lane after it.
  // ramp_unit: what each number of the ramp is multiplied by, a word of the size; no_value: 1.
  Value origin = no_value;
  std::vector<int64_t> ramp;  // empty: nothing
  Value ramp_unit = no_value;
  // Code for all sizes. valid: lanes that are stored, the first ones, but for the very first `skipped`
  // (no_value: none); valid_mask: their mask for the output.
  // divisor, counts: the lanes' dimension's factor of the divisor. any: 0 if no lane's window has a tap along
  // it. no_value: all lanes, no factor, every window has one.
  Value valid = no_value, skipped = no_value, valid_mask = no_value;
  Value divisor = no_value, counts = no_value;
  Value any = no_value;

  static Lanes channels(int count, std::vector<int64_t> stored = {});
};

// Outputs of one dimension that are done together: its phases are the outputs of a group.
struct Grouped {
  size_t dim = 0;
  int64_t outputs = 1;
};

// The facts of a dimension before any code is emitted.
struct DimPlan {
  Period period;
  std::vector<Run> runs;
  int64_t usual_taps = 1;
  int64_t usual_divisor = 1;  // of the windows with so many taps
  bool is_usual(const PoolNest& nest, const Run& run) const;
  bool one_run = false;  // of usual windows: no table
  // Backward of an average: what each position of the input adds to the divisor; empty: common_divisor.
  std::vector<int64_t> divisors;
  int64_t common_divisor = 1;
  bool one_divisor = false;  // every run has the usual one
  bool one_phase = false;    // every run has one
  int64_t group = 1;         // outputs done together
  int64_t phase_input = 0;   // positions from the windows of one phase to those of the next
  bool may_be_empty = false;
};

// Number of codes for windows along dims [0, dims): one for the usual windows, and one for others if there
// are any.
int64_t codes_for_windows(const PoolNest& nest, size_t dims);
// How many times these codes contain what is done with one tap, at most: for each tap in straight-line code,
// and once in each of the loops over the blocks of a long sum. innermost: the taps along the last of the
// dims, if not those of the windows.
int64_t taps_in_code(const PoolNest& nest, const ReductionFacts& facts, size_t dims, int64_t unroll_limit,
                     std::optional<int64_t> innermost = std::nullopt);
// States of each window that the code for the taps of dims [0, dims) holds at once: the parts of split sums;
// in a loop with several taps in its body, the carried state and the partial result of these taps.
int64_t states_at_once(const PoolNest& nest, const ReductionFacts& facts, size_t dims, int64_t unroll_limit);

// Backward passes: the view that is read with each gradient and is laid out as the input: the indices of a
// maximum, the forward pass's output of a norm. None for averages and sums.
std::optional<View> view_beside(const PoolNest& nest);
// The operands that are laid out as the output: all except view_beside().
std::vector<View> operands_like_output(const PoolNest& nest);

// Instructions that storing such a vector takes, beyond a few: those for lanes that are apart.
int64_t length_of_stores(const PoolNest& nest, const Lanes& lanes);

class Lowering {
 public:
  // grouped: outputs of an ordinary pooling's dimension; its tasks are whole groups.
  // staging: whose nest it is, if results are staged.
  Lowering(const PoolNest& nest, Builder& builder, Reducer& reducer, Grouped grouped = {},
           const Staging* staging = nullptr);

  // The nest's indices are found, but the caller wants none of them. Before start().
  void leave_indices() { stores_indices_ = false; }

  // --- positions. Each function returns how many loops it opened, for close().
  Cursor start();
  int open_batch(Cursor& cursor);
  int open_channels(Cursor& cursor);  // one by one
  // The outputs that a call does along a dimension; no_value: all.
  struct Outputs {
    Value begin = no_value, count = no_value;
  };
  // Those of the first dimension, in code for all sizes.
  Outputs rows_of_call();
  // Opens the next dimension: first its runs, then the outputs of the run. task: callers of the kernel may
  // split it.
  enum class Runs { all, borders };  // borders: not the run of whole windows of an ordinary pooling
  int open_runs(Cursor& cursor, bool task, Runs which = Runs::all);
  int open_outputs(Cursor& cursor);
  // Both, of the next dimensions up to `end`. Callers may split the first one of the nest.
  int open_dims(Cursor& cursor, size_t end);
  // Code for all sizes: opens the next dimension with so many runs of a table, which begins at this byte of
  // the words.
  int open_table(Cursor& cursor, Value table, Value runs);
  // open_outputs() in two steps: the periods of the run, then the outputs of each.
  int open_periods(Cursor& cursor);
  int open_phases(Cursor& cursor);
  void close(int loops);
  // Moves an address by an index value times a step.
  void move(Address& address, Value count, Step step);
  // Emits code for usual windows and other code for the others, each in a loop that runs it 0 or 1 times;
  // only the first if all are usual. For usual windows the cursor has constants.
  using Body = std::function<void(Cursor)>;
  void split_full(const Cursor& cursor, const Body& usual, const Body& other);
  void split_full(const Cursor& cursor, const Body& body) { split_full(cursor, body, body); }

  // Emits code for every row of outputs, with the cursor at each output of dims [0, dims): whole groups of
  // rows if their windows are whole, the others one by one. without: for rows of positions that no window
  // has, between windows that leave_gaps().
  using RowBody = std::function<void(const Cursor&, bool group)>;
  void for_each_row(size_t dims, const RowBody& body, const Body& without = {});

  // A window with the usual taps, for cursors inside the image along the dimension.
  WindowAt usual_window(size_t dim);
  // Adds channels to the index that the cursor carries: `begin` + iv * step (iv may be absent).
  void add_channels(Cursor& cursor, int64_t begin, Value iv, int64_t step);
  // The same for columns of windows that do not count by their own taps.
  void add_columns(Cursor& cursor, Value iv, int64_t step);
  // The address of a channel, from that of one which begins a block of every view.
  Address at_channel(const Address& address, const View& view, int64_t channel);
  // Of code for all sizes, whose blocks are a plane of unknown extents apart. hold_blocks: emitted once,
  // before at_channel() is asked for channels below this number. move_blocks: moves by an index value times
  // so many channels, a multiple of each view's block.
  void hold_blocks(int64_t channels);
  void move_blocks(Cursor& cursor, Value count, int64_t channels);

  // --- taps
  using States = HeldStates::States;
  using Leaf = std::function<States(States, const TapAt&)>;
  // The states of `vectors` vectors before their first taps, if no index is asked for that depends on them.
  States no_taps(size_t vectors, int lanes) const;
  // The most taps per vector in straight-line code, unless other rules allow fewer.
  static constexpr int64_t unroll_taps = 64;
  // The same if the schedule does not say it: 1 if a tap takes much code itself.
  int64_t straight_taps() const { return reducer_.facts().has_long_taps() ? 1 : unroll_taps; }
  // Reduces over the taps of dims [0, dims), in row-major order, and calls leaf where one tap of each is
  // fixed. Constant tap counts become straight-line code if their product with those of the dims inside is at
  // most unroll_limit; others become loops. fresh: the states of "no tap yet".
  States reduce(const Cursor& cursor, size_t dims, const States& fresh, const Leaf& leaf,
                int64_t unroll_limit);

  // --- backward
  // The view that is read with each tap. Cursor::beside is its address.
  const std::optional<View>& beside() const { return beside_; }
  // The taps of an average are divided; those of a maximum are chosen by their indices.
  bool divides() const { return nest_.is_backward() && nest_.divides(); }
  bool chooses() const { return nest_.is_backward() && nest_.indices; }
  // The index by which outputs are chosen, for each lane; constant while taps are reduced.
  Value own_index(const Cursor& cursor, const Lanes& lanes);
  // Indices, each so many elements behind the one before, as lanes that own_index can be compared with; those
  // not in `wanted` are anything.
  Value load_indices(const Address& address, int64_t stride, int lanes, const std::vector<int64_t>& wanted);
  // The same, from vectors of indices of so many lanes each, which load(begin) loads.
  int lanes_of_indices(int lanes) const;
  Value joined_indices(int lanes, const std::function<Value(int begin)>& load);
  // The tap, for the lanes whose index is their own.
  TapOffset choose(const TapOffset& tap, Value indices, Value own);
  const DimPlan& plan(size_t dim) const { return plans_[dim]; }

  // --- code for all sizes
  // A word of the size; each call loads it anew.
  Value word(int number);
  const SizeLayout& layout() const { return layout_; }
  // The mask for the first `valid` of some lanes, but for the very first `skipped` (no_value: none), of which
  // this vector has those from `begin` on.
  Value mask_of(const Type& type, Value valid, int begin = 0, Value skipped = no_value);
  // The distance in memory between positions of a dimension, in bytes.
  Step step(const View& view, size_t dim) const;
  Step times(const Step& step, int64_t positions);
  // The same between channels, and between so many of them, which are whole blocks.
  Step channel_step(const View& view);
  Step channels_step(const View& view, int64_t channels);
  Address further_by(const Address& address, Value iv, Step step, int64_t positions);

  // --- results
  // Calls move(address, view) for every view that is laid out as the output: the output, operands, and
  // indices that are written.
  template <typename Move>
  void for_each_output(Cursor& cursor, const Move& move) const {
    move(cursor.output, nest_.output);
    for (size_t i = 0; i < operands_.size(); ++i) move(cursor.operands[i], operands_[i]);
    if (writes_indices()) move(cursor.indices, *nest_.indices);
  }
  // The same place, `outputs` further on along a dimension whose windows all move by one step.
  Cursor further(const Cursor& cursor, size_t dim, int64_t outputs) const;
  // The same window, limited to `count` taps along a dimension.
  Cursor taps_from(const Cursor& cursor, size_t dim, int64_t first, int64_t count) const;
  // A cursor at position 0 of a dimension, moved along its input; or along its output, with the window there.
  Cursor at_input(const Cursor& cursor, size_t dim, const Position& position) const;
  Cursor at_output(const Cursor& cursor, size_t dim, const Position& position, Value divisor_taps);
  // A cursor moved along its output alone.
  Cursor further_outputs(const Cursor& cursor, size_t dim, const Position& position) const;
  void store(const Cursor& cursor, const State& state, const Lanes& lanes);
  bool is_staged() const { return staging_ != nullptr; }
  // Emits code for all channels of a part of the output, group after group where results are staged. What the
  // body has stored of a group then goes to the output. The cursor stands at the group's first channel.
  struct GroupSize {
    int64_t channels, columns, rows = 1;
    int64_t first = 0;  // column of the part
  };
  using GroupBody = std::function<void(const Cursor& first, int64_t channels)>;
  void for_each_group(const Cursor& part, const GroupSize& size, const GroupBody& body);
  // The same, channel by channel, of staged columns: one code for all groups.
  void for_each_channel(const Cursor& part, const GroupSize& size, const Body& body);

  const IndexRule& index_rule() const { return rule_; }
  // The steps of an index from channel to channel, and from column to column.
  Step channel_weight();
  Step column_weight();
  // The step of an index from tap to tap along a dimension.
  int64_t index_step(size_t dim) const;

 private:
  struct Walk {
    const Cursor& cursor;
    size_t dims;
    const States& fresh;
    const Leaf& leaf;
    int64_t unroll_limit;
    std::vector<Address> divisors;  // per dimension, at the window's first tap
  };
  struct Level {
    size_t dim;
    TapAt at;
    States states;
  };
  bool leave_gaps(size_t dim) const;
  void do_gap(Cursor& cursor, size_t dims, const Body& body);
  bool writes_indices() const { return nest_.indices && !nest_.is_backward() && stores_indices_; }
  // True if taps carry what they add to an index.
  bool indexed() const { return nest_.indices && (!nest_.is_backward() || rule_.of_window); }
  // True if outputs are compared by their positions.
  bool compares_positions() const { return chooses() && !rule_.of_window; }
  std::vector<Address> divisor_tables(const Cursor& cursor, size_t dims);
  TapAt next_tap(const TapAt& at, size_t dim) const;
  int divisor_table(size_t dim);
  Value divisor_here(const TapAt& at, size_t dim);
  bool takes_rows_first(size_t dims, bool does_gaps) const;
  // A group of channels; is_last: 0 or 1, whether it is the last one, which has more; no_value: none has.
  struct Group {
    Cursor first;
    int64_t channels, last;
    Value is_last = no_value;
  };
  Group open_group(const Cursor& part, int64_t channels);
  void for_each_count(const Group& group, const std::function<void(int64_t channels)>& emit);
  Cursor staged(Cursor cursor, int64_t column);
  void store_staged(const Cursor& first, const GroupSize& size);
  Value low_halves(DType to, Value a, Value b);
  int open_task(Cursor& cursor, const char* name, int64_t extent, Step (Lowering::*step_of)(const View&),
                const Step& index_weight);
  int open_channel_blocks(Cursor& cursor);
  // --- strides, which may be words of the size
  int number_of(const View& view) const;
  std::vector<Step> steps_of(const View& view);
  Step batch_step(const View& view);
  Address along(Address address, const Position& position, const Step& step) const;
  Value valid_mask(const Type& type, const Lanes& lanes, int begin);
  // Moves a cursor along a dimension, by a number of positions (an index value), or by an iv times a
  // constant.
  void move_input(Cursor& cursor, size_t dim, Value positions);
  void move_output(Cursor& cursor, size_t dim, Value positions);
  void iterate_input(Cursor& cursor, size_t dim, Value iv, int64_t positions);
  void iterate_output(Cursor& cursor, size_t dim, Value iv, int64_t positions);
  Value add_product(Value sum, Value factor, const Step& each);
  void open_single_run(Cursor& cursor, Value begin, Value count);
  int open_run_table(Cursor& cursor, Runs which, Value begin, Value count);
  int open_runs_of_size(Cursor& cursor, bool task);
  Address at_words(Value byte);
  int open_rows(Cursor& cursor, const Address& table, Value rows, const Outputs& outputs);
  States reduce_level(const Walk& walk, const Level& level);
  States reduce_straight(const Walk& walk, Level level);
  Level reduce_loop(const Walk& walk, Level level, Value trip, int depth);
  Value carried_offset(const TapOffset& offset, int lanes);
  States combine(const States& a, const States& b);
  Value load_operand(const Address& address, const View& view, const Lanes& lanes);
  Step lane_step(const View& view, const Lanes& lanes);
  std::function<Address(int64_t lane)> lane_addresses(const Address& first, const Step& step);
  void store_lanes(const Address& to, Value value, const Step& step, const std::vector<int64_t>& stored,
                   Value mask);
  void store_first(const Address& to, Value value, int64_t count);
  void store_indices(const Cursor& cursor, Value winner, const Lanes& lanes);
  Value index_of_lane_zero(const Cursor& cursor, const Lanes& lanes);
  Value any_tap(const Cursor& cursor);
  // The step of an index from position to position along a dimension.
  Value index_weight(size_t dim);
  // True if the offsets of taps count in the plane of the stand-ins.
  bool counts_in_stand_ins() const { return count_in_stand_ins(nest_); }
  Value plane_offset(Value offset);

  const PoolNest& nest_;
  Builder& b_;
  Reducer& reducer_;
  bool stores_indices_ = true;
  IndexRule rule_;
  const SizeLayout layout_;
  const Staging* const staging_;
  std::optional<Address> stage_, staged_indices_;
  const std::vector<View> operands_;  // that lie as the output does; or where staged results belong
  const std::optional<View> beside_;
  std::vector<DimPlan> plans_;
  std::vector<std::vector<Step>> steps_;    // by view, per dimension
  std::vector<Step> tap_steps_;             // of the input, per dimension: from tap to tap,
  std::vector<Step> period_steps_;          // and from period to period
  std::vector<Step> beside_tap_steps_;      // of the view beside it: from tap to tap
  std::vector<std::vector<Value>> blocks_;  // by view: hold_blocks(), what lies 1, 2 .. blocks further on
  int batch_task_ = -1, channels_task_ = -1;
  int rows_task_ = -1;               // of all sizes: of the first dimension's outputs
  std::vector<int> divisor_tables_;  // per dimension, once asked for

  static constexpr int64_t table_entry = 8;  // bytes
};

}  // namespace pooljit::ir
