#include "ir/schedules/lanes/pixel_rows.h"

namespace pooljit::ir {

namespace {

// Elements that follow each other without a gap along a row of pixels.
bool is_interleaved(const View& view, int64_t channels) {
  return view.channel_block == 1 && view.channel_stride == 1 && view.strides.back() == channels;
}

}  // namespace

bool has_pixel_rows(const PoolNest& nest) {
  const NestDim& row = nest.dims.back();
  constexpr int64_t most_strided_channels = 64, most_strided_pixels = 8;
  if (row.kind != DimKind::pool) return false;
  if (row.stride != 1 && (nest.channels > most_strided_channels || row.stride > most_strided_pixels ||
                          row.kernel > most_strided_pixels))
    return false;
  if (nest.channels == 1 || nest.indices || nest.is_backward()) return false;
  // Operands with a number per channel are no row of their own.
  for (const View& operand : operand_views(nest))
    if (!is_interleaved(operand, nest.channels)) return false;
  return is_interleaved(nest.input, nest.channels) && is_interleaved(nest.output, nest.channels);
}

bool has_pixel_rows_of_any_size(const PoolNest& nest) {
  constexpr int64_t most_vector_bytes = 64;
  return nest.extents == Extents::any && nest.channels * bytes(nest.input.dtype) < most_vector_bytes &&
         has_pixel_rows(nest);
}

PoolNest as_one_channel(PoolNest nest) {
  NestDim& row = nest.dims.back();
  if (row.stride > 1) {
    row.kind = DimKind::pixels;
    row.pixel = nest.channels;
    row.stride *= nest.channels;
  }
  for (int64_t* columns : {&row.input, &row.output, &row.dilation, &row.pad_begin, &row.pad_end})
    *columns *= nest.channels;
  nest.input.strides.back() = nest.output.strides.back() = 1;
  nest.channels = 1;
  return nest;
}

bool has_rows_of_pixels(const Schedule& schedule) { return schedule.family() == Family::interleaved; }

PoolNest in_code(const PoolNest& nest, const Schedule& schedule) {
  return has_rows_of_pixels(schedule) ? as_one_channel(nest) : nest;
}

}  // namespace pooljit::ir
