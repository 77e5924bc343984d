#include "ir/schedules/lowering/staging.h"

#include <algorithm>

#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/transpose.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t widest_vector = 64;  // bytes
constexpr int64_t least_side = 4;      // of what is transposed: fewer rows or columns fill no vectors
constexpr int64_t most_columns = 512;  // of a row, at once
constexpr int64_t most_group_bytes = 16 << 10;  // of a group of channels, which the first cache holds
constexpr int64_t most_bytes = 128 << 10;       // of all, where these are too few

bool writes_indices(const PoolNest& nest) { return nest.indices && !nest.is_backward(); }

// Lines of scratch memory: of several of the cache's lines, but no multiple of four, so that what lies at the
// same place in each does not meet in a few sets.
int64_t line_elements(DType dtype, int64_t elements) {
  const int64_t lines = ceil_div(elements * bytes(dtype), line_bytes);
  return (lines % 4 == 0 ? lines + 1 : lines) * line_bytes / bytes(dtype);
}

// Elements of 8 bytes, two of a part, gain where results do not stay in the caches: 0.87 of the time,
// 64x56x56; 1.16 to 1.29 over images of 0.2 MB.
bool are_too_few(const PoolNest& nest) {
  constexpr int64_t widest = 8, least_moved = 512 << 10;
  return bytes(nest.output.dtype) == widest && moved_bytes(nest) < least_moved;
}

// Few lanes of a forward pass are stored one by one as fast as they are staged (0.9 to 1.36 of the time with
// AVX2), unless planes that are a multiple of so many bytes apart evict each other's lines (0.1 to 0.26).
bool stores_few_lanes(const PoolNest& nest, Isa isa) {
  constexpr int64_t few = 8, apart = 2048;
  return info(isa).vector_bytes / bytes(nest.output.dtype) <= few && !nest.is_backward() && !nest.indices &&
         byte_stride(nest.output, nest.output.channel_stride) % apart != 0;
}

bool may_stage(const PoolNest& nest) {
  return !are_too_few(nest) && !nest.has_any_size() && nest.members.empty() &&
         operands_like_output(nest).empty() && nest.channels >= least_side &&
         nest.dims.back().output >= least_side;
}

// Calls holds for the views that results are stored to.
template <typename Holds>
bool for_all_results(const PoolNest& nest, const Holds& holds) {
  return holds(nest.output) && (!writes_indices(nest) || holds(*nest.indices));
}

template <typename Lay>
Staging staging_of(const PoolNest& nest, const Lay& lay) {
  Staging staging{nest, nest.output, {}, nest.channels};
  lay(staging.nest.output);
  if (writes_indices(nest)) {
    staging.indices = nest.indices;
    lay(*staging.nest.indices);
  }
  return staging;
}

// Channels of a group: whole vectors of them, and blocks, that the bytes hold; a number that divides all, if
// there is one.
int64_t group_of(const PoolNest& nest, int64_t channel_bytes) {
  const int64_t step = std::max(largest_block(nest), widest_vector / bytes(nest.output.dtype));
  const int64_t most = std::max(step, most_group_bytes / channel_bytes / step * step);
  if (most >= nest.channels) return nest.channels;
  for (int64_t group = most; 2 * group > most; group -= step)
    if (nest.channels % group == 0) return group;
  return most;
}

}  // namespace

std::vector<View> Staging::results() const {
  return indices ? std::vector<View>{output, *indices} : std::vector<View>{output};
}

int64_t Staging::last_channels() const { return channels + nest.channels % channels; }

int64_t Staging::bytes_of(const View& staged) const {
  const int64_t lines = by_pixels ? columns : last_channels();
  return byte_stride(staged, lines * (by_pixels ? staged.strides.back() : staged.channel_stride));
}

std::optional<Staging> staged_columns(const PoolNest& nest, int64_t rows) {
  const bool are_turned = for_all_results(nest, [&](const View& view) {
    return channel_stride(view) == 1 && view.strides.back() > 1 &&
           view.channel_block == nest.output.channel_block;
  });
  if (!are_turned || !may_stage(nest) || !reads_adjacent_columns(nest)) return {};
  const int64_t columns = std::min(nest.dims.back().output, most_columns);
  Staging staging = staging_of(nest, [&](View& view) {
    view.batch_stride = 0;
    view.channel_block = 1;
    std::ranges::fill(view.strides, 0);
    view.strides.back() = 1;
    if (rows > 1) view.strides[view.strides.size() - 2] = columns;
    view.channel_stride = line_elements(view.dtype, rows * columns);
  });
  staging.columns = columns;
  const View& output = staging.nest.output;
  staging.channels = group_of(nest, byte_stride(output, output.channel_stride));
  const int64_t indices = writes_indices(nest) ? staging.bytes_of(*staging.nest.indices) : 0;
  if (staging.bytes_of(output) + indices > most_bytes) return {};
  return staging;
}

