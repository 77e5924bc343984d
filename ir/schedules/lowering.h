// Lowering: what every schedule family shares. Loops over batches, channels and output positions; the run
// tables that tell border windows from full ones without a branch on data; reducing over taps; storing values
// and indices.
//
// Borders. The outputs along a dimension fall into runs that keep the same taps (ir/nest.h); their number is
// bounded by the kernel, not by the tensor. A dimension with more than one run is walked as `for run in
// table: for output in run`, so one piece of code serves every run. A run also says whether its windows are
// full; a loop with that 0 or 1 as its trip count picks the straight-line code for full windows and the
// counted loops for the others.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "ir/builder.h"
#include "ir/nest.h"
#include "ir/reductions/reducer.h"

namespace pooljit::ir {

Address plus(Address address, int64_t bytes);
Address plus(Address address, Value iv, int64_t bytes);

// What one dimension's window adds to the divisor of an average, as a factor; 1 where the window has no tap
// (its sum is 0).
int64_t divisor_taps(const PoolNest& nest, const Window& window);

// What is known of one dimension's window where the cursor stands. Index values; iconst where the window is
// full.
struct WindowAt {
  Value taps = no_value;
  Value divisor_taps = no_value;
  std::array<Value, 3> parts = {};  // taps as digits of base Lowering::part, most significant first
  Value first = no_value;    // input position of the first visible tap, at the output that the loops stand at
  Value outputs = no_value;  // how many outputs the run has
};

// Where the emitted code stands: one batch, one channel, one output position of each dimension opened so far.
struct Cursor {
  Address input, output, indices;
  boost::container::small_vector<WindowAt, 3> windows;  // one per opened dimension
  Value full = no_value;  // index 0 or 1: all opened windows are full; iconst 1 where they always are
};

// How a vector of outputs is stored.
struct Lanes {
  int count = 1;
  std::vector<int64_t> stored;  // 0/1 per lane; empty: all
  std::vector<int64_t>
      divisor_taps;  // per lane, of the dimension that the lanes run along; 1 if that is the channel
  std::vector<int64_t> empty;  // 1 where the lane's window has no tap along that dimension; empty: nowhere
  Value origin = no_value;     // of lane 0's window along that dimension; only where indices are asked for
  int64_t index_step = 0;      // of the plane index from lane to lane

  static Lanes channels(int count, std::vector<int64_t> stored = {});
};

class Lowering {
 public:
  Lowering(const PoolNest& nest, Builder& builder, Reducer& reducer)
      : nest_(nest), b_(builder), reducer_(reducer) {}

  // --- positions; each returns how many loops it opened, for close()
  Cursor start();
  int open_batch(Cursor& cursor);
  int open_channels(Cursor& cursor);
  // The next dimension: first its runs, then the outputs of the run. task: callers of the kernel may split
  // it.
  enum class Runs { all, borders };  // borders: not the run of full windows
  int open_runs(Cursor& cursor, bool task, Runs which = Runs::all);
  int open_outputs(Cursor& cursor);
  void close(int loops);
  // Emits body for full windows and again for the others, each under a loop that runs it 0 or 1 times; once
  // where all are full. For full windows the body's cursor has constants.
  void split_full(const Cursor& cursor, const std::function<void(Cursor)>& body);

  // A dimension's full window, for cursors that stand inside the image along it.
  WindowAt full_window(size_t dim);

  // --- taps
  using States = boost::container::small_vector<State, 4>;
  using Leaf = std::function<States(States, const Address&, const TapOffset&)>;
  // Reduces over the taps of dims [0, dims), in row-major order: calls leaf where one tap of each is fixed.
  // Constant tap counts whose product with those of the dims inside is at most unroll_limit become
  // straight-line code, others loops. fresh: the states of "no tap yet".
  States reduce(const Cursor& cursor, size_t dims, const States& fresh, const Leaf& leaf,
                int64_t unroll_limit);

  // --- results
  void store(const Cursor& cursor, const State& state, const Lanes& lanes);

  int64_t plane_stride(size_t dim) const;  // elements of the logical plane from one position to the next

  static constexpr int64_t part =
      128;  // the most float additions into one accumulator before it joins the next level

 private:
  struct Steps {  // bytes
    int64_t input, output, indices;
  };
  struct Walk {
    const Cursor& cursor;
    size_t dims;
    const States& fresh;
    const Leaf& leaf;
    int64_t unroll_limit;
  };
  struct Level {
    size_t dim;
    Address at;
    TapOffset offset;
    States states;
  };
  Steps dim_steps(size_t dim, int64_t input_positions) const;
  int open_task(Cursor& cursor, const char* name, int64_t extent, const Steps& steps);
  void move(Cursor& cursor, Value begin, const Steps& steps);
  void iterate(Cursor& cursor, Value iv, const Steps& steps);
  int open_run_table(Cursor& cursor, Runs which, Value begin, Value count);
  States reduce_level(const Walk& walk, const Level& level);
  States reduce_straight(const Walk& walk, Level level);
  Level reduce_loop(const Walk& walk, Level level, Value trip, int depth);
  States combine(const States& a, const States& b);
  void store_indices(const Cursor& cursor, Value winner, const Lanes& lanes);
  Value plane_index(const Cursor& cursor, const Lanes& lanes);
  Value any_tap(const Cursor& cursor);

  const PoolNest& nest_;
  Builder& b_;
  Reducer& reducer_;
};

}  // namespace pooljit::ir
