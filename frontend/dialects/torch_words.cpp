#include "frontend/dialects/torch_words.h"

#include <fmt/format.h>

#include <vector>

#include "frontend/printer.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

constexpr std::string_view names[] = {
#define KEYWORD(name, none, ...) #name,
#include "frontend/keywords.def"
#undef KEYWORD
};

// The rank, if `text` is the operator's name with one.
std::optional<size_t> rank_of(const Operator& op, std::string_view text) {
  const size_t digit = op.prefix.size();
  if (text.size() != digit + 2 + op.suffix.size() || !text.starts_with(op.prefix)) return std::nullopt;
  const size_t rank = static_cast<size_t>(text[digit] - '0');
  if (rank < 1 || rank > max_rank || text[digit + 1] != 'd' || !text.ends_with(op.suffix))
    return std::nullopt;
  return rank;
}

Broken read_operator(const Word& word, std::span<const Operator> operators, const Operator*& found,
                     PoolSpec& spec) {
  for (const Operator& op : operators) {
    const auto rank = rank_of(op, word.text);
    if (!rank) continue;
    found = &op;
    spec.reduction = op.reduction;
    spec.direction = op.direction;
    spec.global = op.form == Form::global;
    spec.unpool_gradient = op.form == Form::unpool && op.direction == ir::Direction::backward;
    spec.dims.resize(*rank);
    return std::nullopt;
  }
  std::vector<std::string> all;
  for (const Operator& op : operators)
    for (size_t rank = 1; rank <= max_rank; ++rank) all.push_back(name_of(op, rank));
  return unknown_operator(word, std::vector<std::string_view>(all.begin(), all.end()));
}

Broken read_arguments(const ParsedCall& call, const Operator& op, PoolSpec& spec, KeySet& given) {
  std::array<uint8_t, std::tuple_size_v<decltype(op.positional)>> positional;
  for (size_t i = 0; i < op.positions; ++i) positional[i] = static_cast<uint8_t>(op.positional[i]);
  Binding binding;
  if (auto error = bind_arguments(call, {names, op.keys, {positional.data(), op.positions}}, binding))
    return error;
  for (size_t i = 0; i < binding.rows.size(); ++i) {
    const Keyword& keyword = keywords()[binding.rows[i]];
    const ArgumentValue& value = call.arguments[i].value;
    if (keyword.none_is_default && is_none(value)) continue;
    if (auto error = keyword.read(value, spec)) return error;
    given |= KeySet{1} << binding.rows[i];
  }
  return std::nullopt;
}

// The default stride. The window of a global pooling follows from its input.
Broken fill_window(const ParsedCall& call, const Operator& op, KeySet given, PoolSpec& spec) {
  const auto is_given = [&](Key key) { return given >> static_cast<int>(key) & 1; };
  const Key needed = op.form == Form::adaptive ? Key::output_size : Key::kernel_size;
  if (op.form != Form::global && !is_given(needed))
    return broke(Rule::missing, "got none for {}", call.name.text);
  for (SpecDim& dim : spec.dims)
    if (!is_given(Key::stride)) dim.stride = dim.kernel;
  return std::nullopt;
}

void print_tensor(Printer& out, const PoolSpec& spec, DimOrder order, std::string_view batch) {
  const bool is_last = order == DimOrder::channels_last;
  out.text(spec.quantized ? "q" : "").text(ir::info(spec.dtype).spec_name).text("[");
  std::string_view comma;
  const auto item = [&]() -> Printer& {
    out.text(comma);
    comma = ",";
    return out;
  };
  if (!batch.empty()) item().text(batch);
  if (!is_last) item().number(spec.channels);
  for (size_t i = 0; i < spec.dims.size(); ++i) item().extent(spec, i);
  if (is_last) item().number(spec.channels);
  out.text("]");
  if (!is_last && spec.layout != Layout::nchw) out.text(":").text(layout_name(spec.layout));
}

void print_name(Printer& out, const Operator& op, size_t rank) {
  out.text(op.prefix).number(static_cast<int64_t>(rank)).text("d").text(op.suffix);
}

void print_arguments(Printer& out, const PoolSpec& spec, KeySet keys, KeySet always,
                     std::string_view before_first) {
  std::string_view before = before_first;
  for (const Keyword& keyword : keywords()) {
    if (!(keys & set_of(keyword.key)) || !(keyword.is_set(spec) || always & set_of(keyword.key))) continue;
    out.text(before).text(keyword.name).text("=");
    keyword.print(out, spec);
    before = ", ";
  }
}

}  // namespace

ir::Result<PoolSpec> read_call(const ParsedCall& call, const Vocabulary& vocabulary) {
  PoolSpec spec;
  const Operator* op = nullptr;
  KeySet given = 0;
  Broken error = read_operator(call.name, vocabulary.operators, op, spec);
  if (!error) error = read_dtype(call.dtype, spec);
  if (!error && op->quantized && !spec.quantized)
    error = broke(Rule::quantized, "got {}", quote(call.dtype.text, call.dtype.at));
  if (!error) error = read_shape(call, vocabulary.order, vocabulary.may_lack_batch, spec);
  if (!error) error = read_layout(call.layout, spec);
  if (!error) error = read_arguments(call, *op, spec, given);
  if (!error) error = fill_window(call, *op, given, spec);
  if (error) return tl::unexpected<ir::Error>(std::move(*error));
  if (vocabulary.order == DimOrder::channels_last) spec.layout = Layout::nhwc;
  return spec;
}

std::string print_call(const PoolSpec& spec, const Operator& op, DimOrder order, std::string_view batch,
                       KeySet always) {
  Printer out;
  print_name(out, op, spec.dims.size());
  out.text("(");
  print_tensor(out, spec, order, batch);
  print_arguments(out, spec, op.keys, always, ", ");
  return out.text(")").result();
}

std::string print_tensor(const PoolSpec& spec, DimOrder order, std::string_view batch) {
  Printer out;
  print_tensor(out, spec, order, batch);
  return out.result();
}

std::string print_arguments(const PoolSpec& spec, KeySet keys) {
  Printer out;
  print_arguments(out, spec, keys, 0, "");
  return out.result();
}

std::string print_module(const PoolSpec& spec, const Operator& op, DimOrder order, KeySet always) {
  const KeySet of_tensor =
      set_of(Key::strides) | (op.direction == ir::Direction::unpool ? set_of(Key::output_size) : 0);
  Printer out;
  print_name(out, op, spec.dims.size());
  out.text("(");
  print_arguments(out, spec, op.keys & ~of_tensor, always, "");
  out.text(")(");
  print_tensor(out, spec, order, batch_text(spec));
  print_arguments(out, spec, op.keys & of_tensor, 0, ", ");
  return out.text(")").result();
}

}  // namespace pooljit::frontend
