#include "tools/fuzz/random_spec.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "frontend/check.h"
#include "tools/fuzz/axes.h"

namespace pooljit::fuzz {
namespace {

using frontend::PoolSpec;
using frontend::SpecDim;

// A number of one dimension, the axis that chooses it, and what it is redrawn from.
struct DimNumber {
  std::string_view axis;
  int64_t SpecDim::*member;
  int64_t least, most;
  bool (*applies)(const SpecDim&);
};
constexpr auto has_window = [](const SpecDim& dim) { return dim.adaptive_output == 0; };
constexpr auto is_adaptive = [](const SpecDim& dim) { return dim.adaptive_output != 0; };
constexpr auto always = [](const SpecDim&) { return true; };
constexpr DimNumber dim_numbers[] = {
    {"input", &SpecDim::input, 1, 24, always},
    {"columns", &SpecDim::input, 1, 200, always},
    {"kernel_size", &SpecDim::kernel, 1, 12, has_window},
    {"stride", &SpecDim::stride, 1, 9, has_window},
    {"dilation", &SpecDim::dilation, 1, 5, has_window},
    {"padding", &SpecDim::pad_begin, 0, 7, has_window},
    {"padding", &SpecDim::pad_end, -4, 7, has_window},
    {"form", &SpecDim::adaptive_output, 1, 30, is_adaptive},
};

// Numbers of the whole spec.
constexpr void (*spec_numbers[])(PoolSpec&, Draw&) = {
    [](PoolSpec& spec, Draw& draw) { spec.channels = draw.between(1, 80); },
    [](PoolSpec& spec, Draw& draw) {
      if (spec.batch) spec.batch = draw.between(0, 5);
    },
    [](PoolSpec& spec, Draw& draw) {
      if (spec.divisor_override) spec.divisor_override = draw.between(-40, 40);
    },
    // A view that somebody cut out of something: any stride will do for an input.
    [](PoolSpec& spec, Draw& draw) {
      if (!spec.strides.empty()) spec.strides[draw.below(spec.strides.size())] = draw.between(0, 300);
    },
    [](PoolSpec& spec, Draw& draw) {
      if (!spec.output_strides.empty())
        spec.output_strides[draw.below(spec.output_strides.size())] += draw.between(-3, 40);
    },
    [](PoolSpec& spec, Draw& draw) {
      if (spec.quantized) spec.zero_point = draw.between(-130, 260);
    },
    [](PoolSpec& spec, Draw& draw) {
      if (spec.quantized) spec.scale = static_cast<double>(draw.between(1, 1000)) / 128;
    },
};

// Whether an axis leaves a choice.
bool is_open(const AxisWeights& weights, std::string_view axis) {
  const std::vector<Axis>& axes = spec_axes();
  const size_t at = std::ranges::find(axes, axis, &Axis::name) - axes.begin();
  return std::ranges::count_if(weights[at], [](unsigned weight) { return weight > 0; }) > 1;
}

void change_number(PoolSpec& spec, Draw& draw, const AxisWeights& weights) {
  const size_t choice = draw.below(std::size(dim_numbers) + std::size(spec_numbers));
  if (choice >= std::size(dim_numbers)) return spec_numbers[choice - std::size(dim_numbers)](spec, draw);
  const DimNumber& number = dim_numbers[choice];
  SpecDim& dim = spec.dims[draw.below(spec.dims.size())];
  if (number.applies(dim) && is_open(weights, number.axis))
    dim.*number.member = draw.between(number.least, number.most);
}

// Explicit strides may spread few elements over much memory.
bool is_compact(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  constexpr int64_t most_reach = int64_t{1} << 20;
  int64_t reach = 1;
  for (size_t i = 0; i < shape.size(); ++i) reach += std::max<int64_t>(shape[i] - 1, 0) * strides[i];
  return reach <= most_reach;
}

// Whether an axis has a usual setting: its first, if that has more weight than each other.
bool has_usual_setting(const Axis& axis) {
  return std::all_of(axis.settings.begin() + 1, axis.settings.end(),
                     [&](const Setting& other) { return other.weight < axis.settings[0].weight; });
}

void make_plain(Combination& combination, Draw& draw) {
  for (size_t i = 0; i < combination.size(); ++i)
    if (has_usual_setting(spec_axes()[i]) && !draw.one_in(6)) combination[i] = 0;
}

// Gradients of norms are not drawn: unit.norm_gradient tries its layers on every engine and schedule.
std::optional<PoolSpec> checked_draw(PoolSpec spec) {
  if (is_norm(spec.reduction) && spec.direction == ir::Direction::backward) return std::nullopt;
  auto checked = check_spec(std::move(spec));
  if (!checked) return std::nullopt;
  return std::move(*checked);
}

constexpr SpecLimits random_limits = {.elements = 20000, .work = 120000};
constexpr SpecLimits long_row_limits = {.elements = 40000, .work = 8000000};
// Each tap takes a logarithm and an exponential.
constexpr SpecLimits power_limits = {.elements = long_row_limits.elements, .work = long_row_limits.work / 16};
bool takes_powers(const PoolSpec& spec) {
  return is_norm(spec.reduction) && spec.norm_type != std::floor(spec.norm_type);
}

// Room for one more window than the kernel needs, at least; padding that no framework would take, too.
void draw_window(SpecDim& dim, Draw& draw, int64_t most_kernel, int64_t most_padding) {
  if (!has_window(dim)) return;
  const auto up_to = [&](int64_t most) { return draw.one_in(4) ? most : draw.between(0, most); };
  dim.kernel = std::max<int64_t>(1, up_to(most_kernel));
  dim.pad_begin = dim.pad_end = dim.kernel / 2;
  if (draw.one_in(2)) dim.pad_begin = up_to(most_padding);
  if (draw.one_in(2)) dim.pad_end = up_to(most_padding);
  if (!draw.one_in(4)) dim.stride = 1;
}

void lengthen_rows(PoolSpec& spec, Draw& draw) {
  if (spec.batch) spec.batch = 1;
  spec.channels = draw.between(1, 3);
  spec.strides.clear();
  spec.output_strides.clear();
  if (!draw.one_in(4)) {  // columns that lie next to each other
    spec.layout = draw.one_in(3) ? frontend::Layout::nhwc : frontend::Layout::nchw;
    spec.output_layout.reset();
  }
  for (size_t d = 0; d + 2 < spec.dims.size(); ++d) spec.dims[d] = {.input = 1, .kernel = 1};
  if (spec.dims.size() > 1) {
    SpecDim& down = spec.dims[spec.dims.size() - 2];
    down.input = draw.between(1, draw.one_in(2) ? 40 : 8);
    draw_window(down, draw, draw.one_in(2) ? 31 : 6, 40);
  }
  SpecDim& along = spec.dims.back();
  along.input = draw.between(60, draw.one_in(3) ? 3000 : 600);
  draw_window(along, draw, draw.one_in(2) ? 40 : 8, 200);
}

// Windows of each height and width up to 4, at strides up to 3: those where loops over taps are unrolled.
void redraw_windows(PoolSpec& spec, Draw& draw, const AxisWeights& weights) {
  for (SpecDim& dim : spec.dims) {
    if (!has_window(dim)) continue;
    if (is_open(weights, "kernel_size")) dim.kernel = draw.between(1, 4);
    if (is_open(weights, "stride")) dim.stride = draw.between(1, 3);
  }
}

// Rows of any length whose windows differ at both ends, and so do their divisors: they are cut into parts,
// some shorter than a vector.
void cut_rows(PoolSpec& spec, Draw& draw) {
  for (SpecDim& dim : spec.dims) {
    if (!has_window(dim)) continue;
    dim.kernel = draw.between(2, draw.one_in(3) ? 9 : 4);
    dim.stride = draw.between(1, dim.kernel + 1);
    dim.pad_begin = draw.between(0, dim.kernel / 2);
    dim.pad_end = draw.one_in(3) ? draw.between(0, dim.kernel - 1) : dim.pad_begin;
    dim.dilation = 1;
  }
  spec.dims.back().input = draw.between(3, 40);
  spec.channels = draw.between(1, 4);
  spec.ceil_mode = draw.one_in(3) ? frontend::CeilMode::floor : frontend::CeilMode::torch;
  spec.count_include_pad = draw.one_in(2);
  spec.strides.clear();
  spec.output_strides.clear();
}

bool is_tight(const PoolSpec& spec) {
  return is_compact(input_shape(spec), input_strides(spec)) &&
         is_compact(output_shape(spec), output_strides(spec));
}

// The spec after a change, if it is still valid and small.
PoolSpec changed_or_not(const PoolSpec& spec, PoolSpec changed) {
  auto checked = check_spec(std::move(changed));
  return checked && is_small(*checked, random_limits) && is_tight(*checked) ? *checked : spec;
}

// Lengthened, or with some of its numbers changed; ours, whose rows are cut into parts, with rows of many
// parts.
PoolSpec varied(const PoolSpec& spec, Draw& draw, const AxisWeights& weights, bool is_own) {
  if (draw.below(8) == 7)
    if (const auto with_long_rows = lengthened(spec, draw)) return *with_long_rows;
  PoolSpec changed = spec;
  if (is_own && draw.one_in(4)) {
    cut_rows(changed, draw);
    return changed_or_not(spec, std::move(changed));
  }
  for (uint64_t changes = draw.below(5); changes > 0; --changes) change_number(changed, draw, weights);
  return changed_or_not(spec, std::move(changed));
}

}  // namespace

std::optional<PoolSpec> lengthened(PoolSpec spec, Draw& draw) {
  lengthen_rows(spec, draw);
  auto checked = check_spec(std::move(spec));
  if (!checked || !is_small(*checked, takes_powers(*checked) ? power_limits : long_row_limits))
    return std::nullopt;
  return std::move(*checked);
}

bool is_small(const PoolSpec& spec, const SpecLimits& limits) {
  int64_t elements = 1, work = 1;
  // A batch of 0 is tried with others, too.
  for (int64_t extent : input_shape(spec)) elements *= std::max<int64_t>(extent, 1);
  for (int64_t extent : output_shape(spec)) work *= std::max<int64_t>(extent, 1);
  for (const SpecDim& dim : spec.dims) work *= dim.kernel;
  return elements <= limits.elements && work <= limits.work;
}

const AxisWeights& usual_weights() {
  static const AxisWeights& weights = *new AxisWeights([] {
    AxisWeights all;
    for (const Axis& axis : spec_axes()) {
      all.emplace_back();
      for (const Setting& setting : axis.settings) all.back().push_back(setting.weight);
    }
    return all;
  }());
  return weights;
}

Combination random_combination(Draw& draw, const AxisWeights& weights) {
  Combination combination;
  for (const std::vector<unsigned>& axis : weights) {
    uint64_t left = draw.below(std::accumulate(axis.begin(), axis.end(), uint64_t{0}));
    size_t chosen = 0;
    while (left >= axis[chosen]) left -= axis[chosen++];
    combination.push_back(chosen);
  }
  return combination;
}

DrawnSpec nearest(Combination combination) {
  if (auto spec = combine(combination)) return {std::move(*spec), std::move(combination)};
  PoolSpec spec;
  spec.dims.resize(1);
  const std::vector<Axis>& axes = spec_axes();
  for (size_t i = 0; i < axes.size(); ++i) {
    PoolSpec next = spec;
    axes[i].settings[combination[i]].apply(next);
    const auto checked = checked_draw(next);
    if (checked && is_small(*checked))
      spec = std::move(next);
    else
      combination[i] = no_setting;
  }
  return {*check_spec(std::move(spec)), std::move(combination)};
}

Combination plain_combination(Draw& draw) {
  Combination combination = random_combination(draw);
  make_plain(combination, draw);
  return combination;
}

std::optional<PoolSpec> combine(const Combination& combination) {
  const std::vector<Axis>& axes = spec_axes();
  PoolSpec spec;
  for (size_t i = 0; i < axes.size(); ++i) axes[i].settings[combination[i]].apply(spec);
  std::optional<PoolSpec> checked = checked_draw(std::move(spec));
  if (!checked || !is_small(*checked)) return std::nullopt;
  return checked;
}

DrawnSpec random_spec_of(Draw& draw, Style style) {
  DrawnSpec drawn = nearest(style == Style::plain ? plain_combination(draw) : random_combination(draw));
  drawn.spec = varied(drawn.spec, draw, usual_weights(), style == Style::any);
  return drawn;
}

DrawnSpec random_spec_of(Draw& draw, const AxisWeights& weights) {
  DrawnSpec drawn = nearest(random_combination(draw, weights));
  if (draw.one_in(4)) {
    PoolSpec redrawn = drawn.spec;
    redraw_windows(redrawn, draw, weights);
    drawn.spec = changed_or_not(drawn.spec, std::move(redrawn));
  } else {
    drawn.spec = varied(drawn.spec, draw, weights, false);
  }
  return drawn;
}

PoolSpec random_spec(Draw& draw, Style style) { return random_spec_of(draw, style).spec; }

}  // namespace pooljit::fuzz
