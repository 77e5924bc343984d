#include "ir/schedules/choose/facts.h"

#include <algorithm>
#include <numeric>

#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/families/channels_last_strips.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/row_family.h"
#include "ir/schedules/lowering/row_rules.h"
#include "ir/schedules/lowering/staging.h"

namespace pooljit::ir {
namespace {

constexpr NestDim one_position;

bool all_pools(const PoolNest& nest, auto&& is_one) {
  return std::ranges::all_of(nest.dims,
                             [&](const NestDim& dim) { return dim.kind == DimKind::pool && is_one(dim); });
}

}  // namespace

Facts::Facts(const Layer& layer, LaneUse use, int lanes)
    : layer(layer),
      nest(layer.nest()),
      use(use),
      reduction(layer.facts(use)),
      lanes(lanes),
      lane_bytes(layer.lane_bytes(use)),
      row(nest.dims.back()),
      down(nest.dims.size() > 1 ? nest.dims[nest.dims.size() - 2] : one_position),
      channels(nest.channels),
      pixel(channels * bytes(nest.input.dtype)),
      taps(nest.full_taps()),
      kernel(std::min(row.kernel, down.kernel)),
      plane(layer.image_bytes() / channels),
      image(layer.image_bytes()),
      dtype(nest.input.dtype),
      element(bytes(dtype)),
      stored(bytes(nest.output.dtype)),
      is_f32(dtype == DType::f32),
      extremes(reduction.is_idempotent),
      masks(layer.can_mask()),
      few_registers(has_few_registers(layer)),
      is_simple(waits_for_loads(nest)),
      is_rank_2(nest.dims.size() == 2),
      in_second_cache(is_in_second_cache(layer)),
      out_of_second(image > 2 * near_bytes / 3),
      splits_pixels(layer.machine().parts_of_pixels),
      is_same_dtype(nest.epilogue.empty() && nest.output.dtype == dtype) {}

bool Facts::is_dense() const {
  return all_pools(nest, [](const NestDim& dim) { return dim.stride == 1; });
}
bool Facts::is_strided() const {
  return all_pools(nest, [](const NestDim& dim) { return dim.stride > 1; });
}
bool Facts::is_whole() const {
  return all_pools(nest, [](const NestDim& dim) { return !has_borders(dim); });
}
bool Facts::are_pools() const {
  return all_pools(nest, [](const NestDim&) { return true; });
}
bool Facts::is_compact() const {
  return all_pools(nest, [](const NestDim& dim) { return dim.dilation == 1; });
}
int64_t Facts::most_kernel() const { return std::ranges::max(nest.dims, {}, &NestDim::kernel).kernel; }

double Facts::usual_share() const {
  double share = 1;
  for (const NestDim& dim : nest.dims) {
    const std::vector<Run> all = runs(dim);
    const int64_t usual = usual_taps(dim, all);
    int64_t outputs = 0;
    for (const Run& run : all) outputs += run.window.taps == usual ? run.outputs() : 0;
    share *= double(outputs) / double(dim.output);
  }
  return share;
}

int64_t Facts::filled() const {
  if (info(family).lanes != LaneUse::fixed) return lanes;
  const int64_t held = channels / vectors();
  return 100 * held >= (100 - answer(most_idle)) * lanes ? lanes : held;
}

bool Facts::stages_columns() const { return staged_columns(nest, 1).has_value(); }

bool Facts::stores_apart() const {
  if (family == Family::channels_last)
    return nest.output.channel_block == 1 && nest.output.channel_stride != 1 &&
           !staged_pixels(nest, layer.isa());
  return family == Family::channels_first && nest.output.strides.back() != 1 && !stages_columns();
}

bool Facts::shares_lines() const {
  constexpr int64_t line = 64, sets = 64, ways = 8;  // of a first cache of 32 KB
  const int64_t column = nest.output.strides.back();
  if (is_row() || nest.has_any_size() || channels * stored < line) return false;
  if (channel_stride(nest.input) <= nest.input.strides.back() || channel_stride(nest.output) >= column)
    return false;
  if (stages_columns()) return false;
  // Lines that are a power of two apart fall into few sets.
  const int64_t step = column * stored, apart = step % line == 0 ? step / line : 1;
  return outputs() * std::min(step, line) / line > sets / std::gcd(sets, apart) * ways;
}

bool Facts::takes_outputs_alone() const {
  if (family != Family::channels_first || !splits_tail) return false;
  if (row.kind != DimKind::pool || nest.is_backward() || nest.has_any_size()) return false;
  const Interior inside = interior(row);
  return inside.begin >= inside.end;
}

bool Facts::are_strided_halves() const {
  return row.stride > 1 && channels < layer.most_lanes(LaneUse::fixed) &&
         layer.lane_bytes(LaneUse::moved) == 2 * layer.lane_bytes(LaneUse::fixed);
}

bool Facts::has_many_unlike() const {
  constexpr int64_t many = 64, most_counted = 512;
  return std::ranges::any_of(nest.dims, [](const NestDim& dim) {
    if (dim.kind == DimKind::pool || dim.output <= many) return false;
    return dim.output > most_counted || std::ssize(runs(dim)) > many;
  });
}

bool Facts::are_channels_nearer() const {
  for (size_t d = 0; d < nest.dims.size(); ++d)
    if (nest.dims[d].most_taps() > 1 && channel_stride(nest.input) < nest.input.strides[d])
      return channels > 1;
  return false;
}

bool Facts::may_roll_down() const {
  constexpr int64_t few_rows = 12;
  return 2 * row.output <= 3 * int64_t{fitting(row.output)} &&
         (row.pad_begin + row.pad_end > 0 || down.output < few_rows);
}

int64_t Facts::whole_rows() const {
  const Interior whole = interior(down);
  return whole.end - whole.begin;
}

bool Facts::are_far_pixels() const {
  return are_pixels() && (element > 1 || 2 * given->channels >= lanes) && given->says(whole_rows_first);
}

int64_t Facts::crowded() const {
  if (layer.machine().crowded_row == 0) return 0;
  const int64_t apart = nest.input.strides.back() * element;
  return (apart & -apart) * row.input;
}

bool Facts::meet(int64_t apart) const {
  const auto each = [&](const View& view) { return view.strides.back() * bytes(view.dtype) % apart == 0; };
  return layer.machine().crowded_row > 0 && (each(nest.input) || each(nest.output));
}

bool Facts::fills_borders() const {
  const auto whole = static_cast<int>(std::bit_floor(static_cast<uint64_t>(row.output)));
  const int fits = ir::fitting_lanes(row.output, layer.isa(), layer.facts(LaneUse::moved).working_bytes);
  return can_fill_borders(nest, layer.isa(), std::min(whole, fits));
}

bool Facts::rolls_row(int of_lanes, int beside) const {
  const Schedule schedule{
      .own = ChannelsFirstFields{{.vectors_side_by_side = beside, .scan = RowFields::Scan::rolling}},
      .lanes = of_lanes};
  return RowRules(nest, schedule, layer.isa(), layer.facts(LaneUse::moved)).can_roll();
}

bool Facts::rolls_beside(int beside) const {
  return can_roll(nest, layer.facts(LaneUse::fixed), layer.isa(), beside);
}

bool Facts::rolls_rows() const {
  const std::vector<Schedule> rows = offer_row_passes(layer, 1).schedules;
  return !rows.empty() && !takes_passes(rows[0]);
}

bool Facts::is_plain() const {
  return nest.nan == NanRule::propagate && nest.zeros == ZeroRule::any && is_same_dtype &&
         layer.adjacent_channels() == channels;
}

bool Facts::fills_half() const {
  constexpr int wide = 64;
  const int64_t of_wide = channel_vectors(nest, wide);
  return layer.most_lanes(LaneUse::fixed) == wide && element == 1 && extremes && !nest.indices &&
         of_wide <= 2 && 4 * channels <= 3 * of_wide * wide && largest_block(nest) == 1;
}

int Facts::even_part() const {
  for (const int part : {8, 4, 3, 2, 1})
    if (2 * part <= vectors() && vectors() % part == 0) return part;
  return 0;
}

bool Facts::leaves_room(int beside) const {
  const int each = static_cast<int>(reduction.state_vectors);
  const int needed = nest.indices ? 5 * beside : one_each ? beside + 4 : 2 * each * beside;
  const int to_join = channel_stride(nest.input) == 1 ? 0 : 4;  // lanes that lie apart
  return needed + to_join + extra_registers(nest, reduction) < layer.registers();
}

bool Facts::holds(int beside) const {
  Schedule schedule = schedule_of(Family::channels_last, lanes);
  schedule.own = ChannelsLastFields{.vectors_side_by_side = beside};
  return has_registers(layer, schedule);
}

bool Facts::interleaves() const { return !offer_interleaved(layer, 1).schedules.empty(); }

bool Facts::shares_few_columns() const {
  return nest.dims.size() > 1 && row.stride == 1 && row.dilation == 1 && row.kernel >= 2 && row.kernel <= 3 &&
         interleaves();
}

}  // namespace pooljit::ir
