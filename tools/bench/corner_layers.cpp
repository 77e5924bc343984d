#include "tools/bench/corner_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "frontend/check.h"
#include "frontend/dialects.h"
#include "ir/pools.h"
#include "ir/schedule_fields.h"
#include "ir/schedules/family.h"
#include "tools/fuzz/random_pools.h"
#include "tools/fuzz/random_spec.h"

namespace pooljit::tools {
namespace {

using frontend::PoolSpec;
using frontend::SpecDim;

constexpr int64_t most_work = 100'000'000;  // outputs times taps: about 50 ms without vectors
constexpr int least_size = 10, most_size = 23;

int64_t product(std::span<const int64_t> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{1}, std::multiplies<>());
}

// None where a rule is broken.
std::optional<PoolSpec> if_right(PoolSpec spec) {
  auto checked = check_spec(std::move(spec));
  return checked ? std::optional(std::move(*checked)) : std::nullopt;
}

int64_t work_of(const PoolSpec& spec) {
  int64_t work = 0;
  for (const PoolSpec& pool : pools_of(spec))
    work += product(output_shape(pool)) * (is_unpool(pool) ? 1 : make_nest(pool).full_taps());
  return work;
}

// The strides of a view of this shape that has the order and the gaps of the old one.
std::vector<int64_t> respaced(std::vector<int64_t> strides, std::vector<int64_t> before,
                              std::vector<int64_t> after, const PoolSpec& spec, frontend::Layout layout) {
  const size_t channel = spec.batch ? 1 : 0;
  for (std::vector<int64_t>* shape : {&before, &after})
    (*shape)[channel] =
        (*shape)[channel] / channel_block(layout) + ((*shape)[channel] % channel_block(layout) != 0);
  std::vector<size_t> order(strides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t axis) { return strides[axis]; });
  std::vector<int64_t> result = strides;
  for (size_t i = 1; i < order.size(); ++i) {
    const size_t inner = order[i - 1], axis = order[i];
    if (strides[inner] == 0) continue;  // the elements of that dimension are one
    const int64_t gap = std::max<int64_t>(strides[axis] - strides[inner] * before[inner], 0);
    result[axis] = result[inner] * after[inner] + gap;
  }
  return result;
}

void grow_dim(SpecDim& dim, int64_t more) {
  const bool is_whole = dim.kernel == dim.input && dim.adaptive_output == 0;
  const bool is_stride = dim.stride == dim.kernel;
  dim.input = 2 * dim.input + more;
  if (is_whole) dim.kernel = dim.input;
  if (is_whole && is_stride) dim.stride = dim.kernel;
}

// Twice as many of something: images, channels or positions of one dimension.
void grow(PoolSpec& spec, size_t what, int64_t more) {
  if (what == 0)
    spec.batch = 2 * spec.batch.value_or(1);
  else if (what == 1)
    spec.channels = 2 * spec.channels + more;
  else
    grow_dim(spec.dims[what - 2], more);
}

// Views of more have the order and the gaps of the old ones.
std::optional<PoolSpec> grown(const PoolSpec& spec, size_t what, int64_t more) {
  if (what == 0 && !spec.batch) return std::nullopt;
  PoolSpec larger = spec;
  larger.output_strides.clear();
  for (PoolSpec& pool : pools_of(larger)) {
    grow(pool, what, more);
    pool.strides.clear();
    pool.output_strides.clear();
  }
  share_input(larger);
  const auto packed = if_right(larger);
  if (!packed) return packed;
  const auto respace_output = [](PoolSpec& to, const PoolSpec& from, const PoolSpec& packed_to) {
    if (!from.output_strides.empty())
      to.output_strides = respaced(from.output_strides, output_shape(from), output_shape(packed_to), from,
                                   output_layout(from));
  };
  for (size_t i = 0; i < pools_of(spec).size(); ++i) {
    PoolSpec& to = pools_of(larger)[i];
    if (!spec.strides.empty())
      to.strides = respaced(spec.strides, input_shape(spec), input_shape(*packed), spec, spec.layout);
    respace_output(to, pools_of(spec)[i], pools_of(*packed)[i]);
  }
  share_input(larger);
  respace_output(larger, spec, *packed);
  return if_right(std::move(larger));
}