std::optional<Staging> staged_pixels(const PoolNest& nest, Isa isa) {
  const bool are_turned = for_all_results(nest, [](const View& view) {
    return view.channel_block == 1 && view.channel_stride > 1 && view.strides.back() == 1;
  });
  if (!are_turned || !may_stage(nest) || channel_stride(nest.input) != 1 || stores_few_lanes(nest, isa))
    return {};
  const int64_t columns = nest.dims.back().output;
  const int64_t group = group_of(nest, columns * bytes(nest.output.dtype));
  Staging staging = staging_of(nest, [&](View& view) {
    view.batch_stride = 0;
    view.channel_stride = 1;
    std::ranges::fill(view.strides, 0);
    view.strides.back() = line_elements(view.dtype, group + nest.channels % group);
  });
  staging.channels = group;
  staging.columns = columns;
  staging.by_pixels = true;
  const int64_t indices = writes_indices(nest) ? staging.bytes_of(*staging.nest.indices) : 0;
  if (staging.bytes_of(staging.nest.output) + indices > most_bytes) return {};
  return staging;
}

// --------------------------------------------------------------------------------------- what Lowering does

void Lowering::for_each_group(const Cursor& part, const GroupSize& size, const GroupBody& body) {
  if (!staging_) return body(part, size.channels);
  const Group group = open_group(part, size.channels);
  for_each_count(group, [&](int64_t channels) {
    body(staged(group.first, size.first), channels);
    store_staged(group.first, {channels, size.columns, size.rows, size.first});
  });
  close(1);
}

void Lowering::for_each_channel(const Cursor& part, const GroupSize& size, const Body& body) {
  const Group group = open_group(part, size.channels);
  Value count = b_.iconst(group.channels);
  if (group.is_last != no_value) count = add_product(count, group.is_last, group.last - group.channels);
  Cursor at = staged(group.first, size.first);
  move_blocks(at, b_.begin_loop(count).iv, 1);
  body(at);
  b_.end_loop();
  for_each_count(group, [&](int64_t channels) {
    store_staged(group.first, {channels, size.columns, size.rows, size.first});
  });
  close(1);
}

// Opens the loop over the groups of so many channels.
Lowering::Group Lowering::open_group(const Cursor& part, int64_t channels) {
  Group group{part, staging_->channels, staging_->last_channels()};
  const int64_t groups = (channels - group.last) / group.channels + 1;
  Value begin = b_.iconst(0), count = b_.iconst(groups);
  if (part.windows.empty() || nest_.dims[0].output == 1) {  // callers have no rows to split
    if (channels_task_ < 0) channels_task_ = b_.add_task("c", groups);
    begin = b_.param(Param::Role::begin, channels_task_);
    count = b_.param(Param::Role::count, channels_task_);
  }
  const Value number = b_.iadd(begin, b_.begin_loop(count).iv);
  move_blocks(group.first, number, group.channels);
  if (groups == 1) group.channels = group.last;
  if (group.last != group.channels)
    group.is_last = b_.imax(b_.iconst(0), b_.iadd(number, b_.iconst(2 - groups)));
  return group;
}

// Emits what is done to a group, for each number of channels that groups have.
void Lowering::for_each_count(const Group& group, const std::function<void(int64_t channels)>& emit) {
  if (group.is_last == no_value) return emit(group.channels);
  b_.begin_loop(add_product(b_.iconst(1), group.is_last, -1));
  emit(group.channels);
  b_.end_loop();
  b_.begin_loop(group.is_last);
  emit(group.last);
  b_.end_loop();
}

// The cursor, with its results in scratch memory: those of this column at its beginning.
Cursor Lowering::staged(Cursor cursor, int64_t column) {
  if (!stage_) {
    stage_ = b_.add_scratch(staging_->bytes_of(nest_.output));
    if (staging_->indices) staged_indices_ = b_.add_scratch(staging_->bytes_of(*nest_.indices));
  }
  const auto column_0 = [&](const Address& stage, const View& view) {
    return plus(stage, -byte_stride(view, column * view.strides.back()));
  };
  cursor.output = column_0(*stage_, nest_.output);
  if (staging_->indices) cursor.indices = column_0(*staged_indices_, *nest_.indices);
  return cursor;
}

// From scratch memory to where it belongs, from the cursor on.
void Lowering::store_staged(const Cursor& first, const GroupSize& size) {
  const auto store_view = [&](const View& staged, const Address& from, const View& view, const Address& to) {
    const int64_t column = byte_stride(view, view.strides.back());
    const int64_t channel = byte_stride(view, view.channel_stride);
    if (staging_->by_pixels)
      return transpose(b_, {view.dtype, size.columns, size.channels, from,
                            byte_stride(staged, staged.strides.back()), to, channel, size.columns, 0});
    // Rows without a gap between them are one.
    const auto row_step = [&](const View& of) { return size.rows == 1 ? 0 : of.strides.rbegin()[1]; };
    const bool is_one = row_step(view) == size.columns * view.strides.back();
    const int64_t rows = is_one ? 1 : size.rows, columns = size.columns * (is_one ? size.rows : 1);
    const int64_t block = view.channel_block > 1 ? view.channel_block : size.channels;
    for (int64_t row = 0; row < rows; ++row)
      transpose(
          b_,
          {view.dtype, size.channels, columns, plus(from, byte_stride(staged, row * row_step(staged))),
           byte_stride(staged, staged.channel_stride),
           plus(to, byte_stride(view, row * row_step(view)) + size.first * column), column, block, channel});
  };
  store_view(nest_.output, *stage_, staging_->output, first.operands[0]);
  if (staging_->indices) store_view(*nest_.indices, *staged_indices_, *staging_->indices, first.operands[1]);
}

}  // namespace pooljit::ir
