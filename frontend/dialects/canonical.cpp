// The canonical spelling, in torch's words and torch's order of positional values:
//   max_pool2d(float32[8,64,112,112]:nhwc, kernel_size=[3,2], stride=[2,1], padding=1, ceil_mode=True)
// Operators are the rows of frontend/operators.cpp, keywords those of frontend/keywords.def.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "frontend/dialects.h"
#include "frontend/operators.h"
#include "frontend/rules.h"
#include "frontend/text.h"

namespace pooljit::frontend {

namespace {

// What users of other systems will try first; each is a right thing to want.
constexpr std::string_view planned_ops[] = {
    "fractional_", "MaxPool", "AvgPool", "LPPool", "Adaptive", "MaxUnpool", "nn.",
    "torch.",      "F.",      "onnx.",   "mlx.",   "keras.",   "benchdnn",
};

class Reader {
 public:
  ir::Result<PoolSpec> read(const Call& call) {
    Broken error = read_operator(call.name);
    if (!error) error = read_dtype(call.dtype);
    if (!error) error = read_shape(call);
    if (!error) error = read_layout(call.layout);
    if (!error) error = read_arguments(call);
    if (error) return tl::unexpected<ir::Error>(std::move(*error));
    return std::move(spec_);
  }

 private:
  Broken read_operator(const Word& word);
  Broken read_dtype(const Word& word);
  Broken read_shape(const Call& call);
  Broken read_layout(const Word& word);
  Broken read_arguments(const Call& call);
  Broken read_argument(const Keyword& keyword, const Value& value);
  Broken fill_window(const Word& name);

