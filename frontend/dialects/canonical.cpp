// The canonical spelling, in torch's words and torch's order of positional values:
//   max_pool2d(float32[8,64,112,112]:nhwc, kernel_size=[3,2], stride=[2,1], padding=1, ceil_mode=True)
// Operators follow from ir/reductions.def (TEXT_poolRANKd), dtypes from ir/dtype.def, keywords from the table
// below.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "frontend/dialects.h"
#include "frontend/rules.h"
#include "frontend/text.h"

namespace pooljit::frontend {

namespace {

using Broken = std::optional<ir::Error>;

constexpr std::string_view reduction_names[] = {
#define REDUCTION(name, text, note) text,
#include "ir/reductions.def"
#undef REDUCTION
};

// What users of other systems will try first; each is a right thing to want.
constexpr std::string_view planned_ops[] = {
    "adaptive_", "lp_pool", "min_pool", "sum_pool", "quantized_", "max_unpool", "fractional_",
    "global_",   "MaxPool", "AvgPool",  "LPPool",   "Adaptive",   "MaxUnpool",  "nn.",
    "torch.",    "F.",      "onnx.",    "mlx.",     "keras.",     "benchdnn",   "max_pool1d_backward",
};
constexpr std::string_view planned_dtypes[] = {"float16", "bfloat16", "quint8", "qint8", "qint32"};
constexpr std::string_view planned_layouts[] = {"nchw8c", "nchw16c", "ncw8c",
                                                "ncw16c", "ncdhw8c", "ncdhw16c"};

struct LayoutName {
  std::string_view name;
  Layout layout;
  int rank;  // 0: any
};
constexpr LayoutName layout_names[] = {
    {"nchw", Layout::nchw, 0}, {"nhwc", Layout::nhwc, 0},  {"ncw", Layout::nchw, 1},
    {"nwc", Layout::nhwc, 1},  {"ncdhw", Layout::nchw, 3}, {"ndhwc", Layout::nhwc, 3},
};

// --- values

Broken wrong_kind(const Value& value, std::string_view wanted) {
  return broken(Rule::value, fmt::format("got {}", quote(value.text, value.at)),
                fmt::format("{} expected", wanted))
      .value();
}

Broken wrong_count(const Value& value, const PoolSpec& spec) {
  return broken(Rule::count, fmt::format("got {} numbers for {} spatial dims in {}", value.integers.size(),
                                         spec.dims.size(), quote(value.text, value.at)))
      .value();
}

// One number for all dims, or one per dim.
Broken read_dims(const Value& value, PoolSpec& spec, int64_t SpecDim::*member) {
  const bool is_list = value.kind == Value::Kind::list;
  if (!is_list && value.kind != Value::Kind::integer)
    return wrong_kind(value, "an integer, or a list with one per dim,");
  if (is_list && value.integers.size() != spec.dims.size()) return wrong_count(value, spec);
  for (size_t i = 0; i < spec.dims.size(); ++i) spec.dims[i].*member = value.integers[is_list ? i : 0];
  return std::nullopt;
}

// As read_dims, for both ends; or the begins of all dims and then their ends.
Broken read_padding(const Value& value, PoolSpec& spec) {
  const size_t rank = spec.dims.size();
  if (value.kind != Value::Kind::list || value.integers.size() != 2 * rank) {
    if (auto error = read_dims(value, spec, &SpecDim::pad_begin)) return error;
    return read_dims(value, spec, &SpecDim::pad_end);
  }
  for (size_t i = 0; i < rank; ++i) {
    spec.dims[i].pad_begin = value.integers[i];
    spec.dims[i].pad_end = value.integers[rank + i];
  }
  return std::nullopt;
}

Broken read_bool(const Value& value, bool& result) {
  result = value.text == "True" || value.text == "true";
  if (result || value.text == "False" || value.text == "false") return std::nullopt;
  return wrong_kind(value, "True or False");
}

template <typename Enum>
Broken read_choice(const Value& value, Enum& result, std::string_view first, Enum if_first,
                   std::string_view second, Enum if_second) {
  result = value.text == first ? if_first : if_second;
  if (value.text == first || value.text == second) return std::nullopt;
  return wrong_kind(value, fmt::format("{} or {}", first, second));
}

Broken read_nan(const Value& value, PoolSpec& spec) {
  return read_choice(value, spec.nan, "propagate", ir::NanRule::propagate, "ignore", ir::NanRule::ignore);
}

Broken read_zeros(const Value& value, PoolSpec& spec) {
  return read_choice(value, spec.zeros, "any", ir::ZeroRule::any, "first", ir::ZeroRule::first);
}

Broken read_strides(const Value& value, std::vector<int64_t>& result) {
  if (value.kind != Value::Kind::list)
    return wrong_kind(value, "a list with one number for each of N, C and spatial");
  result.assign(value.integers.begin(), value.integers.end());
  // An empty vector would stand for "packed".
  if (result.empty()) return wrong_kind(value, "a list with one number for each of N, C and spatial");
  return std::nullopt;
}

Broken read_divisor(const Value& value, PoolSpec& spec) {
  if (value.kind != Value::Kind::integer) return wrong_kind(value, "a number or None");
  spec.divisor_override = value.integers[0];
  return std::nullopt;
}

// --- keywords

struct Keyword {
  std::string_view name;
  bool none_is_default;                      // torch's signature says None: as if not given
  int position[std::size(reduction_names)];  // among positional values, per reduction
  Broken (*read)(const Value&, PoolSpec&);
};
constexpr int named = -1;    // only as KEYWORD=VALUE
constexpr int foreign = -2;  // belongs to another reduction

constexpr Keyword keywords[] = {
    // name, None?,              max, avg
    {"kernel_size",
     false,
     {0, 0},
     [](const Value& v, PoolSpec& s) { return read_dims(v, s, &SpecDim::kernel); }},
    {"stride", true, {1, 1}, [](const Value& v, PoolSpec& s) { return read_dims(v, s, &SpecDim::stride); }},
    {"padding", false, {2, 2}, read_padding},
    {"dilation",
     false,
     {3, named},
     [](const Value& v, PoolSpec& s) { return read_dims(v, s, &SpecDim::dilation); }},
    {"ceil_mode", false, {4, 3}, [](const Value& v, PoolSpec& s) { return read_bool(v, s.ceil_mode); }},
    {"return_indices",
     false,
     {5, foreign},
     [](const Value& v, PoolSpec& s) { return read_bool(v, s.return_indices); }},
    {"count_include_pad",
     false,
     {foreign, 4},
     [](const Value& v, PoolSpec& s) { return read_bool(v, s.count_include_pad); }},
    {"divisor_override", true, {foreign, 5}, read_divisor},
    {"nan", false, {named, foreign}, read_nan},
    {"zeros", false, {named, foreign}, read_zeros},
    {"strides", true, {named, named}, [](const Value& v, PoolSpec& s) { return read_strides(v, s.strides); }},
    {"output_strides",
     true,
     {named, named},
     [](const Value& v, PoolSpec& s) { return read_strides(v, s.output_strides); }},
};
constexpr size_t kernel_size_row = 0, stride_row = 1;
static_assert(keywords[kernel_size_row].name == "kernel_size" && keywords[stride_row].name == "stride");

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

