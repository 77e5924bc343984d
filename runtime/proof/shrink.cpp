#include "runtime/proof/shrink.h"

#include <algorithm>

#include "frontend/check.h"
#include "proof/program/prove.h"
#include "runtime/proof/expected.h"
#include "runtime/proof/rounds.h"

namespace pooljit::runtime {
namespace {

// Vectors times unrolling steps by at most so many channels or outputs; loops over other dimensions by fewer.
constexpr int64_t channel_step = 64, inner_step = 64, outer_step = 4;

// How much more a smaller tensor may cost than a whole one.
constexpr double large_window_factor = 200;

// The smallest extent with the remainder of `extent` by `step` that is at least `least`.
int64_t smaller(int64_t extent, int64_t step, int64_t least) {
  const int64_t rest = extent % step;
  return std::min(extent, rest + std::max<int64_t>(least - rest + step - 1, 0) / step * step);
}

double product(const ir::PoolNest& nest, const std::vector<int64_t>& factors) {
  double result = double(nest.channels);
  for (int64_t factor : factors) result *= double(factor);
  return result;
}

}  // namespace

double probing_work(const ir::PoolNest& nest, int64_t batch) {
  double points = 1, cuts = 1, widths = 0;
  std::vector<int64_t> inputs, outputs;
  for (const ir::NestDim& dim : nest.dims) {
    const int64_t reach = (dim.most_taps() - 1) * dim.tap_step() + 1;
    points *= double(std::min(reach, dim.input));
    cuts *= double(std::min(2 * reach - 1, dim.input));
    widths += double(dim.most_taps());
    inputs.push_back(dim.input);
    outputs.push_back(dim.output);
  }
  constexpr double separating = 60, step_probes = 500, random_planes = 16;
  const bool has_nans = ir::is_float(nest.input.dtype);
  const bool is_extremum = argument_of(nest) == ProofArgument::extremum;
  double probes = separating;
  if (is_extremum)
    probes += (has_nans ? 6 : 3) * points + (nest.indices ? (has_nans ? 5 : 1) * cuts : 0);
  else
    probes += points * (argument_of(nest) == ProofArgument::norm ? 8 : 2);
  if (!nest.epilogue.empty()) probes += step_probes;
  const auto rounds = rounds_needed(nest);
  const double random = rounds ? double(rounds->rounds) : 0, planes = double(batch * nest.channels);
  const double taps = double(nest.full_taps());
  // Kernels take some eight taps at once; of large windows rows and columns one after the other.
  const double kernel = std::min(taps, 4 * widths) / 8;
  const double visits = double(batch) * (product(nest, inputs) + product(nest, outputs) * (2 + kernel));
  const bool by_dimensions = (is_extremum && !nest.indices) || adds_by_dimensions(nest);
  const double oracle = product(nest, outputs) / double(nest.channels) * (by_dimensions ? widths : taps) / 4;
  return probes * (visits + oracle) + random * (visits + std::min(planes, random_planes) * oracle);
}

std::optional<frontend::PoolSpec> shrunk(const frontend::PoolSpec& spec, double most_work, int64_t wider) {
  if (!spec.strides.empty() || !spec.output_strides.empty()) return std::nullopt;
  frontend::PoolSpec small = spec;
  const auto fits = [&]() -> bool {
    const auto checked = frontend::check_spec(small);
    return checked && probing_work(make_nest(*checked), spec.batch ? 2 : 1) <= most_work;
  };
  if (small.batch) small.batch = std::min(*small.batch, int64_t{1});
  small.channels = smaller(spec.channels, channel_step, 2 * channel_step);
  for (size_t d = 0; d < spec.dims.size() && !fits(); ++d) {
    const frontend::SpecDim& dim = spec.dims[d];
    const bool is_inner = d + 1 == spec.dims.size();
    const int64_t reach = dim.dilation * (dim.kernel - 1) + 1;
    // Where windows follow from the extent, another extent has other windows.
    if (dim.adaptive_output != 0 || dim.kernel >= dim.input) continue;
    if (is_inner && wider == whole_rows) continue;
    const int64_t step = (is_inner ? inner_step : outer_step) * dim.stride;
    const int64_t least = 2 * reach + dim.pad_begin + 2 * step;
    small.dims[d].input = smaller(dim.input, step, is_inner ? wider * least : least);
  }
  // Large windows take many probes, however small the tensor.
  most_work *= large_window_factor;
  if (!fits()) return std::nullopt;
  auto checked = frontend::check_spec(std::move(small));
  return checked ? std::optional(std::move(*checked)) : std::nullopt;
}

std::optional<FewerChannels> fewer_channels(const frontend::PoolSpec& spec, int64_t pieces) {
  const bool has_strides = !spec.strides.empty() || !spec.output_strides.empty() ||
                           std::ranges::any_of(spec.members, [](const frontend::PoolSpec& member) {
                             return !member.output_strides.empty();
                           });
  if (has_strides || spec.channels % pieces != 0) return std::nullopt;
  FewerChannels fewer{.spec = spec};
  const int64_t piece = spec.channels / pieces;
  fewer.pieces = std::min<int64_t>(pieces, 2);
  const int64_t channels =
      pieces == 1 ? smaller(spec.channels, channel_step, 2 * channel_step) : piece * fewer.pieces;
  if (channels == spec.channels) return std::nullopt;
  fewer.spec.channels = channels;
  for (frontend::PoolSpec& member : fewer.spec.members) member.channels = channels;
  if (fewer.spec.batch) fewer.spec.batch = std::min(*fewer.spec.batch, int64_t{1});
  for (frontend::PoolSpec& member : fewer.spec.members) member.batch = fewer.spec.batch;
  auto checked = frontend::check_spec(std::move(fewer.spec));
  if (!checked) return std::nullopt;
  fewer.spec = std::move(*checked);
  return fewer;
}

}  // namespace pooljit::runtime
