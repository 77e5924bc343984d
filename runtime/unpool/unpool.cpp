#include "runtime/unpool/unpool.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "ir/offsets.h"
#include "runtime/unpool/indexing.h"
#include "runtime/unpool/lines.h"
#include "runtime/unpool/zeros.h"

namespace pooljit::runtime {
namespace {

constexpr int64_t mixed_channels = 16;       // done together where they are neighbours in one tensor only
constexpr int64_t filled_at_once = 1 << 18;  // bytes, of a core's own caches
constexpr int64_t segment_windows = 1024;    // of a row whose indices count in the window
constexpr int64_t few_windows = 4;           // of a plane: those of several planes are a longer loop
constexpr int64_t few_channels = 16;         // of a window: those of several windows are a longer loop
constexpr int64_t near_bytes = 16384;        // of indices and values that are read several times

int64_t channel_step(const ir::View& view) { return view.channel_block > 1 ? 1 : view.channel_stride; }

bool is_channels_last(const ir::View& view) { return channel_step(view) < view.strides.back(); }

// Channels of one batch that are done together.
struct Group {
  int64_t n, c, channels;
};

// The nest of an unpool whose gradient this is.
ir::PoolNest turned(ir::PoolNest nest) {
  std::swap(nest.input, nest.output);
  for (ir::NestDim& dim : nest.dims) std::swap(dim.input, dim.output);
  return nest;
}

class Unpool final : public Code {
 public:
  Unpool(CodeInfo code_info, bool is_gradient)
      : Code(std::move(code_info)),
        is_gradient_(is_gradient),
        nest_(is_gradient ? turned(info.nest) : info.nest),
        indexing_(nest_) {
    const ir::View &input = nest_.input, &output = nest_.output;
    takes_channels_ = nest_.channels > 1 && (is_channels_last(input) || is_channels_last(output));
    if (takes_channels_) {
      const bool is_mixed = !is_channels_last(input) || !is_channels_last(output);
      group_ = is_mixed ? mixed_channels : nest_.channels;
      for (const int64_t block : {input.channel_block, output.channel_block})
        if (block > 1) group_ = std::min(group_, block);
    }
    // Rows that lie evenly spaced are one.
    const std::vector<ir::NestDim>& dims = nest_.dims;
    for (row_dim_ = dims.size() - 1; row_dim_ > 0 && !indexing_.rule.of_window; --row_dim_)
      if (input.strides[row_dim_ - 1] != input.strides[row_dim_] * dims[row_dim_].input) break;
    width_ = ir::bytes(input.dtype);
    index_width_ = ir::bytes(nest_.indices->dtype);
    if (!takes_channels_ && !indexing_.rule.of_window && row_dim_ == 0) {
      int64_t plane = width_;
      for (const ir::NestDim& dim : dims) plane *= dim.output;
      group_ = std::max<int64_t>(near_bytes / plane, 1);
    }
    order_loops();
    are_inside_ = are_inside(nest_.indices->dtype);
    move_ = move(width_, nest_.indices->dtype, indexing_.form, is_gradient);
    info.held_bytes = sizeof *this + indexing_.taps.size() * sizeof indexing_.taps[0];
  }

  ir::Result<void> check(const Call& call, const TaskRanges& ranges) const override {
    std::optional<ir::Error> error;
    for_each_group(ranges, [&](const Group& group) {
      const bool is_right = for_each_line(call, group, [&](const Line& line, const Coordinates& window) {
        return indexing_.rule.of_window ? are_taps_inside(line, window) : are_inside_(indexing_, line);
      });
      if (!is_right) error = first_wrong(call, group);
      return is_right;
    });
    return error ? ir::Result<void>(tl::unexpected(std::move(*error))) : ir::Result<void>();
  }

  void run(const Call& call, const TaskRanges& ranges) const override {
    for_each_group(ranges, [&](const Group& group) {
      is_gradient_ ? gather(call, group) : scatter(call, group);
      return true;
    });
  }

 private:
  // Visits until it is told to stop.
  template <typename Visit>
  void for_each_group(const TaskRanges& ranges, const Visit& visit) const {
    const TaskRange &batch = ranges[0], &channels = ranges[1];
    const int64_t end = channels.begin + channels.count;
    for (int64_t n = batch.begin; n < batch.begin + batch.count; ++n)
      for (int64_t c = channels.begin, next = 0; c < end; c = next) {
        next = std::min((c / group_ + 1) * group_, end);
        if (!visit(Group{n, c, next - c})) return;
      }
  }

  void scatter(const Call& call, const Group& group) const {
    Zeros zeros(indexing_.plane, places_of(call, group), group.channels, channel_step(nest_.output), width_);
    const bool is_small = zeros.bytes() <= filled_at_once;
    if (is_small) zeros.fill_all();
    for_each_line(call, group, [&](const Line& line, const Coordinates& window) {
      if (indexing_.rule.of_window) fill_for(line, window, zeros);
      move_(indexing_, line, is_small || indexing_.rule.of_window ? nullptr : &zeros);
      return true;
    });
    zeros.fill_all();
  }

