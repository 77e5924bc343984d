#include "frontend/unsupported.h"

#include <fmt/format.h>

#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

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
  for (const Unsupported& row : table)
    if (row.applies(spec)) return broken(row.rule, fmt::format("got {}", row.what)).value();
  return std::nullopt;
}

}  // namespace pooljit::frontend
