#include "frontend/dialects/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/keywords.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

Broken broke(Rule rule, const Word& word, std::string_view hint = "") {
  return broken(rule, fmt::format("got {}", quote(word.text, word.at)), hint).value();
}

Broken find_by_name(const Word& word, const Parameters& parameters, size_t& row) {
  std::vector<std::string_view> names;
  for (row = 0; row < parameters.names.size(); ++row) {
    const bool is_allowed = parameters.allowed >> row & 1;
    if (parameters.names[row] == word.text) return is_allowed ? std::nullopt : broke(Rule::option, word);
    if (is_allowed) names.push_back(parameters.names[row]);
  }
  std::string hint = suggestion(word.text, names);
  if (hint.empty()) hint = fmt::format("one of {}", fmt::join(names, ", "));
  return broke(Rule::keyword, word, hint);
}

// Operators that others have, and we do not: windows of random or given places, gradients, and more spatial
// dims.
bool is_elsewhere(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::string_view windows[] = {"ractional", "RoiPool", "RoiAlign", "roi_pool", "roi_align"};
  constexpr std::string_view gradients[] = {"_with_indices_backward", "_backward", "Grad"};
  constexpr std::string_view digits = "0123456789";
  if (std::ranges::any_of(windows, [&](auto word) { return name.find(word) != std::string_view::npos; }))
    return true;
  std::string known(name);
  for (const std::string_view ending : gradients)
    if (known.ends_with(ending)) known.resize(known.size() - ending.size());
  const bool is_gradient = known != name;
  const size_t rank = std::min(known.find_first_of(digits), known.size());
  const size_t letter = std::min(known.find_first_not_of(digits, rank), known.size());
  const bool is_large = letter - rank > 1 || (letter > rank && known[rank] > '3');
  if (is_large) known = known.substr(0, rank) + '3' + known.substr(letter);
  return (is_gradient || is_large) && std::ranges::find(names, known) != names.end();
}

// The letters of free dims stand where they belong: N, then none for C, then those of the rank.
Broken check_letters(const ParsedCall& call, DimOrder order, size_t rank) {
  const size_t count = call.dims.size(), batch = count - rank - 1;
  const size_t first = order == DimOrder::channels_last ? batch : batch + 1;  // spatial
  for (size_t i = 0; i < count; ++i) {
    const std::string_view letter = call.letters[i].text;
    const bool is_spatial = i >= first && i < first + rank;
    const char wanted = i < batch ? 'N' : is_spatial ? dim_letter(rank, i - first) : ' ';
    if (!letter.empty() && letter != std::string_view(&wanted, 1))
      return broke(Rule::letter, call.letters[i]);
  }
  return std::nullopt;
}

// Types that others pool, and we do not.
bool is_dtype_elsewhere(std::string_view name) {
  return name == "bool" || name.starts_with("float8") || name.starts_with("float4");
}

}  // namespace

Broken bind_arguments(const ParsedCall& call, const Parameters& parameters, Binding& binding) {
  bool is_positional = true;  // after a name no position is left
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& [word, value] = call.arguments[i];
    size_t row = 0;
    if (!word.text.empty()) {
      is_positional = false;
      if (auto error = find_by_name(word, parameters, row)) return error;
    } else if (is_positional && i < parameters.positional.size()) {
      row = parameters.positional[i];
    } else {
      return broke(Rule::positional, {value.text, value.at});
    }
    if (binding.seen >> row & 1)
      return broke(Rule::duplicate, "got {} again: {}", parameters.names[row], quote(value.text, value.at));
    binding.seen |= 1u << row;
    binding.rows.push_back(static_cast<uint8_t>(row));
  }
  return std::nullopt;
}

bool is_none(const ArgumentValue& value) {
  return value.kind == ArgumentValue::Kind::word && value.text == "None";
}

Broken read_dtype(const Word& word, PoolSpec& spec) {
  const auto type = find_tensor_type(word.text);
  if (type && ir::info(type->dtype).tensor) {
    spec.dtype = type->dtype;
    spec.quantized = type->quantized;
    return std::nullopt;
  }
  if (type || is_dtype_elsewhere(word.text)) return broke(Rule::unsupported_dtype, word);
  std::vector<std::string_view> names;
  for (const ir::DTypeInfo& row : ir::dtype_table)
    if (row.tensor) names.push_back(row.spec_name);
  // Their names in other dialects.
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"float", "float32"}, {"fp32", "float32"}, {"double", "float64"},
      {"fp64", "float64"},  {"half", "float16"}, {"fp16", "float16"},
      {"s8", "int8"},       {"byte", "uint8"},   {"s32", "int32"}};
  for (const auto& [other, ours] : others)
    if (word.text == other) return broke(Rule::dtype, word, fmt::format("did you mean {}?", ours));
  return broke(Rule::dtype, word, suggestion(word.text, names));
}

Broken read_shape(const ParsedCall& call, DimOrder order, bool may_lack_batch, PoolSpec& spec) {
  const size_t rank = spec.dims.size(), count = call.dims.size();
  const bool is_batched = count == rank + 2;
  if (!is_batched && !(may_lack_batch && count == rank + 1))
    return broke(Rule::rank, "got {} dims for {}", count, call.name.text);
  if (!is_batched && call.letters[0].text == "N")
    return broke(Rule::rank, "got N and {} other dims for {}", count - 1, call.name.text);
  if (auto error = check_letters(call, order, rank)) return error;
  if (is_batched) spec.batch = call.dims[0];
  spec.free_batch = is_batched && !call.letters[0].text.empty();
  const bool is_last = order == DimOrder::channels_last;
  spec.channels = call.dims[is_last ? count - 1 : count - rank - 1];
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = count - rank + i - (is_last ? 1 : 0);
    spec.dims[i].input = call.dims[at];
    spec.dims[i].is_free = !call.letters[at].text.empty();
  }
  return std::nullopt;
}

Broken read_layout(const Word& word, PoolSpec& spec) {
  if (word.text.empty()) return std::nullopt;
  const auto layout = find_layout(word.text, spec.dims.size());
  if (!layout) return broke(Rule::layout, word);
  spec.layout = *layout;
  return std::nullopt;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view best = nearest(word, candidates.data(), candidates.data() + candidates.size());
  return best.empty() ? "" : fmt::format("did you mean {}?", best);
}

ir::Error unknown_operator(const Word& name, std::span<const std::string_view> names) {
  return is_elsewhere(name.text, names) ? *broke(Rule::unsupported_op, name)
                                        : *broke(Rule::op, name, suggestion(name.text, names));
}

}  // namespace pooljit::frontend
