#include "ir/schedules/windows/divisors.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace pooljit::ir {

int64_t divisor_taps(const PoolNest& nest, const Window& window) {
  return std::max<int64_t>(1, nest.count_include_pad ? window.padded_taps : window.taps);
}

namespace {

// Adaptive windows of several sizes take turns: one by one.
Interior usual_of_adaptive(const PoolNest& nest, const NestDim& dim) {
  Interior longest;
  for (Interior alike; alike.begin < dim.output; alike.begin = alike.end) {
    const int64_t divisor = divisor_taps(nest, dim.window(alike.begin));
    for (alike.end = alike.begin; alike.end < dim.output; ++alike.end)
      if (divisor_taps(nest, dim.window(alike.end)) != divisor) break;
    if (alike.end - alike.begin > longest.end - longest.begin) longest = alike;
  }
  return longest;
}

Interior find_usual_outputs(const PoolNest& nest, const NestDim& dim) {
  if (dim.kind == DimKind::adaptive) return usual_of_adaptive(nest, dim);
  const std::vector<Run> all = runs(dim);
  const auto fewer = [](const Run& a, const Run& b) { return a.outputs() < b.outputs(); };
  const auto largest = std::max_element(all.begin(), all.end(), fewer);
  const auto differs = [&](const Run& run) {
    return divisor_taps(nest, run.window) != divisor_taps(nest, largest->window);
  };
  const auto begin = std::find_if(std::reverse_iterator(largest), all.rend(), differs).base();
  const auto end = std::find_if(largest, all.end(), differs);
  return {begin->begin, std::prev(end)->end};
}

}  // namespace

// Enumeration and lowering ask about the same dimension again and again.
Interior usual_outputs(const PoolNest& nest, const NestDim& dim) {
  thread_local struct {
    std::optional<NestDim> dim;
    bool count_include_pad = false;
    Interior usual = {};
  } last;
  if (last.dim != dim || last.count_include_pad != nest.count_include_pad)
    last = {dim, nest.count_include_pad, find_usual_outputs(nest, dim)};
  return last.usual;
}

Divisors::Divisors(const PoolNest& nest, const NestDim& dim, Interior asked, Builder& builder, Value origin)
    : nest_(nest), dim_(dim), b_(builder), origin_(origin) {
  bool differ = false, found = false;
  for (const Run& run : runs(dim)) {
    if (run.end <= asked.begin || run.begin >= asked.end) continue;
    const int64_t divisor = divisor_taps(nest, run.window);
    if (!found) common_ = divisor;
    differ = differ || divisor != common_;
    found = true;
  }
  if (!differ) return;
  std::vector<int64_t> divisors;
  divisors.reserve(static_cast<size_t>(dim.output));
  for (int64_t output = 0; output < dim.output; ++output)
    divisors.push_back(divisor_taps(nest, dim.window(output)));
  table_ = b_.add_table(std::move(divisors));
}

Value Divisors::operator()(const Position& output) const {
  if (output.steps.empty() && origin_ == no_value)
    return b_.iconst(divisor_taps(nest_, dim_.window(output.first)));
  if (table_ < 0) return b_.iconst(common_);
  constexpr int64_t entry = sizeof(int64_t);
  Address first{b_.param(Param::Role::table, table_), {}, 0};
  if (origin_ != no_value) first.base = b_.ptradd(first, b_.imul(origin_, b_.iconst(entry)));
  return b_.iload(at(first, output, entry));
}

}  // namespace pooljit::ir
