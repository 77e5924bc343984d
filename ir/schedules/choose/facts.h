// Facts: properties of a layer, and of the vectors of a schedule for it, by name. The conditions of rules.def
// are made of them. All follow from the layer in closed form. A fact that takes more than a few comparisons
// is a function; conditions ask it last.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

// An answer that is an order of numbers: the first is the best.
constexpr int64_t order(std::initializer_list<int> numbers) {
  int64_t packed = 0;
  for (size_t i = numbers.size(); i-- > 0;) packed = packed << 8 | numbers.begin()[i];
  return packed;
}

// The questions that rows of rules.def answer.
enum class Question : uint8_t {
#define QUESTION(name, ...) name,
#include "ir/schedules/choose/rules.def"
};

struct Facts {
  // lanes: of the vectors.
  Facts(const Layer& layer, LaneUse use, int lanes);
  Facts(const Facts&) = delete;
  using enum Question;

  const Layer& layer;
  const Facts* given = this;  // of the layer that was asked for, where `layer` has its pixels as rows
  bool one_each = false;      // channels_last's code takes each tap from memory as it is
  bool pairs = false;         // whole_planes' code takes bytes in pairs
  // window_rows: what counts as a row of a window and of outputs; each window of a row has code of its own.
  int64_t row_taps = 0, row_outputs = 0;
  bool unlike = false;
  // chooser, members: the family of the schedule that is asked about.
  Family family{};
  bool is_in_place = false;  // it takes each tap where it lies
  bool lies_apart = false;   // it holds lanes that lie apart
  bool shares = false;       // windows share along their rows, or in registers, what they have in common
  bool splits_tail = false;  // what no vector takes is done in pieces of it
  // members: the other one of two pools with the same windows; whether both take windows one by one.
  const Facts* beside = nullptr;
  bool by_windows = false;
  const PoolNest& nest;
  const LaneUse use;
  const ReductionFacts& reduction;
  int lanes;
  const int lane_bytes;    // of the widest lane
  const NestDim& row;      // along the row
  const NestDim& down;     // from row to row; where there is one row, a dimension of one position
  const int64_t channels;  // of the nest
  const int64_t pixel;     // bytes of all channels
  const int64_t taps;      // of a whole window
  const int64_t kernel;    // the lesser of those along the row and down
  const int64_t plane;     // bytes of one channel
  const int64_t image;     // bytes that the windows of one image may read
  const int64_t near = near_bytes;
  const DType dtype;           // of the input
  const int element;           // its bytes
  const int stored;            // bytes of a result
  const bool is_f32;           // its dtype is float32
  const bool extremes;         // a tap may be taken twice
  const bool masks;            // loads and stores of elements can be masked
  const bool few_registers;    // they do not hold what several vectors of windows share
  const bool is_simple;        // maxima, sums, averages and products without anything else
  const bool is_rank_2;        // two dimensions
  const bool in_second_cache;  // the image fits the second cache, not the first
  const bool out_of_second;    // the second cache does not hold the image together with what is stored
  const bool splits_pixels;    // the machine's parts_of_pixels
  const bool is_same_dtype;    // results have the input's dtype, without an epilogue

