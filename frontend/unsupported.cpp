#include "frontend/unsupported.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/geometry.h"
#include "frontend/rules.h"
#include "ir/schedules/windows/divisors.h"

namespace pooljit::frontend {

namespace {

constexpr int64_t most_different_windows = 1 << 17;

// How many windows along a dimension have places of their own, at most; the others repeat them. Each costs
// code or a row of a table: those of a period, and those that an edge of the image clips. These are no more
// than there are counts of taps, on either side.
int64_t different_windows(const ir::NestDim& dim) {
  if (dim.kind == ir::DimKind::adaptive) return dim.output / std::gcd(dim.input, dim.output);
  const int64_t phases = std::min(dim.period().output, dim.output);
  if (phases > most_different_windows) return phases;
  const ir::Interior inside = interior(dim);
  const int64_t clipped = dim.output - (inside.end - inside.begin);
  // Of a gradient also those outside the image count: each that a window leaves behind moves its first tap.
  const int64_t counts = std::min(dim.unclipped_taps(), dim.output / phases + 1) * 2;
  // Sizes fit 63 bits, their products need not.
  return phases + (counts < most_different_windows / phases ? std::min(clipped, phases * counts) : clipped);
}

// ... along all dims of all members: a kernel has all their tables.
int64_t different_windows(const PoolSpec& spec) {
  constexpr int64_t most_counted = int64_t{1} << 58;  // three dims of eight members fit 63 bits
  int64_t windows = 0;
  for (const PoolSpec& pool : pools_of(spec))
    for (const SpecDim& dim : pool.dims)
      windows += std::min(different_windows(nest_dim(pool, dim)), most_counted);
  return windows;
}

// The gradient of an average reads what each window divides by from a table, where they differ.
constexpr int64_t most_listed_divisors = 1 << 20;

int64_t listed_divisors(const PoolSpec& spec, const ir::NestDim& dim) {
  if (spec.direction != ir::Direction::backward || !info(spec.reduction).divides || spec.divisor_override)
    return 0;
  const ir::PoolNest nest = make_nest(spec);
  const ir::NestDim forward = forward_of(dim);
  const std::vector<ir::Run> all = runs(forward);
  const int64_t first = divisor_taps(nest, all[0].window);
  const bool differ =
      std::ranges::any_of(all, [&](const ir::Run& run) { return divisor_taps(nest, run.window) != first; });
  return differ ? forward.output : 0;
}

// To make one work: remove its row, and give the test matrix a setting that asks for it.
struct Unsupported {
  Rule rule;
  std::string_view what;
  bool (*applies)(const PoolSpec&);
};
constexpr Unsupported unsupported_table[] = {
    {Rule::unsupported_dtype, "integers for an Lp norm",
     [](const PoolSpec& s) { return is_norm(s.reduction) && !ir::is_float(s.dtype); }},
    {Rule::unsupported_dtype, "gradients of integers",
     [](const PoolSpec& s) {
       return s.direction == ir::Direction::backward && !is_unpool(s) && !ir::is_float(s.dtype);
     }},
    {Rule::unsupported_option, "norm_type=inf for a backward pooling",
     [](const PoolSpec& s) { return s.direction == ir::Direction::backward && std::isinf(s.norm_type); }},
    {Rule::unsupported_option, "indices of the whole batch for a backward pooling",
     [](const PoolSpec& s) {
       return s.direction == ir::Direction::backward && !is_unpool(s) &&
              (s.index_scope == ir::IndexScope::tensor || s.index_scope == ir::IndexScope::nhwc_batch);
     }},
    {Rule::unsupported_option, "indices of the window for a backward adaptive pooling",
     [](const PoolSpec& s) {
       return s.direction == ir::Direction::backward && is_adaptive(s) && has_indices(s) &&
              s.index_scope == ir::IndexScope::window;
     }},
    {Rule::unsupported_option, "an epilogue of a backward pooling or an unpool",
     [](const PoolSpec& s) { return s.direction != ir::Direction::forward && !s.epilogue.empty(); }},
};

}  // namespace

std::optional<ir::Error> check_supported(const PoolSpec& spec) {
  for (const PoolSpec& member : spec.members)
    if (auto error = check_supported(member)) return error;
  for (const Unsupported& row : unsupported_table)
    if (row.applies(spec)) return broken(row.rule, fmt::format("got {}", row.what)).value();
  if (is_unpool(spec)) return std::nullopt;  // a routine of the runtime
  if (const int64_t windows = different_windows(spec); windows > most_different_windows)
    return broken(Rule::unsupported_size, fmt::format("got {}", windows)).value();
  for (const SpecDim& dim : spec.dims)
    if (const int64_t divisors = listed_divisors(spec, nest_dim(spec, dim)); divisors > most_listed_divisors)
      return broken(Rule::unsupported_divisors, fmt::format("got {}", divisors)).value();
  return std::nullopt;
}

}  // namespace pooljit::frontend
