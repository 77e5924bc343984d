// Spatial dims that are said at each run. A free dim has the least extent that the layer can have: what is
// checked of it holds for every size, or for none.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/check.h"
#include "frontend/geometry.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

char dim_letter(size_t rank, size_t dim) {
  constexpr std::string_view letters[max_rank] = {"L", "HW", "DHW"};
  return letters[rank - 1][dim];
}

std::string free_letters(const PoolSpec& spec) {
  std::string letters;
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    if (!spec.dims[i].is_free) continue;
    if (!letters.empty()) letters += " and ";
    letters += dim_letter(spec.dims.size(), i);
  }
  return letters;
}

namespace {

// The least input for which there is an output; not less than 1.
int64_t least_input(const PoolSpec& spec, const SpecDim& dim) {
  Checked least = 1;
  if (is_unpool(spec) && dim.stride > 0) {
    const Checked missing = Checked(dim.pad_begin) + dim.pad_end + 1 - dim.kernel;  // of one input
    least = Checked(floor_div(missing.value().value_or(0) - 1, dim.stride)) + 2;
  } else if (!spec.global && !is_adaptive(spec) && dim.stride > 0) {
    const Checked extent = Checked(dim.dilation) * (Checked(dim.kernel) - 1) + 1;
    least = extent - dim.pad_begin - dim.pad_end - (spec.ceil_mode == CeilMode::floor ? 0 : dim.stride - 1);
  }
  const int64_t uncropped = (Checked(1) - std::min(dim.pad_end, int64_t{0})).value().value_or(1);
  return std::max({least.value().value_or(1), uncropped, int64_t{1}});
}

}  // namespace

void fill_free(PoolSpec& spec) {
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    if (!spec.dims[i].is_free) continue;
    int64_t least = 1;
    for (const PoolSpec& pool : pools_of(spec))
      if (i < pool.dims.size()) least = std::max(least, least_input(pool, pool.dims[i]));
    spec.dims[i].input = least;
    for (PoolSpec& member : spec.members)
      if (i < member.dims.size()) member.dims[i].input = least;
  }
}

ir::Result<void> check_known(const PoolSpec& spec) {
  if (!has_free_dims(spec)) return {};
  return broken(Rule::free, fmt::format("{} leaves {} free", print(spec), free_letters(spec)));
}

ir::Result<PoolSpec> with_sizes(const PoolSpec& spec, std::span<const int64_t> sizes) {
  if (sizes.size() != spec.dims.size())
    return broken(Rule::sizes,
                  fmt::format("got {} for {} spatial dims", fmt::join(sizes, "x"), spec.dims.size()));
  PoolSpec sized = spec;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!spec.dims[i].is_free && sizes[i] != spec.dims[i].input)
      return broken(Rule::sizes, fmt::format("got {}: spatial dim {} is {}", fmt::join(sizes, "x"), i,
                                             spec.dims[i].input));
    sized.dims[i].input = sizes[i], sized.dims[i].is_free = false;
    for (PoolSpec& member : sized.members) member.dims[i].input = sizes[i], member.dims[i].is_free = false;
  }
  return check_spec(std::move(sized));
}

}  // namespace pooljit::frontend