  void gather(const Call& call, const Group& group) const {
    for_each_line(call, group, [&](const Line& line, const Coordinates&) {
      move_(indexing_, line, nullptr);
      return true;
    });
  }

  // The first elements of what an unpool reads and of what it writes. Its gradient goes back.
  std::byte* values_of(const Call& call) const {
    return static_cast<std::byte*>(is_gradient_ ? call.output : const_cast<void*>(call.input));
  }
  std::byte* places_of(const Call& call, const Group& group) const {
    auto* const first = static_cast<std::byte*>(is_gradient_ ? const_cast<void*>(call.input) : call.output);
    return first + ir::plane_offset(nest_.output, group.n, group.c) * width_;
  }

  // Windows along the row dimensions.
  int64_t row_windows() const {
    int64_t windows = 1;
    for (size_t d = row_dim_; d < nest_.dims.size(); ++d) windows *= nest_.dims[d].input;
    return windows;
  }

  // The inner loop is the longer one. Data of the outer one stays in the first cache.
  void order_loops() {
    const int64_t value_bytes = width_ + index_width_, channels = std::min(group_, nest_.channels);
    const int64_t windows = row_windows();
    const int64_t segment = std::clamp<int64_t>(near_bytes / (channels * value_bytes), 1, windows);
    takes_windows_inside_ = takes_channels_ ? channels <= std::min(segment, few_channels)
                                            : windows >= std::min(channels, few_windows);
    if (indexing_.rule.of_window) segment_ = segment_windows;
    if (takes_channels_ && takes_windows_inside_) segment_ = std::min(segment_, segment);
    if (!takes_channels_ && !takes_windows_inside_)
      group_ = std::min(group_, std::max(near_bytes / (windows * value_bytes), windows));
  }

  // The shape of all lines of a group.
  Line line_of(const Group& group) const {
    const size_t last = nest_.dims.size() - 1;
    const LineLoop windows{
        .count = row_windows(),
        .step = nest_.input.strides[last],
        .places_step = indexing_.rule.of_window ? nest_.dims[last].stride * nest_.output.strides[last] : 0};
    // Planes that are done together lie evenly spaced.
    const LineLoop channels{.count = group.channels,
                            .step = channel_step(nest_.input),
                            .places_step = channel_step(nest_.output),
                            .base_step = static_cast<uint64_t>(indexing_.rule.channel)};
    Line line{};
    line.base = indexing_.base(group.n, group.c);
    line.outer = takes_windows_inside_ ? channels : windows;
    line.inner = takes_windows_inside_ ? windows : channels;
    return line;
  }
  LineLoop& windows_of(Line& line) const { return takes_windows_inside_ ? line.inner : line.outer; }

  // Calls visit(line, window of its first value) in row-major order, until it is told to stop; whether it was
  // not.
  template <typename Visit>
  bool for_each_line(const Call& call, const Group& group, const Visit& visit) const {
    const ir::PoolNest& nest = nest_;
    Line line = line_of(group);
    int64_t& windows = windows_of(line).count;
    const int64_t row = windows, segment = std::min(segment_, row);
    const size_t last = nest.dims.size() - 1;
    Coordinates window{};
    for (size_t outer = 1; outer > 0;) {
      for (window[last] = 0; window[last] < row; window[last] += segment) {
        windows = std::min(segment, row - window[last]);
        place(line, call, group, window);
        if (!visit(line, window)) return false;
      }
      window[last] = 0;
      for (outer = row_dim_; outer > 0; --outer) {
        if (++window[outer - 1] < nest.dims[outer - 1].input) break;
        window[outer - 1] = 0;
      }
    }
    return true;
  }

  void place(Line& line, const Call& call, const Group& group, const Coordinates& window) const {
    const ir::PoolNest& nest = nest_;
    int64_t from = ir::plane_offset(nest.input, group.n, group.c), to = 0;
    for (size_t d = 0; d < nest.dims.size(); ++d) {
      from += window[d] * nest.input.strides[d];
      if (indexing_.rule.of_window) to += origin(d, window[d]) * nest.output.strides[d];
    }
    line.values = values_of(call) + from * width_;
    line.indices = static_cast<const std::byte*>(call.indices) + from * index_width_;
    line.places = places_of(call, group) + to * width_;
  }

  // ------------------------------------------------------------------ indices that count in the window

  // Where the first tap of a window lies; it may lie outside.
  int64_t origin(size_t d, int64_t window) const {
    return window * nest_.dims[d].stride - nest_.dims[d].pad_begin;
  }
  bool is_whole(size_t d, int64_t window) const {
    const int64_t first = origin(d, window);
    return first >= 0 && first + nest_.dims[d].kernel <= nest_.dims[d].output;
  }

