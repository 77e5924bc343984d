#include "tools/fuzz/cause.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "frontend/pool_spec.h"

namespace pooljit::fuzz {
namespace {

using frontend::PoolSpec;
using frontend::SpecDim;

// What of a layer may be why it fails: what the smallest one still has.
std::vector<std::string> features_of(const PoolSpec& spec) {
  std::vector<std::string> found;
  const auto has = [&](bool is_there, const char* feature) {
    if (is_there) found.emplace_back(feature);
  };
  const auto any = [&](const auto& condition) { return std::ranges::any_of(pools_of(spec), condition); };
  const auto any_dim = [&](const auto& condition) {
    return any([&](const PoolSpec& pool) { return std::ranges::any_of(pool.dims, condition); });
  };
  has(any_dim([](const SpecDim& dim) { return dim.pad_begin > 0; }), "padding");
  has(any_dim([](const SpecDim& dim) { return dim.pad_end > dim.pad_begin; }), "more padding at the end");
  has(any_dim([](const SpecDim& dim) { return dim.pad_end < 0; }), "crop");
  has(any_dim([](const SpecDim& dim) { return dim.kernel > 1 && dim.dilation > 1; }), "dilation");
  has(any_dim([](const SpecDim& dim) { return dim.adaptive_output > 0; }), "adaptive");
  has(any([](const PoolSpec& pool) { return pool.ceil_mode != frontend::CeilMode::floor; }), "ceil_mode");
  has(any([](const PoolSpec& pool) { return !pool.count_include_pad; }), "count_include_pad=False");
  has(any([](const PoolSpec& pool) { return pool.divisor_override.has_value(); }), "divisor_override");
  has(spec.layout == frontend::Layout::nhwc, "NHWC");
  has(channel_block(spec.layout) > 1, "blocked");
  has(!spec.strides.empty() || !spec.output_strides.empty() ||
          any([](const PoolSpec& pool) { return !pool.output_strides.empty(); }),
      "strides");
  has(has_indices(spec), "indices");
  has(any([](const PoolSpec& pool) { return !pool.epilogue.empty(); }), "epilogue");
  has(spec.concat, "concat");
  return found;
}

// "output, last column"; "" if there is one output.
std::string place_of(const PoolSpec& spec, const std::string& place) {
  const size_t open = place.find('['), comma = place.rfind(',');
  if (open == std::string::npos || comma == std::string::npos || comma < open) return "";
  int64_t column = 0;
  std::from_chars(place.data() + comma + 1, place.data() + place.size() - 1, column);
  const int64_t columns = output_shape(spec).back();
  std::string part = place.substr(0, open - 1);
  if (columns == 1) return part;
  return part + (column == 0 ? ", first column" : column == columns - 1 ? ", last column" : ", inner column");
}

}  // namespace

std::string cause_of(const FuzzCase& smallest, const Outcome& outcome) {
  std::string cause = label(outcome);
  if (outcome.kind == Kind::crash || outcome.kind == Kind::stray_write) {
    const size_t last = outcome.failure.rfind('\n');
    cause += last == std::string::npos ? "" : " (" + outcome.failure.substr(last + 1) + ")";
  }
  const auto spec = frontend::parse_spec(smallest.spec);
  if (!spec) return cause;
  std::vector<std::string_view> reductions;
  for (const PoolSpec& pool : pools_of(*spec)) reductions.push_back(info(pool.reduction).text);
  cause += fmt::format(": {}{} {}", fmt::join(reductions, " beside "),
                       spec->direction == ir::Direction::forward ? "" : " backward",
                       ir::info(spec->dtype).spec_name);
  for (const std::string& feature : features_of(*spec)) cause += ", " + feature;
  if (!smallest.before.empty()) cause += ", after one with another " + smallest.before;
  if (const std::string place = place_of(*spec, outcome.place); !place.empty()) cause += "; " + place;
  return cause;
}

}  // namespace pooljit::fuzz