  // Bytes of the instruction set's vectors.
  int vector_bytes() const { return info(layer.isa()).vector_bytes; }
  // That hold all channels.
  int64_t vectors() const { return ceil_div(channels, lanes); }
  // The smallest power of two that is at least `count`, at most the lanes of a vector.
  int fitting(int64_t count) const { return layer.fitting_lanes(use, count); }
  // Of a plane.
  int64_t outputs() const { return down.output * row.output; }
  // So many that a row of the input is one strip, or the fewest possible. For bytes a short remainder is
  // ignored: it costs less than idle lanes.
  int lanes_of_row() const { return fitting(row.input - (lane_bytes == 1 ? row.input / 16 : 0)); }
  // Windows that move by one in each dimension.
  bool is_dense() const;
  // Windows that move by more than one in each dimension.
  bool is_strided() const;
  // No window reaches beyond the image, in any dimension.
  bool is_whole() const;
  // Windows without gaps.
  bool is_compact() const;
  // The longest of a window's extents.
  int64_t most_kernel() const;
  // Bytes are added in lanes of 16 bits.
  bool short_sums() const { return ir::short_sums(layer); }
  // 32 registers hold a value and a loaded tap of so many vectors of elements of 4 bytes.
  bool takes_sixteen() const { return !few_registers && is_f32 && nest.epilogue.empty(); }
  // Halves, and bytes in lanes of 16 bits, of images that wait for memory.
  bool are_far_short_lanes() const { return image >= near && (element == 2 || short_sums()); }
  // The share of windows that have the usual number of taps.
  double usual_share() const;
  // Bytes of an image and its results.
  int64_t moved() const { return moved_bytes(nest); }
  // Masks of loads and stores take vectors of their own.
  bool masks_in_vectors() const { return info(layer.isa()).mask == MaskEncoding::vector; }
  // Rows of so few outputs roll if padding or few rows of outputs keep channels_first from taking several
  // rows together.
  bool may_roll_down() const;
  // Lanes of the schedule that hold elements. If few are idle, these count too.
  int64_t filled() const;
  // Results of channels_first, row by row, go to scratch memory, and from there to where they belong.
  bool stages_columns() const;
  // Results that lie apart are stored one by one.
  bool stores_apart() const;
  // Rows of channels_first store into lines of the cache that all channels share, and the lines of a plane do
  // not stay in the first cache from channel to channel.
  bool shares_lines() const;
  // All windows of a row reach beyond the image, and neither masks nor a table can say which taps they have.
  // channels_first then computes output by output, and fills no vector.
  bool takes_outputs_alone() const;
  // Halves whose lanes are twice as wide where they move; their channels fill no vector.
  bool are_strided_halves() const;
  // A quarter of a vector, or less.
  bool fills_little() const { return lanes * 4 * element <= vector_bytes(); }
  // Many unlike windows make long code, which takes too long to compile for several schedules.
  bool has_many_unlike() const;
  // Channels are nearer in memory than some taps of a window: cache lines of one are those of the next, too.
  bool are_channels_nearer() const;
  // A maximum, minimum or average without anything that takes more registers.
  bool wants_few_registers() const {
    return is_simple && is_same_dtype && (nest.is_extreme() || nest.divides());
  }
  // All dimensions are those of a pool.
  bool are_pools() const;
  // Vectors that hold a row of outputs.
  int64_t row_vectors() const { return ceil_div(row.output, lanes); }
  // channels_first fills the borders of a row of maxima.
  bool fills_borders() const;
  // channels_first rolls so many vectors of so many lanes side by side.
  bool rolls_row(int of_lanes, int beside) const;
  // The given layer's channels lie along the row.
  bool are_pixels() const { return given->channels > channels; }
  // Integers of 8 bits.
  bool is_byte() const { return dtype == DType::u8 || dtype == DType::i8; }
  // There is one row.
  bool is_row() const { return nest.dims.size() == 1; }
  // Rows of outputs whose windows lie inside the image.
  int64_t whole_rows() const;
  // Rows of pixels of images that outgrow a core's own caches are read whole.
  bool are_far_pixels() const;
  // Bytes of a row of pixels whose cache lines compete for few sets: pixels that are a multiple of a large
  // power of two apart begin in the same sets. A schedule that rolls along the row reads these lines again
  // for the next row. The longer the row, the more of them have been evicted. 0 on machines where no such
  // effect was measured.
  int64_t crowded() const;
  // Pixels of the input or output are a multiple of so many bytes apart, so all begin in few sets of the
  // caches and evict each other's lines. The more of each pixel is read at a time, the better. False on
  // machines where no such effect was measured.
  bool meet(int64_t apart) const;
  // channels_last rolls so many vectors side by side.
  bool rolls_beside(int beside) const;
  // row_passes offers a schedule; one that does not go by passes.
  bool passes_rows() const { return !offer_row_passes(layer, 1).schedules.empty(); }
  bool rolls_rows() const;
  // NaN, zeros, dtype and channels are the usual ones.
  bool is_plain() const;
  // One or two of the widest vectors of bytes, of which the pixel fills at most three quarters.
  bool fills_half() const;
  // The largest of 8, 4, 3, 2 and 1 that divides the number of vectors.
  int even_part() const;
  // With so many vectors of channels side by side, registers about suffice for each state.
  bool leaves_room(int beside) const;
  // The registers hold so many vectors of channels side by side, window by window.
  bool holds(int beside) const;
  // interleaved offers a schedule.
  bool interleaves() const;
  // Rows of windows of two or three columns that move by one, which interleaved takes for all channels at
  // once, sharing what they have in common.
  bool shares_few_columns() const;

  // The answer of the first row whose condition holds; if there is none, the question's own.
  int64_t answer(Question question) const;
  bool says(Question question) const { return answer(question) != 0; }
  // The sentence of the first row whose condition holds: which other family does the layer better.
  std::string_view left(Question question) const;

 private:
#define RULE(question, name, ...) int64_t rule_##name() const;
#include "ir/schedules/choose/rules.def"
  friend struct RuleTable;
};

inline bool is_dense_pool(const NestDim& dim) {
  return dim.kind == DimKind::pool && dim.stride == 1 && dim.dilation == 1;
}

}  // namespace pooljit::ir