  // Zeros wherever these windows have taps, as far as the outermost dimension tells.
  void fill_for(Line line, const Coordinates& window, Zeros& zeros) const {
    const ir::NestDim& dim = nest_.dims[0];
    const int64_t windows = windows_of(line).count;
    const int64_t last = window[0] + (nest_.dims.size() == 1 ? windows - 1 : 0);
    const int64_t end = std::min(origin(0, last) + dim.kernel, dim.output);
    if (end > 0)
      zeros.fill(
          static_cast<uint64_t>(end) * (indexing_.plane[0].extent / static_cast<uint64_t>(dim.output)) - 1);
  }

  // Where windows lie inside the output, all taps do: these are looked at together, the others one by one.
  bool are_taps_inside(Line line, Coordinates window) const {
    const size_t last = nest_.dims.size() - 1;
    int64_t& windows = windows_of(line).count;
    const int64_t step = windows_of(line).step;
    bool is_whole_row = true;
    for (size_t d = 0; d < last; ++d) is_whole_row = is_whole_row && is_whole(d, window[d]);
    for (int64_t left = windows; left > 0; left -= windows) {
      windows = 1;
      if (is_whole_row && is_whole(last, window[last])) {
        while (windows < left && is_whole(last, window[last] + windows)) ++windows;
        if (!are_inside_(indexing_, line)) return false;
      } else if (!are_taps_inside_one(line, window)) {
        return false;
      }
      line.indices += windows * step * index_width_;
      window[last] += windows;
    }
    return true;
  }

  bool are_taps_inside_one(const Line& line, const Coordinates& window) const {
    const LineLoop& channels = takes_windows_inside_ ? line.outer : line.inner;
    for (int64_t i = 0; i < channels.count; ++i) {
      const int64_t index = ir::load_index(nest_.indices->dtype, line.indices, i * channels.step);
      if (indexing_.form != IndexForm::listed) {
        if (!indexing_.place(index, 0, 0, window)) return false;
        continue;
      }
      if (static_cast<uint64_t>(index) > indexing_.last) return false;
      const Coordinates& tap = indexing_.taps[static_cast<size_t>(index)].at;
      for (size_t d = 0; d < nest_.dims.size(); ++d) {
        const int64_t at = tap[d] + origin(d, window[d]);
        if (at < 0 || at >= nest_.dims[d].output) return false;
      }
    }
    return true;
  }

  // --------------------------------------------------------------------------------------------- errors

  // Of the first index of a group, plane by plane, that names no place.
  ir::Error first_wrong(const Call& call, const Group& group) const {
    const ir::PoolNest& nest = nest_;
    const size_t rank = nest.dims.size();
    for (int64_t c = group.c;; ++c) {
      POOLJIT_CHECK(c < group.c + group.channels, "indices changed while they were looked at");
      Coordinates window{};
      for (size_t outer = 1; outer > 0;) {
        int64_t at = ir::plane_offset(*nest.indices, group.n, c);
        for (size_t d = 0; d < rank; ++d) at += window[d] * nest.indices->strides[d];
        const int64_t index = ir::load_index(nest.indices->dtype, call.indices, at);
        if (!indexing_.place(index, group.n, c, window))
          return ir::Error{ir::ErrorKind::invalid, "run.index_range",
                           fmt::format("the index {} at n={} c={} [{}] names no place of its plane", index,
                                       group.n, c, fmt::join(std::span(window).first(rank), ",")),
                           "give the indices of the forward pass, in the same index_scope"};
        for (outer = rank; outer > 0; --outer) {
          if (++window[outer - 1] < nest.dims[outer - 1].input) break;
          window[outer - 1] = 0;
        }
      }
    }
  }

  const bool is_gradient_;
  const ir::PoolNest nest_;  // of the unpool
  const Indexing indexing_;
  bool takes_channels_ = false;  // in one of the tensors the channels of a group lie nearer than its windows
  bool takes_windows_inside_ = true;  // the inner loop of a line is over windows; else over channels
  int64_t group_ = 1;                 // channels; groups begin at multiples of it
  size_t row_dim_ = 0;           // the windows of a line are those along this dimension and the next ones
  int64_t segment_ = INT64_MAX;  // windows of a line at most
  int64_t width_ = 1, index_width_ = 1;
  AreInside are_inside_ = nullptr;
  MoveLine move_ = nullptr;
};

}  // namespace

std::shared_ptr<Code> make_unpool(const frontend::PoolSpec& spec) {
  CodeInfo code;
  code.nest = frontend::make_nest(spec);
  code.isa = "none";
  code.checks_data = true;
  code.tasks = {{"n", ir::TaskDim::batch_extent}, {"c", code.nest.channels}};
  return std::make_shared<Unpool>(std::move(code), spec.unpool_gradient);
}

}  // namespace pooljit::runtime
