#include "ir/general/size_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "ir/general/joined_planes.h"
#include "ir/general/size_cuts.h"
#include "ir/reductions/facts.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/narrow_rows.h"
#include "ir/schedules/lowering/pieces.h"
#include "ir/schedules/lowering/row_rules.h"
#include "ir/schedules/lowering/run_table.h"
#include "ir/schedules/lowering/size_layout.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

// Tasks along the first dimension.
int64_t tasks_of(const NestDim& dim) { return dim.kind == DimKind::gather ? dim.periods() : dim.output; }

// Outputs in code that takes them one by one: where windows follow the extents, none is like the one before.
std::vector<Run> runs_of_size(const PoolNest& general, const NestDim& dim) {
  if (general.extents == Extents::any) return runs(dim);
  std::vector<Run> all;
  all.reserve(static_cast<size_t>(dim.output));
  for (int64_t output = 0; output < dim.output; ++output)
    all.push_back({output, output + 1, dim.window(output)});
  return all;
}

// Of a gradient: a window hangs over columns that a negative padding cuts off, which take nothing of it.
// Tiles, which know all windows of a column, would add it.
bool reaches_cropped(const NestDim& dim) {
  if (dim.kind != DimKind::gather || dim.pad_end >= 0 || dim.input == 0) return false;
  const int64_t last = (dim.input - 1) * dim.stride - dim.pad_begin + (dim.kernel - 1) * dim.dilation;
  return last >= dim.output + dim.pad_end;
}

// Each has a row of the words.
bool has_many_outside(const NestDim& row) {
  constexpr int64_t many = 4096;
  const Interior whole = interior(row);
  return RowRules::is_long(row) && row.output - (whole.end - whole.begin) > many;
}

// How the rows of the nests relate to the layer's.
enum class Rows : uint8_t { as_they_are, joined, of_pixels };

class Writer {
 public:
  // words: as many as the layouts of all Writers have. Tables are added to them.
  Writer(const PoolNest& general, const PoolNest& sized, Rows rows, std::vector<int64_t>& words)
      : general_(general),
        sized_(sized),
        has_joined_rows_(rows == Rows::joined),
        has_pixel_rows_(rows == Rows::of_pixels),
        layout_(general),
        words_(words) {
    for (const NestDim& dim : sized.dims) {
      runs_.push_back(runs_of_size(general, dim));
      if (!counts_gathered(sized) || general.extents != Extents::any) continue;
      alike_gathered_.push_back(alike_of_gather(sized, dim));
      runs_.back() = cut_at(runs_.back(), alike_gathered_.back());
    }
  }

  Result<void> write() {
    write_view(SizeLayout::input, sized_.input);
    write_view(SizeLayout::output, sized_.output);
    if (sized_.indices) write_view(SizeLayout::indices, *sized_.indices);
    int operand = SizeLayout::first_operand;
    for (const View& view : operand_views(sized_)) write_view(operand++, view);
    if (sized_.is_backward() && !gradient_facts(sized_))
      return unsupported("general.window", "indices beyond 2^31", "compile the layer for this size");
    if (layout_.has_columns() && reaches_cropped(sized_.dims.back()))
      return unsupported("general.window", "windows that reach columns which are cropped",
                         "compile the layer for this size");
    if (const int64_t columns = sized_.dims.back().input; is_line_too_long(columns))
      return unsupported("general.window", fmt::format("a row of {} columns", columns),
                         "compile the layer for this size");
    if (sized_.indices) {
      if (index_reach(sized_) > std::numeric_limits<int32_t>::max())
        return unsupported("general.window", "taps of one window that lie 2^31 or more elements apart",
                           "compile the layer for this size");
      write_indices();
    }
    if (const NestDim& row = sized_.dims.back(); layout_.has_columns() && has_many_outside(row))
      return unsupported("general.window", "so many windows of different lengths along a row",
                         "compile the layer for this size");
    if (layout_.has_columns() && general_.extents == Extents::any) write_columns();
    if (layout_.has_columns() && general_.extents == Extents::any_windows)
      sized_.is_backward() ? write_stretches() : write_window_rows();
    for (size_t i = 0; i < sized_.dims.size(); ++i) write_dim(i);
    // No code goes along rows of pixels by their runs, of which there are as many as channels.
    for (size_t i = 0; i + has_pixel_rows_ < sized_.dims.size(); ++i)
      if (auto done = write_runs(i); !done) return done;
    if (general_.extents == Extents::any && layout_.has_pieces())
      for (const int64_t length : piece_lengths)
        for (size_t back : {size_t{2}, size_t{1}}) write_pieces(sized_.dims.size() - back, length);
    for (size_t i = 0; counts_gathered(sized_) && i < sized_.dims.size(); ++i) write_gathered(i);
    return {};
  }

