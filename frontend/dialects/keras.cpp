// Keras: dims in the order of data_format, channels last by default; padding is "valid" or "same", and never
// counts in an average.
//   keras.MaxPooling2D(float32[8,32,32,4], pool_size=2, strides=2, padding="same")
//   keras.layers.GlobalAveragePooling2D()(float32[8,32,32,4])
#include <fmt/format.h>

#include <algorithm>

#include "frontend/dialects.h"
#include "frontend/dialects/arguments.h"
#include "frontend/dialects/same_padding.h"
#include "frontend/operators.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

struct KerasLayer {
  std::string_view prefix;  // before RANKD
  ir::Reduction reduction;
  bool is_global;
};
// The first row that suits a spec prints it.
constexpr KerasLayer layers[] = {
    {"MaxPooling", ir::Reduction::max, false},          {"MaxPool", ir::Reduction::max, false},
    {"AveragePooling", ir::Reduction::avg, false},      {"AvgPool", ir::Reduction::avg, false},
    {"GlobalMaxPooling", ir::Reduction::max, true},     {"GlobalMaxPool", ir::Reduction::max, true},
    {"GlobalAveragePooling", ir::Reduction::avg, true}, {"GlobalAvgPool", ir::Reduction::avg, true},
};

enum Row : uint8_t { pool_size, strides, padding, data_format, keepdims, row_count };
constexpr std::string_view names[row_count] = {"pool_size", "strides", "padding", "data_format", "keepdims"};
constexpr uint32_t window_rows = 1u << pool_size | 1u << strides | 1u << padding | 1u << data_format;
constexpr uint32_t global_rows = 1u << data_format | 1u << keepdims;
constexpr uint8_t window_positions[] = {pool_size, strides, padding, data_format};
constexpr uint8_t global_positions[] = {data_format, keepdims};

enum class Padding : uint8_t { valid, same };
constexpr Choosable<Padding> paddings[] = {{"valid", Padding::valid}, {"same", Padding::same}};
constexpr Choosable<DimOrder> formats[] = {{"channels_last", DimOrder::channels_last},
                                           {"channels_first", DimOrder::channels_first}};
constexpr Choosable<bool> flags[] = {{"True", true}, {"False", false}};

// A word in capitals or small letters.
template <typename T>
Broken read_any_case(const ArgumentValue& value, std::span<const Choosable<T>> rows, T& result) {
  std::string small(value.text);
  for (char& letter : small)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  ArgumentValue lowered = value;
  lowered.text = small;
  return read_choice<T>(lowered, rows, result) ? read_choice<T>(value, rows, result) : std::nullopt;
}

constexpr std::string_view prefixes[] = {"tf.", "keras.", "layers."};

const KerasLayer* find_layer(const Word& name, PoolSpec& spec) {
  for (const KerasLayer& layer : layers) {
    const size_t digit = layer.prefix.size();
    if (name.text.size() != digit + 2 || !name.text.starts_with(layer.prefix) || name.text[digit + 1] != 'D')
      continue;
    const size_t rank = static_cast<size_t>(name.text[digit] - '0');
    if (rank < 1 || rank > max_rank) continue;
    spec.dims.resize(rank);
    spec.reduction = layer.reduction;
    spec.global = layer.is_global;
    spec.count_include_pad = !info(layer.reduction).divides || layer.is_global;
    return &layer;
  }
  return nullptr;
}

// The arguments; where the dims lie depends on one of them.
struct Arguments {
  Padding padding = Padding::valid;
  DimOrder order = DimOrder::channels_last;
  bool has_strides = false;

  Broken read(Row row, const ArgumentValue& value, PoolSpec& spec) {
    bool keeps_dims = false;
    switch (row) {
      case pool_size:
        return read_dims(value, spec, &SpecDim::kernel);
      case strides:
        has_strides = !is_none(value);
        return has_strides ? read_dims(value, spec, &SpecDim::stride) : std::nullopt;
      case Row::padding:
        return read_any_case<Padding>(value, paddings, padding);
      case data_format:
        return is_none(value) ? std::nullopt : read_any_case<DimOrder>(value, formats, order);
      default:  // keepdims: the elements are the same
        return read_choice<bool>(value, flags, keeps_dims);
    }
  }
};

