// Several pools of one tensor, a part of the canonical spelling:
//   pools(float32[1,512,19,19], max_pool2d(kernel_size=5, stride=1, padding=2), avg_pool2d(...), concat=True)
// A chain, in which each member pools what the one before it makes, is read as the pools of the input that
// make the same, or refused.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "frontend/check.h"
#include "frontend/dialects.h"
#include "frontend/dialects/torch_words.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

// Beside the members. The keywords of frontend/keywords.def come last.
enum Own : uint8_t { concat, include_input, chain, output_layout_row, strides_row, output_strides_row };
constexpr std::array<std::string_view, 6> own_names = {"concat",        "include_input", "chain",
                                                       "output_layout", "strides",       "output_strides"};
constexpr uint32_t all_own = (1u << own_names.size()) - 1;

constexpr Choosable<bool> truth[] = {{"True", true}, {"False", false}, {"true", true}, {"false", false}};

Broken read_own(const ParsedCall& call, PoolSpec& spec, bool& is_chain) {
  Binding binding;
  if (auto error = bind_arguments(call, {own_names, all_own, {}}, binding)) return error;
  for (size_t i = 0; i < binding.rows.size(); ++i) {
    const ArgumentValue& value = call.arguments[i].value;
    const uint8_t row = binding.rows[i];
    Broken error;
    if (row == concat)
      error = read_choice(value, std::span<const Choosable<bool>>(truth), spec.concat);
    else if (row == include_input)
      error = read_choice(value, std::span<const Choosable<bool>>(truth), spec.include_input);
    else if (row == chain)
      error = read_choice(value, std::span<const Choosable<bool>>(truth), is_chain);
    else if (const auto found = std::ranges::find(keywords(), own_names[row], &Keyword::name);
             !is_none(value))
      error = found->read(value, spec);
    if (error) return error;
  }
  return std::nullopt;
}

// Why such a pool is no part of a chain that begins with `first`; empty: it can be one.
std::string_view no_part_of_chain(const PoolSpec& member, const PoolSpec& first) {
  PoolSpec plain = member;
  if (plain.reduction != first.reduction || plain.global || plain.direction != ir::Direction::forward ||
      is_adaptive(plain) || !is_extreme(plain.reduction))
    return "a chain of other operators";
  for (const SpecDim& dim : plain.dims) {
    if (dim.stride != 1 || dim.dilation != 1) return "a stride or dilation";
    if (dim.pad_begin < 0 || dim.pad_end < 0 || std::max(dim.pad_begin, dim.pad_end) >= dim.kernel)
      return "windows of padding alone, or a crop";
  }
  if (plain.zeros != ir::ZeroRule::any || has_indices(plain)) return "indices, or an order of zeros";
  plain.dims = first.dims;
  plain.output_layout = first.output_layout, plain.output_strides = first.output_strides;
  if (plain != first || plain.output_dtype || !plain.epilogue.empty() || plain.quantized)
    return "options that change the values in between";
  return "";
}

// Takes in what the one before it does. False: the sizes are no numbers.
bool take_in(PoolSpec& member, const PoolSpec& before) {
  for (size_t d = 0; d < member.dims.size(); ++d) {
    SpecDim& dim = member.dims[d];
    const SpecDim& own = before.dims[d];
    dim.input = own.input;
    if (__builtin_add_overflow(dim.kernel, own.kernel - 1, &dim.kernel) ||
        __builtin_add_overflow(dim.pad_begin, own.pad_begin, &dim.pad_begin) ||
        __builtin_add_overflow(dim.pad_end, own.pad_end, &dim.pad_end))
      return false;
  }
  return true;
}

Broken join_chain(std::vector<PoolSpec>& members, const std::vector<ParsedCall>& calls) {
  const PoolSpec first = members[0];
  for (size_t i = 0; i < members.size(); ++i) {
    std::string_view why = no_part_of_chain(members[i], first);
    if (why.empty() && i > 0 && !take_in(members[i], members[i - 1])) why = "windows whose size is no number";
    if (why.empty()) continue;
    return broke(Rule::chain, "got {} with {}", quote(calls[i].name.text, calls[i].name.at), why);
  }
  return std::nullopt;
}

}  // namespace

std::optional<PoolSpec> follow(const PoolSpec& before, const PoolSpec& next) {
  PoolSpec both = next;
  const bool fits = before.dims.size() == next.dims.size() && no_part_of_chain(before, before).empty() &&
                    no_part_of_chain(next, before).empty() && take_in(both, before);
  return fits ? std::optional(std::move(both)) : std::nullopt;
}

void share_input(PoolSpec& spec) {
  const PoolSpec& first = pools_of(spec).front();
  spec.dtype = first.dtype, spec.quantized = first.quantized;
  spec.batch = first.batch, spec.free_batch = first.free_batch, spec.channels = first.channels;
  spec.dims.resize(first.dims.size());
  for (size_t i = 0; i < spec.dims.size(); ++i)
    spec.dims[i].input = first.dims[i].input, spec.dims[i].is_free = first.dims[i].is_free;
  spec.layout = first.layout, spec.strides = first.strides;
}

PoolSpec spec_of_pools(std::vector<PoolSpec> members) {
  PoolSpec spec;
  spec.members = std::move(members);
  share_input(spec);
  return spec;
}

ir::Result<PoolSpec> read_pools(std::string_view text) {
  ParsedCall call;
  std::vector<ParsedCall> calls;
  if (auto error = parse_pools(text, call, calls)) return tl::unexpected<ir::Error>(std::move(*error));
  constexpr std::string_view pools = "pools";
  if (call.name.text != pools) {
    const std::string_view names[] = {pools};
    return tl::unexpected<ir::Error>(unknown_operator(call.name, names));
  }
  PoolSpec spec;
  for (const ParsedCall& each : calls) {
    auto member = read_call(each, {.operators = operators()});
    if (!member) return member;
    spec.members.push_back(std::move(*member));
  }
  if (spec.members.empty() || spec.members.size() > most_members)
    return broken(Rule::members, fmt::format("got {}", spec.members.size()));
  PoolSpec input = spec_of_pools(std::move(spec.members));
  bool is_chain = false;
  if (auto error = read_own(call, input, is_chain)) return tl::unexpected<ir::Error>(std::move(*error));
  if (is_chain)
    if (auto error = join_chain(input.members, calls)) return tl::unexpected<ir::Error>(std::move(*error));
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!input.members[i].strides.empty())
      return broken(Rule::option,
                    fmt::format("got strides of {}", quote(calls[i].name.text, calls[i].name.at)),
                    "all members have the input of pools: write pools(..., strides=[...])");
    input.members[i].strides = input.strides;
  }
  return input;
}

std::string print_pools(const PoolSpec& spec, std::string_view batch) {
  std::string text = "pools(" + print_tensor(spec, DimOrder::channels_first, batch);
  for (const PoolSpec& member : spec.members) {
    const Operator& op = operator_of(member);
    const std::string arguments = print_arguments(member, op.keys & ~set_of(Key::strides));
    text += ", " + name_of(op, member.dims.size()) + "(" + arguments + ")";
  }
  if (spec.concat) text += ", concat=True";
  if (spec.include_input) text += ", include_input=True";
  const std::string views =
      print_arguments(spec, set_of(Key::output_layout, Key::strides, Key::output_strides));
  return text + (views.empty() ? "" : ", ") + views + ")";
}

}  // namespace pooljit::frontend