 private:
  int64_t& word(int number) { return words_[static_cast<size_t>(number)]; }

  void write_view(int number, const View& view) {
    word(layout_.batch(number)) = byte_stride(view, view.batch_stride);
    word(layout_.channel(number)) = byte_stride(view, view.channel_stride);
    for (size_t i = 0; i < view.strides.size(); ++i)
      word(layout_.position(number, i)) = byte_stride(view, view.strides[i]);
  }

  void write_indices() {
    const IndexRule rule = index_rule(sized_);
    const std::vector<int64_t> stand_ins = stand_in_weights(general_);
    word(layout_.index_batch()) = rule.batch;
    word(layout_.index_channel()) = rule.channel;
    for (size_t i = 0; i < rule.dims.size(); ++i) {
      const bool is_last = i + 1 == rule.dims.size();
      const int64_t passed = is_last ? 0 : stand_ins[i] / stand_ins[i + 1] * rule.dims[i + 1];
      word(layout_.of_dim(i, SizeLayout::weight)) = rule.dims[i];
      // The offset in one row is the tap's place.
      const bool has_one_row = has_joined_rows_ && !is_last;
      word(layout_.of_dim(i, SizeLayout::carry)) = has_one_row ? 0 : rule.dims[i] - passed;
    }
  }

  void write_dim(size_t i) {
    const NestDim& dim = sized_.dims[i];
    Interior seen, rolled, usual;
    if (general_.extents == Extents::any && dim.is_forward()) {
      seen = outputs_of(runs_[i], [](const Run& run) { return run.window.taps > 0; });
      rolled = rolled_outputs(i, seen);
      usual = usual_outputs(i);
    }
    word(layout_.of_dim(i, SizeLayout::roll_begin)) = rolled.begin;
    word(layout_.of_dim(i, SizeLayout::roll_pairs)) = (rolled.end - rolled.begin) / 2;
    word(layout_.of_dim(i, SizeLayout::output_pairs)) = dim.output / 2;
    word(layout_.of_dim(i, SizeLayout::output_blocks)) = ceil_div(dim.output, dim.kernel);
    word(layout_.of_dim(i, SizeLayout::usual_begin)) = usual.begin;
    word(layout_.of_dim(i, SizeLayout::usual_end)) = usual.end;
    word(layout_.of_dim(i, SizeLayout::first)) = -dim.pad_begin;
    word(layout_.of_dim(i, SizeLayout::visible)) = dim.visible_input();
    word(layout_.of_dim(i, SizeLayout::padded)) =
        (dim.kind == DimKind::gather ? dim.output : dim.input) + dim.pad_end;
    word(layout_.of_dim(i, SizeLayout::outputs)) =
        general_.extents == Extents::any ? tasks_of(dim) : dim.output;
    word(layout_.of_dim(i, SizeLayout::seen_begin)) = seen.begin;
    word(layout_.of_dim(i, SizeLayout::seen_end)) = seen.end;
  }

