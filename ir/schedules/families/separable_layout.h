// The layout of `separable`'s scratch memory, how many rows it processes together, and its registers.
#pragma once

#include "ir/schedule.h"
#include "ir/schedules/layer.h"
#include "ir/schedules/lowering/channel_tasks.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

inline constexpr LaneUse separable_lanes = LaneUse::fixed;

using SeparableSchedule = ScheduleOf<SeparableFields>;

// Sizes of the scratch memory, counted in columns (what one position stands for). The innermost dimension is
// that of the columns, the next one that of the rows.
class SeparableLayout {
 public:
  // held_bytes: bytes of a lane.
  SeparableLayout(const PoolNest& nest, const SeparableSchedule& schedule, int held_bytes);

  int64_t position_bytes() const { return position_bytes_; }
  // True if windows move on in registers, over all rows of the image.
  bool rolls() const { return rolls_; }
  // Columns of outputs that scratch memory has room for: all, or in code for all sizes as many as rows.
  int64_t columns() const { return columns_; }
  // Rows of outputs that are done together, at most, in code for all sizes; 0: not even one fits.
  int64_t band() const { return band_; }
  // The rows of the input that these need, reduced along their columns.
  int64_t plane() const { return rows_of(band_) * columns_; }
  // For what is done in pieces: a row of the input with its padding, and the ends of one block.
  int64_t line() const { return columns_ + columns_dim_.kernel - 1; }
  int64_t ends() const;

 private:
  int64_t rows_of(int64_t band) const;
  int64_t largest_band(int64_t outputs) const;

  const NestDim& rows_dim_;
  const NestDim& columns_dim_;
  const bool rolls_;
  const int64_t position_bytes_;
  int64_t columns_, band_ = 0;
};

// The most outputs along a dimension that code for all sizes does at once by this schedule: one of
// piece_lengths; 0: it is not of this family, or the ISA cannot do it.
int64_t piece_length(const PoolNest& general, const Schedule& schedule, Isa isa);

// True if the windows of both dimensions can move on as the schedule says.
bool can_scan(const PoolNest& nest, const SeparableSchedule& schedule);
// FamilyInfo::registers of separable.
int separable_registers(const Layer& layer, const Schedule& schedule);

}  // namespace pooljit::ir
