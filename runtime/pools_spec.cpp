// The spec that several pools as data say.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/check.h"
#include "frontend/dialects.h"
#include "runtime/layer.h"
#include "runtime/layer_fields.h"

namespace pooljit::runtime {
namespace {

using frontend::PoolSpec;

tl::unexpected<ir::Error> wrong(const std::string& field, const std::string& got, std::string hint) {
  return tl::unexpected<ir::Error>(*wrong_field(field, got, std::move(hint)));
}

bool have_one_input(const PoolSpec& a, const PoolSpec& b) {
  return a.dtype == b.dtype && a.quantized == b.quantized && a.batch == b.batch &&
         a.free_batch == b.free_batch && a.channels == b.channels && a.layout == b.layout &&
         a.strides == b.strides &&
         std::ranges::equal(a.dims, b.dims, [](const frontend::SpecDim& one, const frontend::SpecDim& other) {
           return one.is_free == other.is_free && (one.is_free || one.input == other.input);
         });
}

ir::Result<std::vector<PoolSpec>> read_members(const pooljit_pools& pools) {
  std::vector<PoolSpec> members;
  // An array of the caller's structs, which may be of a later version.
  const auto* place = reinterpret_cast<const char*>(pools.members);
  const size_t stride = pools.members->size;
  for (int32_t i = 0; i < pools.member_count; ++i, place += stride) {
    const auto& layer = *reinterpret_cast<const pooljit_layer*>(place);
    const std::string name = fmt::format("members[{}]", i);
    if (layer.size != stride)
      return wrong(name + ".size", fmt::format("{}", layer.size), fmt::format("{}, as of the first", stride));
    auto member = spec_of(layer);
    if (!member) {
      member.error().message = name + ": " + member.error().message;
      return tl::unexpected(member.error());
    }
    if (i > 0 && !have_one_input(members[0], *member))
      return wrong(name + ".input", "another than members[0].input", "all pool one tensor");
    if (pools.chain && i > 0) {
      auto both = frontend::follow(members.back(), *member);
      if (!both)
        return ir::invalid("spec.chain", name + " cannot follow the one before it",
                           "maxima, or minima, of stride 1; or chain = 0");
      *member = std::move(*both);
    }
    members.push_back(std::move(*member));
  }
  return members;
}

}  // namespace

ir::Result<PoolSpec> spec_of(const pooljit_pools& given) {
  pooljit_pools pools = {};
  if (auto error = read_size("pools", given, pools)) return tl::unexpected<ir::Error>(std::move(*error));
  if (pools.member_count < 1 || pools.member_count > int32_t{frontend::most_members})
    return wrong("member_count", fmt::format("{}", pools.member_count),
                 fmt::format("1 to {}", frontend::most_members));
  if (!pools.members) return wrong("members", "null", "an array of member_count layers");
  for (const auto& [name, value] : {std::pair("concat", pools.concat), std::pair("chain", pools.chain),
                                    std::pair("include_input", pools.include_input)})
    if (auto error = check_flag(name, value)) return tl::unexpected<ir::Error>(std::move(*error));
  auto members = read_members(pools);
  if (!members) return tl::unexpected(members.error());
  const bool has_output = pools.output.rank != 0 || pools.output.layout || pools.output_order;
  if (members->size() == 1 && pools.concat == 0 && pools.include_input == 0 && !has_output)
    return std::move(members->front());
  PoolSpec spec = frontend::spec_of_pools(std::move(*members));
  spec.concat = pools.concat == 1;
  spec.include_input = pools.include_input == 1;
  if (auto error = read_output_place(pools.output, pools.output_order, spec))
    return tl::unexpected<ir::Error>(std::move(*error));
  auto checked = frontend::check_spec(std::move(spec), frontend::FreeDims::allowed);
  if (!checked || !checked->concat) return checked;
  auto strides = output_strides(*checked);
  if (has_free_dims(*checked) && checked->output_strides.empty()) std::ranges::fill(strides, 0);
  if (auto error = compare_tensor("output", pools.output, checked->batch.has_value(),
                                  known_output_shape(*checked), strides))
    return tl::unexpected<ir::Error>(std::move(*error));
  return checked;
}

}  // namespace pooljit::runtime
