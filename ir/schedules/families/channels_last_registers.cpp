#include "ir/schedules/families/channels_last_registers.h"

#include <algorithm>

#include "ir/reductions/sums.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/transpose.h"
#include "ir/schedules/windows/rolling_outputs.h"

namespace pooljit::ir {
namespace {

using ChannelsLastOwn = ScheduleOf<ChannelsLastFields>;

// Vectors of a state while taps are taken in, with what finds a NaN later.
int64_t vectors_of_state(const Layer& layer, const ChannelsLastOwn& schedule, int64_t beside) {
  const PoolNest& nest = layer.nest();
  const ReductionFacts& facts = layer.facts(LaneUse::fixed);
  if (nest.indices) return nest.input.dtype == DType::f16 ? 3 : 2;
  const bool is_halved = schedule.lanes > 1 || is_wide_sum(nest);  // one lane has no halves
  const bool keeps_masks = facts.keeps_masks(static_cast<size_t>(beside), nest.full_taps());
  return (is_halved ? static_cast<int64_t>(facts.state_vectors) : 1) + (keeps_masks ? 1 : 0);
}

// Registers of one tap beside the states: a loaded vector, and those that convert or compare it.
int64_t registers_of_tap(const Layer& layer, const ChannelsLastOwn& schedule) {
  constexpr int64_t of_index = 7, of_nan = 6, of_value = 2, of_other = 3, least_operand = 16;  // bytes
  const PoolNest& nest = layer.nest();
  const ReductionFacts& facts = layer.facts(LaneUse::fixed);
  const int64_t apart = channel_stride(nest.input) == 1 ? 0 : schedule.lanes / 2;
  const bool are_whole = nest.channels % schedule.lanes == 0 || schedule.tail == Tail::overlap;
  const DType input = nest.input.dtype;
  if (nest.indices) return of_index + apart;
  if (facts.is_idempotent)
    return (is_float(input) && !info(layer.isa()).fixes_nans ? of_nan : of_value) + apart;
  // A norm's gradient takes the powers of what a tap reads one after the other.
  if (nest.is_norm_gradient()) return std::max(of_other, facts.extra_registers - of_other) + apart;
  // So does a norm, of one tap.
  if (nest.is_norm()) return std::max<int64_t>(of_other, facts.extra_registers) + apart;
  if (!nest.is_sum()) return of_other + facts.extra_registers + apart;
  // Added from memory.
  const bool is_operand = bytes(input) >= 4 && schedule.lanes * bytes(input) >= least_operand;
  if (is_float(input) && is_operand && apart == 0 && are_whole && !nest.is_backward()) return 0;
  return of_value + apart;
}

// Registers that finishing the first state takes beside the other states.
int64_t registers_of_result(const Layer& layer) {
  constexpr int64_t of_conversion = 5;
  const PoolNest& nest = layer.nest();
  const int64_t extra = extra_registers(nest, layer.facts(LaneUse::fixed));
  return std::max<int64_t>(extra + 1, nest.output.dtype == nest.input.dtype ? 2 : of_conversion);
}

// Windows one by one: what their states take while taps are taken in, or while the first of them is finished.
int64_t registers_of_windows(const Layer& layer, const ChannelsLastOwn& schedule) {
  const PoolNest& nest = layer.nest();
  const ReductionFacts& facts = layer.facts(LaneUse::fixed);
  const int64_t vectors =
      std::min<int64_t>(schedule.vectors_side_by_side, channel_vectors(nest, schedule.lanes));
  const int64_t states = vectors * vectors_of_state(layer, schedule, vectors);
  const int64_t limit = schedule.tap_code == TapCode::loops ? 1 : Lowering::unroll_taps;
  return std::max(
      states * states_at_once(nest, facts, nest.dims.size(), limit) + registers_of_tap(layer, schedule),
      states + registers_of_result(layer));
}

// What staged results are transposed by.
int64_t registers_of_stage(const Layer& layer, const ChannelsLastOwn& schedule) {
  if (schedule.lanes == 1) return 0;
  const std::optional<Staging> staging = staged_pixels(layer.nest(), layer.isa());
  int64_t most = 0;
  for (const View& view : staging ? staging->results() : std::vector<View>())
    most = std::max(most, transpose_registers(layer.isa(), view.dtype));
  return most;
}

}  // namespace

// Of the rolling partials, and of the newest columns, reduced over the outer dimensions.
int rolling_registers(const PoolNest& nest, const ReductionFacts& facts, Isa isa, int side_by_side) {
  constexpr size_t of_results = 6;  // and of constants
  const NestDim& dim = nest.dims.back();
  const RollingOutputs::Needs needs = RollingOutputs::needs(dim, facts.is_idempotent);
  const auto beside = static_cast<size_t>(side_by_side);
  const bool masks =
      info(isa).mask == MaskEncoding::vector && facts.keeps_masks(beside, nest.full_taps() / dim.most_taps());
  const auto states = [&](int64_t unroll_limit) {
    return states_at_once(nest, facts, nest.dims.size() - 1, unroll_limit);
  };
  const auto column =
      facts.state_vectors * static_cast<size_t>(std::max(states(1), states(Lowering::unroll_taps)));
  // Parts of a column are summed while a loop carries what is held, before and after this column.
  const bool has_parts = column > facts.state_vectors;
  const size_t each = std::max(facts.held_vectors * needs.vectors,
                               has_parts ? 2 * facts.held_vectors * needs.held + column : 0);
  return static_cast<int>(beside * (each + (masks ? 1 : 0)) + of_results) + extra_registers(nest, facts);
}

int channels_last_registers(const Layer& layer, const Schedule& given) {
  const ChannelsLastOwn schedule(given);
  const int64_t needed = schedule.scan == ChannelsLastFields::Scan::windows
                             ? registers_of_windows(layer, schedule)
                             : rolling_registers(layer.nest(), layer.facts(LaneUse::fixed), layer.isa(),
                                                 schedule.vectors_side_by_side);
  return static_cast<int>(std::max(needed, registers_of_stage(layer, schedule)));
}

}  // namespace pooljit::ir
