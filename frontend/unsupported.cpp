#include "frontend/unsupported.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

// How many windows along a dimension have places of their own; the others repeat them. Each costs code or a
// row of a table. As ir::NestDim::period().
int64_t different_windows(const PoolSpec& spec, const SpecDim& dim) {
  if (dim.adaptive_output > 0) return dim.adaptive_output / std::gcd(dim.input, dim.adaptive_output);
  return spec.direction == ir::Direction::backward ? std::min(dim.stride, dim.input) : 1;
}
constexpr int64_t most_different_windows = 1 << 17;

// To make one work: remove its row, and give the test matrix a setting that asks for it.
struct Unsupported {
  Rule rule;
  std::string_view what;
  bool (*applies)(const PoolSpec&);
};
constexpr Unsupported table[] = {
    {Rule::unsupported_dtype, "integers for an Lp norm",
     [](const PoolSpec& s) { return s.reduction == ir::Reduction::lp && !ir::is_float(s.dtype); }},
    {Rule::unsupported_dtype, "gradients of integers",
     [](const PoolSpec& s) { return s.direction == ir::Direction::backward && !ir::is_float(s.dtype); }},
    {Rule::unsupported_option, "indices of the whole batch for a backward pooling",
     [](const PoolSpec& s) {
       return s.direction == ir::Direction::backward &&
              (s.index_scope == ir::IndexScope::tensor || s.index_scope == ir::IndexScope::nhwc_batch);
     }},
    {Rule::unsupported_option, "an epilogue of a backward pooling or an unpool",
     [](const PoolSpec& s) { return s.direction != ir::Direction::forward && !s.epilogue.empty(); }},
};

}  // namespace

std::optional<ir::Error> check_supported(const PoolSpec& spec) {
  for (const SpecDim& dim : spec.dims)
    if (const int64_t windows = different_windows(spec, dim); windows > most_different_windows)
      return broken(Rule::unsupported_size, fmt::format("got {}", windows)).value();
  for (const Unsupported& row : table)
    if (row.applies(spec)) return broken(row.rule, fmt::format("got {}", row.what)).value();
  return std::nullopt;
}

}  // namespace pooljit::frontend