  // Which keyword the argument is for; null with an error in `error`.
  const Keyword* by_name(const Word& word, Broken& error) const;
  const Keyword* by_position(const Value& value, size_t position, Broken& error) const;
  PoolSpec spec_;
  const Operator* op_ = nullptr;
  KeySet seen_ = 0, given_ = 0;  // a keyword seen with None is not given
};

// "did you mean ...?", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view best = nearest(word, candidates.data(), candidates.data() + candidates.size());
  return best.empty() ? "" : fmt::format("did you mean {}?", best);
}

template <size_t N>
bool begins_with_any(std::string_view text, const std::string_view (&prefixes)[N]) {
  return std::any_of(prefixes, prefixes + N,
                     [&](std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; });
}

// The operator, if `text` is its name with some rank.
std::optional<size_t> rank_of(const Operator& op, std::string_view text) {
  const size_t digit = op.prefix.size();
  if (text.size() != digit + 2 + op.suffix.size() || !text.starts_with(op.prefix)) return std::nullopt;
  const size_t rank = static_cast<size_t>(text[digit] - '0');
  if (rank < 1 || rank > max_rank || text[digit + 1] != 'd' || !text.ends_with(op.suffix))
    return std::nullopt;
  return rank;
}

Broken Reader::read_operator(const Word& word) {
  for (const Operator& op : operators()) {
    const auto rank = rank_of(op, word.text);
    if (!rank) continue;
    op_ = &op;
    spec_.reduction = op.reduction;
    spec_.direction = op.direction;
    spec_.dims.resize(*rank);
    return std::nullopt;
  }
  const std::string found = fmt::format("got {}", quote(word.text, word.at));
  if (begins_with_any(word.text, planned_ops)) return broken(Rule::unsupported_op, found).value();
  std::vector<std::string> names;
  for (const Operator& op : operators())
    for (size_t rank = 1; rank <= max_rank; ++rank) names.push_back(name_of(op, rank));
  return broken(Rule::op, found, suggestion(word.text, {names.begin(), names.end()})).value();
}

Broken Reader::read_dtype(const Word& word) {
  const std::string found = fmt::format("got {}", quote(word.text, word.at));
  if (const auto type = find_tensor_type(word.text)) {
    if (!ir::info(type->dtype).tensor) return broken(Rule::unsupported_dtype, found).value();
    if (op_->quantized && !type->quantized) return broken(Rule::quantized, found).value();
    spec_.dtype = type->dtype;
    spec_.quantized = type->quantized;
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  for (const ir::DTypeInfo& row : ir::dtype_table)
    if (row.tensor) names.push_back(row.spec_name);
  return broken(Rule::dtype, found, suggestion(word.text, names)).value();
}

Broken Reader::read_shape(const Call& call) {
  const size_t rank = spec_.dims.size();
  const bool batched = call.dims.size() == rank + 2;
  if (!batched && call.dims.size() != rank + 1)
    return broken(Rule::rank, fmt::format("got {} dims for {}", call.dims.size(), call.name.text)).value();
  if (batched) spec_.batch = call.dims[0];
  spec_.channels = call.dims[batched ? 1 : 0];
  for (size_t i = 0; i < rank; ++i) spec_.dims[i].input = call.dims[call.dims.size() - rank + i];
  return std::nullopt;
}

Broken Reader::read_layout(const Word& word) {
  if (word.text.empty()) return std::nullopt;
  const auto layout = find_layout(word.text, spec_.dims.size());
  if (!layout) return broken(Rule::layout, fmt::format("got {}", quote(word.text, word.at))).value();
  spec_.layout = *layout;
  return std::nullopt;
}

const Keyword* Reader::by_name(const Word& word, Broken& error) const {
  std::vector<std::string_view> names;
  for (const Keyword& keyword : keywords()) {
    if (keyword.name == word.text) {
      if (op_->allows(keyword.key)) return &keyword;
      error = broken(Rule::option, fmt::format("got {}", quote(word.text, word.at))).value();
      return nullptr;
    }
    if (op_->allows(keyword.key)) names.push_back(keyword.name);
  }
  std::string hint = suggestion(word.text, names);
  if (hint.empty()) hint = fmt::format("one of {}", fmt::join(names, ", "));
  error = broken(Rule::keyword, fmt::format("got {}", quote(word.text, word.at)), hint).value();
  return nullptr;
}

const Keyword* Reader::by_position(const Value& value, size_t position, Broken& error) const {
  if (position < op_->positions) return &keywords()[static_cast<size_t>(op_->positional[position])];
  error = broken(Rule::positional, fmt::format("got {}", quote(value.text, value.at))).value();
  return nullptr;
}

Broken Reader::read_argument(const Keyword& keyword, const Value& value) {
  const KeySet bit = KeySet{1} << static_cast<int>(keyword.key);
  if (seen_ & bit)
    return broken(Rule::duplicate, fmt::format("got {} again: {}", keyword.name, quote(value.text, value.at)))
        .value();
  seen_ |= bit;
  if (keyword.none_is_default && value.kind == Value::Kind::word && value.text == "None") return std::nullopt;
  given_ |= bit;
  return keyword.read(value, spec_);
}

Broken Reader::read_arguments(const Call& call) {
  Broken error;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& [word, value] = call.arguments[i];
    // After a keyword no position is left.
    const bool in_order = i == 0 || call.arguments[i - 1].keyword.text.empty();
    const size_t position = in_order ? i : op_->positions;
    const Keyword* keyword = word.text.empty() ? by_position(value, position, error) : by_name(word, error);
    if (keyword == nullptr) return error;
    if ((error = read_argument(*keyword, value))) return error;
  }
  return fill_window(call.name);
}

// What is not given: the window of a global pooling, the stride.
Broken Reader::fill_window(const Word& name) {
  const auto is_given = [&](Key key) { return given_ >> static_cast<int>(key) & 1; };
  const Key needed = op_->form == Form::adaptive ? Key::output_size : Key::kernel_size;
  if (op_->form != Form::global && !is_given(needed))
    return broken(Rule::missing, fmt::format("got none for {}", name.text)).value();
  for (SpecDim& dim : spec_.dims) {
    if (op_->form == Form::global) dim.kernel = dim.input;
    if (!is_given(Key::stride)) dim.stride = dim.kernel;
  }
  return std::nullopt;
}

}  // namespace

ir::Result<PoolSpec> parse_canonical(std::string_view text) {
  Call call;
  if (auto error = parse_call(text, call)) return tl::unexpected<ir::Error>(std::move(*error));
  return Reader().read(call);
}

}  // namespace pooljit::frontend