  // Of the usual divisor, with all that a window has beyond the one before it inside the image.
  Interior rolled_outputs(size_t i, const Interior& seen) const {
    const NestDim& dim = sized_.dims[i];
    Interior rolled = alike_outputs(i);
    if (counts_divisors()) {
      const Interior whole = interior(dim);
      rolled = {std::max(rolled.begin, whole.begin), std::min(rolled.end, whole.end)};
    } else {
      const int64_t to_end = dim.visible_input() + dim.pad_begin - dim.kernel;
      const int64_t before = std::max<int64_t>(0, dim.pad_begin + dim.stride - dim.kernel);
      rolled = {ceil_div(before, dim.stride), to_end < 0 ? 0 : to_end / dim.stride + 1};
    }
    rolled = {std::max(rolled.begin, seen.begin), std::min(rolled.end, seen.end)};
    return rolled.begin < rolled.end ? rolled : Interior{seen.begin, seen.begin};
  }

  bool counts_divisors() const { return sized_.divides_by_taps(); }

  void write_columns() {
    const NestDim& dim = sized_.dims.back();
    const size_t columns = sized_.dims.size() - 1;
    if (dim.kind == DimKind::gather) {
      const Interior taps = counts_gathered(sized_) ? alike_gathered_.back() : Interior{0, dim.input};
      const Interior whole =
          write_places(places_of_gather(dim), whole_places_of_gather(dim, taps), dim.output);
      write_outside(whole.begin * dim.stride - dim.pad_begin, whole.end * dim.stride - dim.pad_begin);
      return;
    }
    const Interior masked = counts_lanes(sized_) ? Interior{0, dim.output} : alike_outputs(columns);
    const Interior whole = write_places(masked, usual_outputs(columns), masked.end);
    for (int64_t output = 0; output < dim.output; ++output) {
      if (output == whole.begin) output = whole.end;
      if (output >= dim.output) break;
      if (RowRules::is_long(dim))
        append_run(words_, sized_, {output, output + 1, dim.window(output)}, false);
      else
        words_.push_back(divisor_taps(sized_, dim.window(output)));
    }
  }

  // Returns the whole windows, which are none behind all others if they are none.
  Interior write_places(Interior masked, Interior whole, int64_t stored_end) {
    if (whole.begin >= whole.end) whole = {masked.end, masked.end};
    const int64_t fields[SizeLayout::column_fields] = {masked.begin,
                                                       masked.end,
                                                       whole.begin,
                                                       whole.end,
                                                       stored_end,
                                                       0,
                                                       std::ssize(words_) * int64_t{sizeof(int64_t)}};
    std::ranges::copy(fields, &word(layout_.column(SizeLayout::masked_begin)));
    const bool may_be_narrow = NarrowRows::suits(sized_);
    for (int i = 0; i < SizeLayout::lane_counts; ++i) write_tiles(1 << i, masked, whole, may_be_narrow);
    return whole;
  }

  // Of a gradient, outputs but for these.
  void write_outside(int64_t begin, int64_t end) {
    const NestDim& dim = sized_.dims.back();
    for (int64_t output = 0; output < dim.output; ++output) {
      if (output == begin) output = std::max(begin, end);
      if (output >= dim.output) break;
      const int64_t period = output / dim.stride;
      append_run(words_, sized_, {period, period + 1, dim.window(output), output % dim.stride, 1}, false);
    }
  }

  // Whose divisor is the kernel's taps.
  Interior alike_outputs(size_t i) const {
    const NestDim& dim = sized_.dims[i];
    if (!counts_divisors()) return {0, dim.output};
    const Interior periods =
        outputs_of(runs_[i], [&](const Run& run) { return divisor_taps(sized_, run.window) == dim.kernel; });
    return {periods.begin * dim.pixel, periods.end * dim.pixel};
  }

  // ... and which are whole windows.
  Interior usual_outputs(size_t i) const {
    const Interior whole = interior(sized_.dims[i]), alike = alike_outputs(i);
    const Interior usual = {std::max(whole.begin, alike.begin), std::min(whole.end, alike.end)};
    return usual.begin < usual.end ? usual : Interior{};
  }