PoolSpec enlarged(PoolSpec spec, int64_t bytes, fuzz::Draw& draw) {
  for (int tries = 0; tries < 64 && moved_bytes(spec) < bytes; ++tries) {
    const size_t what = draw.below(spec.dims.size() + 2);
    const auto larger = grown(spec, what, draw.between(0, 3));
    if (larger && moved_bytes(*larger) <= 2 * bytes && work_of(*larger) <= most_work) spec = *larger;
  }
  return spec;
}

std::optional<PoolSpec> as_unpool(const PoolSpec& spec, bool backward) {
  PoolSpec unpool;
  unpool.dtype = spec.dtype, unpool.batch = spec.batch, unpool.channels = spec.channels;
  unpool.layout = spec.layout;
  unpool.direction = backward ? ir::Direction::backward : ir::Direction::unpool;
  unpool.unpool_gradient = backward;
  for (const SpecDim& dim : spec.dims)
    unpool.dims.push_back({.input = dim.input, .kernel = dim.kernel, .stride = dim.stride});
  return if_right(std::move(unpool));
}

// What lies next to each other: "columns", "rows", "channels"; or nothing does.
std::string_view neighbours(const ir::View& view, const PoolSpec& spec, std::span<const int64_t> extents) {
  if (view.channel_block > 1 && spec.channels > 1) return "channel blocks";
  if (view.channel_stride == 1 && spec.channels > 1) return "channels";
  for (size_t d = extents.size(); d-- > 0;)
    if (view.strides[d] == 1 && extents[d] > 1) return d + 1 == extents.size() ? "columns" : "rows";
  return apart;
}

}  // namespace

int64_t moved_bytes(const PoolSpec& spec) {
  int64_t bytes = product(input_shape(spec)) * ir::bytes(spec.dtype);
  for (const PoolSpec& one : outputs_of(spec))
    bytes += product(output_shape(one)) * ir::bytes(output_dtype(one));
  return bytes;
}

PoolSpec random_layer(fuzz::Draw& draw) {
  for (;;) {
    PoolSpec spec = fuzz::random_spec(draw);
    if (spec.batch == 0) spec.batch = 1;
    constexpr uint64_t unpools = 24, several = 12;  // one in so many layers
    if (draw.one_in(unpools)) {
      if (const auto unpool = as_unpool(spec, draw.one_in(3))) spec = *unpool;
    } else if (draw.one_in(several)) {
      if (const auto pools = fuzz::random_pools(spec, draw)) spec = *pools;
    }
    const auto checked = if_right(std::move(spec));
    if (!checked) continue;
    PoolSpec large = enlarged(*checked, int64_t{1} << draw.between(least_size, most_size), draw);
    if (moved_bytes(large) >= int64_t{1} << least_size) return large;
  }
}

std::vector<std::string> features(const PoolSpec& spec) {
  std::vector<std::string> found;
  const auto add = [&](bool has, const std::string& what) {
    if (has && std::ranges::find(found, what) == found.end()) found.push_back(what);
  };
  add(pools_of(spec).size() > 1, "several pools");
  for (const PoolSpec& pool : pools_of(spec)) {
    const ir::PoolNest nest = make_nest(pool);
    std::vector<int64_t> read, written;
    for (const ir::NestDim& dim : nest.dims) read.push_back(dim.input), written.push_back(dim.output);
    add(is_unpool(pool), "unpool");
    add(nest.is_backward(), "backward");
    add(pool.return_indices, "indices");
    const std::string_view from = neighbours(nest.input, pool, read),
                           to = neighbours(nest.output, pool, written);
    add(true, from == to ? std::string(from) : fmt::format("{} to {}", from, to));
    add(is_adaptive(pool), "adaptive");
    add(product(written) == 1 && product(read) > 1, "whole planes");
  }
  return found;
}

int fewest_lanes(const ir::Schedule& schedule) {
  return std::ranges::min_element(pools_of(schedule), {}, &ir::Schedule::lanes)->lanes;
}

std::string cause_of(const PoolSpec& spec, const ir::Schedule& schedule) {
  std::vector<std::string_view> families;
  for (const ir::Schedule& pool : pools_of(schedule))
    if (const auto own = is_unpool(spec) ? "unpool" : text_of(pool.family());
        std::ranges::find(families, own) == families.end())
      families.push_back(own);
  return fmt::format("{}{}: {}", fmt::join(families, " and "),
                     !is_unpool(spec) && fewest_lanes(schedule) == 1 ? ", one lane" : "",
                     fmt::join(features(spec), ", "));
}

}  // namespace pooljit::tools
