#include "tools/fuzz/random_pools.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/check.h"
#include "frontend/dialects.h"
#include "tools/fuzz/random_spec.h"

namespace pooljit::fuzz {
namespace {

using frontend::PoolSpec;
using frontend::SpecDim;

// Norms are left out: their powers take long.
ir::Reduction drawn_reduction(Draw& draw) {
  std::vector<ir::Reduction> all;
  for (size_t i = 0; i < std::size(ir::reduction_table); ++i)
    if (const auto reduction = static_cast<ir::Reduction>(i); !is_norm(reduction)) all.push_back(reduction);
  return all[draw.below(all.size())];
}

// As large as the input, so that outputs can be concatenated with it.
void keep_extents(PoolSpec& member, Draw& draw) {
  for (SpecDim& dim : member.dims) {
    dim.kernel = 1 + 2 * draw.between(0, 6);
    dim.stride = dim.dilation = 1;
    dim.pad_begin = dim.pad_end = dim.kernel / 2;
    dim.adaptive_output = 0;
  }
}

void redraw(PoolSpec& member, Draw& draw) {
  for (SpecDim& dim : member.dims) {
    if (dim.adaptive_output != 0) {
      dim.adaptive_output = draw.between(1, 8);
      continue;
    }
    dim.kernel = draw.between(1, 6);
    dim.stride = draw.between(1, 3);
    dim.pad_begin = draw.between(0, dim.kernel / 2);
    if (draw.one_in(2)) dim.dilation = draw.between(1, 2);
  }
}

// A maximum or minimum of its own, or the whole pool where nothing but windows is to differ.
PoolSpec plain(const PoolSpec& first, ir::Reduction reduction) {
  PoolSpec member;
  member.dtype = first.dtype, member.quantized = first.quantized, member.scale = first.scale;
  member.zero_point = first.zero_point;
  member.batch = first.batch, member.free_batch = first.free_batch, member.channels = first.channels;
  member.layout = first.layout, member.strides = first.strides;
  member.dims = first.dims;
  member.reduction = reduction;
  return member;
}

std::optional<PoolSpec> checked(std::vector<PoolSpec> members, bool concat, bool include_input) {
  PoolSpec spec = frontend::spec_of_pools(std::move(members));
  spec.concat = concat, spec.include_input = include_input;
  auto valid = frontend::check_spec(std::move(spec));
  if (!valid || !std::ranges::all_of(valid->members, [](const PoolSpec& one) { return is_small(one); }))
    return std::nullopt;
  return std::move(*valid);
}

}  // namespace

std::optional<PoolSpec> random_pools(const PoolSpec& first, Draw& draw) {
  if (first.direction != ir::Direction::forward) return std::nullopt;
  const bool is_chain = draw.one_in(2), keeps = is_chain || draw.one_in(3);
  const ir::Reduction of_all = draw.one_in(4) ? ir::Reduction::min : ir::Reduction::max;
  std::vector<PoolSpec> members;
  if (!is_chain) members.push_back(first);
  const size_t count = 2 + draw.below(3);
  while (members.size() < count) {
    PoolSpec member =
        draw.one_in(2) && !is_chain ? first : plain(first, is_chain ? of_all : drawn_reduction(draw));
    if (is_chain && draw.one_in(8)) member.return_indices = is_maximum(of_all);
    if (keeps && (is_chain || !members.empty()))
      keep_extents(member, draw);
    else
      redraw(member, draw);
    members.push_back(std::move(member));
  }
  const bool concat = draw.one_in(2);
  if (concat)
    for (const bool include_input : {true, false})
      if (auto spec = checked(members, true, include_input)) return spec;
  return checked(std::move(members), false, false);
}

}  // namespace pooljit::fuzz