  void write_tiles(int lanes, Interior masked, Interior whole, bool may_be_narrow) {
    const int64_t places = places_of_tile(sized_.dims.back(), lanes);
    if (places == 0) return;
    const TileCut cut = cut_tiles(places, masked, whole);
    word(layout_.tiles(lanes, SizeLayout::before)) = cut.before;
    word(layout_.tiles(lanes, SizeLayout::inside_begin)) = cut.inside_begin;
    word(layout_.tiles(lanes, SizeLayout::inside)) = cut.inside;
    word(layout_.tiles(lanes, SizeLayout::last)) = cut.last;
    word(layout_.tiles(lanes, SizeLayout::behind_begin)) = cut.inside_begin + cut.inside * places;
    word(layout_.tiles(lanes, SizeLayout::behind)) = cut.behind;
    word(layout_.tiles(lanes, SizeLayout::run)) = (whole.end - whole.begin) / places;
    const int vectors = may_be_narrow ? NarrowRows::count(sized_.dims.back(), lanes) : 0;
    word(layout_.tiles(lanes, SizeLayout::one_vector)) = vectors == 1;
    word(layout_.tiles(lanes, SizeLayout::two_vectors)) = vectors == 2;
    word(layout_.tiles(lanes, SizeLayout::row_parts)) =
        may_be_narrow ? NarrowRows::parts(sized_.dims.back(), lanes) : 0;
  }

  // Of adaptive windows in channels-first planes.
  bool is_line_too_long(int64_t columns) const {
    return general_.extents == Extents::any_windows && layout_.has_columns() && sized_.dims.size() > 1 &&
           !sized_.is_backward() && !has_joined_rows_ && columns > SizeLayout::most_line_columns;
  }

  // How vectors of each number of lanes cover the rows of the windows.
  void write_window_rows() {
    std::vector<int64_t> columns;
    for (const Run& run : runs_.back()) columns.push_back(run.window.taps);
    columns.push_back(sized_.dims.back().visible_input());
    write_rows(columns);
  }

  // Of a gradient: the stretches of outputs with the same windows, and how vectors cover each.
  void write_stretches() {
    const NestDim& dim = sized_.dims.back();
    std::vector<Run> stretches;
    for (const Run& output : runs_.back()) {
      const Window* const before = stretches.empty() ? nullptr : &stretches.back().window;
      const bool is_alike =
          before && before->first == output.window.first && before->taps == output.window.taps;
      is_alike ? void(stretches.back().end = output.end) : stretches.push_back(output);
    }
    word(layout_.column(SizeLayout::stretches)) = std::ssize(stretches);
    word(layout_.column(SizeLayout::stored_end)) = dim.output;
    word(layout_.column(SizeLayout::outside)) = std::ssize(words_) * int64_t{sizeof(int64_t)};
    for (const Run& stretch : stretches) append_run(words_, sized_, stretch, false);
    std::vector<int64_t> columns;
    for (const Run& stretch : stretches) columns.push_back(stretch.outputs());
    write_rows(columns);
  }

  // By number of lanes: how its vectors cover rows of so many columns.
  void write_rows(const std::vector<int64_t>& columns) {
    for (int i = 0; i < SizeLayout::lane_counts; ++i) {
      word(layout_.tiles(1 << i, SizeLayout::window_rows)) = std::ssize(words_) * int64_t{sizeof(int64_t)};
      for (const int64_t row : columns) write_row(row, int64_t{1} << i);
    }
  }

  void write_row(int64_t columns, int64_t lanes) {
    constexpr int64_t together = SizeLayout::vectors_of_group;
    const int64_t vectors = columns / lanes;
    words_.insert(words_.end(), {vectors / together, vectors % together, columns % lanes});
  }

  int64_t most_taps(size_t i) const {
    if (has_joined_rows_) return general_.full_taps();
    if (general_.extents == Extents::any || sized_.dims.size() > 1 || !layout_.has_columns() ||
        !sums_floats(sized_))
      return general_.dims[i].kernel;
    return 32 * most_taps_of_sum;
  }

