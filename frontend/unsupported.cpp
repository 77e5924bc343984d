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
    {Rule::unsupported_op, "adaptive windows", is_adaptive},
    {Rule::unsupported_op, "a backward pooling",
     [](const PoolSpec& s) { return s.direction == ir::Direction::backward; }},
    {Rule::unsupported_op, "an unpool",
     [](const PoolSpec& s) { return s.direction == ir::Direction::unpool; }},
    {Rule::unsupported_layout, "a blocked layout",
     [](const PoolSpec& s) { return channel_block(s.layout) > 1 || channel_block(output_layout(s)) > 1; }},
    {Rule::unsupported_option, "index_dtype",
     [](const PoolSpec& s) { return s.index_dtype != ir::DType::i64; }},
    {Rule::unsupported_option, "index_scope",
     [](const PoolSpec& s) { return s.index_scope != ir::IndexScope::plane; }},
};

}  // namespace

std::optional<ir::Error> check_supported(const PoolSpec& spec) {
  for (const Unsupported& row : table)
    if (row.applies(spec)) return broken(row.rule, fmt::format("got {}", row.what)).value();
  return std::nullopt;
}

}  // namespace pooljit::frontend