ir::Result<PoolSpec> read(const ParsedCall& call) {
  PoolSpec spec;
  const KerasLayer* layer = find_layer(call.name, spec);
  if (layer == nullptr) {
    std::vector<std::string> all;
    for (const KerasLayer& row : layers)
      for (size_t rank = 1; rank <= max_rank; ++rank) all.push_back(fmt::format("{}{}D", row.prefix, rank));
    return tl::unexpected(unknown_operator(call.name, std::vector<std::string_view>(all.begin(), all.end())));
  }
  for (SpecDim& dim : spec.dims) dim.kernel = 2;
  Arguments arguments;
  Binding binding;
  const Parameters window{names, window_rows, window_positions}, global{names, global_rows, global_positions};
  Broken error = bind_arguments(call, layer->is_global ? global : window, binding);
  for (size_t i = 0; !error && i < binding.rows.size(); ++i)
    error = arguments.read(static_cast<Row>(binding.rows[i]), call.arguments[i].value, spec);
  if (!error) error = read_dtype(call.dtype, spec);
  if (!error) error = read_shape(call, arguments.order, false, spec);
  if (!error && !call.layout.text.empty())
    error = broken(Rule::layout, fmt::format("got {}", quote(call.layout.text, call.layout.at)),
                   "data_format says where the channels lie")
                .value();
  if (error) return tl::unexpected<ir::Error>(std::move(*error));
  if (arguments.order == DimOrder::channels_last) spec.layout = Layout::nhwc;
  for (SpecDim& dim : spec.dims) {
    if (!arguments.has_strides) dim.stride = dim.kernel;
    if (arguments.padding == Padding::same)
      if (auto wrong = pad_same(dim, OddPad::end)) return tl::unexpected<ir::Error>(std::move(*wrong));
  }
  // Without a tap in the padding all divisors are the same.
  const bool is_padded = std::any_of(spec.dims.begin(), spec.dims.end(), [](const SpecDim& dim) {
    return dim.pad_begin != 0 || dim.pad_end != 0;
  });
  if (!is_padded) spec.count_include_pad = true;
  return spec;
}

void print_window(Printer& out, const PoolSpec& spec) {
  const auto any = [&](bool (*holds)(const SpecDim&)) { return std::ranges::any_of(spec.dims, holds); };
  out.text(", pool_size=").per_dim(spec.dims, &SpecDim::kernel);
  if (any([](const SpecDim& d) { return d.stride != d.kernel; }))
    out.text(", strides=").per_dim(spec.dims, &SpecDim::stride);
  if (any([](const SpecDim& d) { return d.pad_begin != 0 || d.pad_end != 0; }))
    out.text(", padding=\"same\"");
}

}  // namespace

ir::Result<PoolSpec> parse_keras(std::string_view text) {
  ParsedCall call;
  if (auto error = parse_call(text, call, Forms::call_or_module))
    return tl::unexpected<ir::Error>(std::move(*error));
  for (const std::string_view prefix : prefixes) drop_prefix(call.name, prefix);
  return read(call);
}

ir::Result<std::string> print_keras(const PoolSpec& spec) {
  const size_t rank = spec.dims.size();
  const bool is_first = spec.layout == Layout::nchw;
  for (const KerasLayer& layer : layers) {
    if (layer.reduction != spec.reduction || layer.is_global != spec.global ||
        spec.direction != ir::Direction::forward || is_adaptive(spec))
      continue;
    Printer out;
    out.text("keras.").text(layer.prefix).number(static_cast<int64_t>(rank)).text("D(");
    out.text(ir::info(spec.dtype).spec_name).text("[").text(spec.batch ? batch_text(spec) : "1").text(",");
    if (is_first) out.number(spec.channels).text(",");
    for (size_t i = 0; i < rank; ++i) out.text(i == 0 ? "" : ",").extent(spec, i);
    if (!is_first) out.text(",").number(spec.channels);
    out.text("]");
    if (!spec.global) print_window(out, spec);
    if (is_first) out.text(", data_format=\"channels_first\"");
    return out.text(")").result();
  }
  return no_operator("keras", spec);
}

}  // namespace pooljit::frontend