  // Which keyword the argument is for; null with an error in `error`.
  const Keyword* by_name(const Word& word, Broken& error) const;
  const Keyword* by_position(const Value& value, size_t position, Broken& error) const;
  int position(const Keyword& keyword) const { return keyword.position[static_cast<int>(spec_.reduction)]; }

  PoolSpec spec_;
  // One bit per row of keywords. A keyword seen with None is not given.
  unsigned seen_ = 0, given_ = 0;
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

Broken Reader::read_operator(const Word& word) {
  constexpr std::string_view middle = "_pool";
  for (size_t i = 0; i < std::size(reduction_names); ++i) {
    const std::string_view reduction = reduction_names[i];
    const size_t length = reduction.size() + middle.size() + 2;
    if (word.text.size() != length || word.text.substr(0, reduction.size()) != reduction) continue;
    if (word.text.substr(reduction.size(), middle.size()) != middle || word.text[length - 1] != 'd') continue;
    const size_t rank = static_cast<size_t>(word.text[length - 2] - '0');
    if (rank < 1 || rank > max_rank) continue;
    spec_.reduction = static_cast<ir::Reduction>(i);
    spec_.dims.resize(rank);
    return std::nullopt;
  }
  const std::string found = fmt::format("got {}", quote(word.text, word.at));
  if (begins_with_any(word.text, planned_ops)) return broken(Rule::unsupported_op, found).value();
  std::vector<std::string> names;
  for (std::string_view reduction : reduction_names)
    for (size_t rank = 1; rank <= max_rank; ++rank)
      names.push_back(fmt::format("{}{}{}d", reduction, middle, rank));
  return broken(Rule::op, found, suggestion(word.text, {names.begin(), names.end()})).value();
}

Broken Reader::read_dtype(const Word& word) {
  const auto dtype = ir::find_dtype(word.text);
  if (dtype && ir::info(*dtype).tensor) {
    spec_.dtype = *dtype;
    return std::nullopt;
  }
  const std::string found = fmt::format("got {}", quote(word.text, word.at));
  if (dtype || begins_with_any(word.text, planned_dtypes))
    return broken(Rule::unsupported_dtype, found).value();
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
  for (const LayoutName& row : layout_names) {
    if (row.name != word.text || (row.rank != 0 && row.rank != static_cast<int>(spec_.dims.size()))) continue;
    spec_.layout = row.layout;
    return std::nullopt;
  }
  const bool is_planned = std::find(std::begin(planned_layouts), std::end(planned_layouts), word.text) !=
                          std::end(planned_layouts);
  return broken(is_planned ? Rule::unsupported_layout : Rule::layout,
                fmt::format("got {}", quote(word.text, word.at)))
      .value();
}

const Keyword* Reader::by_name(const Word& word, Broken& error) const {
  for (const Keyword& keyword : keywords) {
    if (keyword.name != word.text) continue;
    if (position(keyword) != foreign) return &keyword;
    error = broken(Rule::option, fmt::format("got {}", quote(word.text, word.at))).value();
    return nullptr;
  }
  std::vector<std::string_view> names;
  for (const Keyword& keyword : keywords)
    if (position(keyword) != foreign) names.push_back(keyword.name);
  std::string hint = suggestion(word.text, names);
  if (hint.empty()) hint = fmt::format("one of {}", fmt::join(names, ", "));
  error = broken(Rule::keyword, fmt::format("got {}", quote(word.text, word.at)), hint).value();
  return nullptr;
}

const Keyword* Reader::by_position(const Value& value, size_t number, Broken& error) const {
  for (const Keyword& keyword : keywords)
    if (position(keyword) == static_cast<int>(number)) return &keyword;
  error = broken(Rule::positional, fmt::format("got {}", quote(value.text, value.at))).value();
  return nullptr;
}

Broken Reader::read_argument(const Keyword& keyword, const Value& value) {
  const unsigned bit = 1u << (&keyword - keywords);
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
    // After a keyword no position is left: `number` then names none.
    const bool in_order = i == 0 || call.arguments[i - 1].keyword.text.empty();
    const size_t number = in_order ? i : std::size(keywords);
    const Keyword* keyword = word.text.empty() ? by_position(value, number, error) : by_name(word, error);
    if (keyword == nullptr) return error;
    if ((error = read_argument(*keyword, value))) return error;
  }
  if (!(given_ >> kernel_size_row & 1))
    return broken(Rule::missing, fmt::format("got none for {}", call.name.text)).value();
  if (!(given_ >> stride_row & 1))
    for (SpecDim& dim : spec_.dims) dim.stride = dim.kernel;
  return std::nullopt;
}

}  // namespace

ir::Result<PoolSpec> parse_canonical(std::string_view text) {
  Call call;
  if (auto error = parse_call(text, call)) return tl::unexpected<ir::Error>(std::move(*error));
  return Reader().read(call);
}

}  // namespace pooljit::frontend
