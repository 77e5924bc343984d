#include "ir/schedules/families/separable_layout.h"

#include <algorithm>

#include "ir/reductions/facts.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lowering/pieces.h"
#include "ir/schedules/windows/rolling_outputs.h"
#include "ir/schedules/windows/running_window.h"

namespace pooljit::ir {

// Each is a row of a table.
constexpr int64_t most_bands = 256;

SeparableLayout::SeparableLayout(const PoolNest& nest, const SeparableSchedule& schedule, int held_bytes)
    : rows_dim_(nest.dims[nest.dims.size() - 2]),
      columns_dim_(nest.dims.back()),
      rolls_(schedule.scan == SeparableSchedule::Scan::rolling),
      position_bytes_(int64_t{schedule.lanes} * schedule.vectors_side_by_side * held_bytes),
      columns_(columns_dim_.output) {
  if (!nest.has_any_size()) {
    band_ = largest_band(rows_dim_.output);
    return;
  }
  for (const int64_t length : piece_lengths) {
    columns_ = length;
    if (largest_band(length) == length) band_ = length;
  }
  columns_ = band_;
}

int64_t SeparableLayout::ends() const { return std::max(rows_dim_.kernel, columns_dim_.kernel); }

int64_t SeparableLayout::rows_of(int64_t band) const {
  return rolls_ ? rows_dim_.visible_input() : band + rows_dim_.kernel - 1;
}

int64_t SeparableLayout::largest_band(int64_t outputs) const {
  // Each of the three pieces begins a cache line.
  const int64_t room = (most_scratch_bytes - 3 * scratch_alignment) / position_bytes_;
  // A larger term would overflow below.
  if (std::max({columns_, ends(), rolls_ ? rows_dim_.visible_input() : 0}) > room) return 0;
  if (rolls_) return rows_of(0) * columns_ <= room ? outputs : 0;
  const int64_t rows = (room - line() - ends()) / columns_ - (rows_dim_.kernel - 1);
  if (rows <= 0 || ceil_div(outputs, rows) > most_bands) return 0;
  return even_piece(outputs, rows);
}

int64_t piece_length(const PoolNest& general, const Schedule& schedule, Isa isa) {
  if (schedule.family() != Family::separable) return 0;
  const auto facts = reduction_facts(general, isa, info(Family::separable).lanes);
  if (!facts) return 0;
  return SeparableLayout(general, SeparableSchedule(schedule), facts->held_bytes).band();
}

bool can_scan(const PoolNest& nest, const SeparableSchedule& schedule) {
  return schedule.scan != SeparableSchedule::Scan::rolling ||
         (RollingOutputs::can_serve(nest.dims[nest.dims.size() - 1]) &&
          RollingOutputs::can_serve(nest.dims[nest.dims.size() - 2]));
}

// Vectors that are needed at once, and constants.
int separable_registers(const Layer& layer, const Schedule& given) {
  constexpr int of_constants = 6;
  const SeparableSchedule schedule(given);
  const PoolNest& nest = layer.nest();
  const ReductionFacts& facts = layer.facts(separable_lanes);
  size_t each = RunningWindow::vectors();
  if (schedule.scan == SeparableSchedule::Scan::rolling)
    for (size_t dim : {nest.dims.size() - 1, nest.dims.size() - 2})
      each = std::max(each, RollingOutputs::needs(nest.dims[dim], facts.is_idempotent).vectors);
  const auto beside = static_cast<size_t>(
      std::min<int64_t>(schedule.vectors_side_by_side, channel_vectors(nest, schedule.lanes)));
  const bool masks =
      info(layer.isa()).mask == MaskEncoding::vector && facts.keeps_masks(beside, nest.full_taps());
  return static_cast<int>(beside * (each * facts.held_vectors + (masks ? 1 : 0))) + of_constants +
         extra_registers(nest, facts);
}

}  // namespace pooljit::ir