  Result<void> write_runs(size_t i) {
    const NestDim& dim = sized_.dims[i];
    const NestDim& any = general_.dims[i];
    const bool is_gather = any.kind == DimKind::gather;
    const int64_t most = is_gather ? any.most_taps() : most_taps(i), usual = usual_taps_of_any_size(any);
    const std::vector<Run>& all = runs_[i];
    word(layout_.of_dim(i, SizeLayout::runs)) = std::ssize(all);
    word(layout_.of_dim(i, SizeLayout::table)) = std::ssize(words_) * int64_t{sizeof(int64_t)};
    words_.reserve(words_.size() + all.size() * run_fields);
    for (const Run& run : all) {
      if (run.window.taps > most)
        return unsupported("general.window",
                           fmt::format("a window of {} taps along dimension {}, where the code is for {}",
                                       run.window.taps, i, most),
                           "compile the layer for this size");
      const bool has_usual_divisor = is_gather
                                         ? !counts_gathered(sized_) || takes_among(run, alike_gathered_[i])
                                         : divisor_taps(sized_, run.window) == usual;
      const bool is_usual = run.window.taps == usual && has_usual_divisor;
      append_run(words_, sized_, run, is_usual);
      // Sums of code for this size alone are made in blocks only where windows may be long.
      if (int64_t* const digits = &words_[words_.size() - run_fields + run_digit]; !is_long(dim))
        digits[0] = digits[1] = 0, digits[2] = run.window.taps;
    }
    return {};
  }

  void write_pieces(size_t i, int64_t length) {
    const NestDim& dim = sized_.dims[i];
    const int64_t outputs = even_piece(dim.output, length), count = ceil_div(dim.output, outputs);
    const auto field = [&](SizeLayout::PieceField of) -> int64_t& {
      return word(layout_.pieces(i, length, of));
    };
    field(SizeLayout::piece_count) = count;
    field(SizeLayout::piece_outputs) = outputs;
    field(SizeLayout::piece_blocks) = ceil_div(outputs, dim.kernel);
    field(SizeLayout::last_blocks) = ceil_div(dim.output - (count - 1) * outputs, dim.kernel);
  }

  void write_gathered(size_t i) {
    word(layout_.of_dim(i, SizeLayout::gathered)) = std::ssize(words_) * int64_t{sizeof(int64_t)};
    const NestDim forward = forward_of(sized_.dims[i]);
    for (int64_t window = 0; window < forward.output; ++window)
      words_.push_back(divisor_taps(sized_, forward.window(window)));
  }

  const PoolNest& general_;
  const PoolNest& sized_;
  const bool has_joined_rows_, has_pixel_rows_;
  const SizeLayout layout_;
  std::vector<std::vector<Run>> runs_;    // by dimension
  std::vector<Interior> alike_gathered_;  // the same; counts_gathered()
  std::vector<int64_t>& words_;
};

}  // namespace

Result<std::vector<int64_t>> size_words(const PoolNest& general, const PoolNest& sized) {
  std::vector<int64_t> words(static_cast<size_t>(size_word_count(general)));
  if (has_pixel_rows_of_any_size(general)) {
    const PoolNest any_row = as_one_channel(general), row = as_one_channel(sized);
    if (auto done = Writer(any_row, row, Rows::of_pixels, words).write(); !done)
      return tl::unexpected(done.error());
  }
  const std::optional<PoolNest> joined = with_joined_planes(general, sized);
  const Rows rows = joined ? Rows::joined : Rows::as_they_are;
  if (auto done = Writer(general, joined ? *joined : sized, rows, words).write(); !done)
    return tl::unexpected(done.error());
  return words;
}

int size_word_count(const PoolNest& general) { return SizeLayout(general).words(); }

int64_t task_count(const TaskDim& task, const PoolNest& sized, int64_t batch) {
  if (task.extent == TaskDim::batch_extent) return batch;
  if (task.extent == TaskDim::size_outputs) return sized.dims[0].output;
  return task.extent == TaskDim::size_extent ? tasks_of(sized.dims[0]) : task.extent;
}

int rows_word(const PoolNest& general) { return SizeLayout(general).of_dim(0, SizeLayout::outputs); }

}  // namespace pooljit::ir
