// A handler has read(value, spec), is_set(spec) and print(printer, spec).
#include "frontend/keywords.h"

#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "frontend/epilogue.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

bool any_dim(const PoolSpec& spec, bool (*holds)(const SpecDim&)) {
  return std::any_of(spec.dims.begin(), spec.dims.end(), holds);
}

template <int64_t SpecDim::*Member>
struct PerDim {
  static Broken read(const ArgumentValue& value, PoolSpec& spec) { return read_dims(value, spec, Member); }
  static void print(Printer& out, const PoolSpec& spec) { out.per_dim(spec.dims, Member); }
  static bool is_set(const PoolSpec& spec) {
    static const int64_t unset = SpecDim().*Member;
    return any_dim(spec, [](const SpecDim& dim) { return dim.*Member != unset; });
  }
};

struct KernelSize : PerDim<&SpecDim::kernel> {
  static bool is_set(const PoolSpec& spec) {
    return !spec.global && (!is_adaptive(spec) || PerDim::is_set(spec));
  }
};

struct Stride : PerDim<&SpecDim::stride> {
  static bool is_set(const PoolSpec& spec) {
    return any_dim(spec, [](const SpecDim& dim) { return dim.stride != dim.kernel; });
  }
};

using Dilation = PerDim<&SpecDim::dilation>;

struct Padding {
  static Broken read(const ArgumentValue& value, PoolSpec& spec) { return read_padding(value, spec); }
  static void print(Printer& out, const PoolSpec& spec) { out.padding(spec.dims); }
  static bool is_set(const PoolSpec& spec) {
    return any_dim(spec, [](const SpecDim& dim) { return dim.pad_begin != 0 || dim.pad_end != 0; });
  }
};

// Of an adaptive pooling, or of an unpool.
struct OutputSize {
  static int64_t SpecDim::*member(const PoolSpec& spec) {
    return is_unpool(spec) ? &SpecDim::unpool_output : &SpecDim::adaptive_output;
  }
  static Broken read(const ArgumentValue& value, PoolSpec& spec) {
    ArgumentValue sizes = value;
    if (!is_unpool(spec) && value.integers.size() == spec.dims.size()) {  // None: as the input
      for (size_t i = 0; i < spec.dims.size(); ++i) {
        if (!(value.nones >> i & 1)) continue;
        if (spec.dims[i].is_free) return broke(Rule::free_dim, "got {}", quote(value.text, value.at));
        sizes.integers[i] = spec.dims[i].input;
      }
      sizes.nones = 0;
    }
    if (auto error = read_dims(sizes, spec, member(spec))) return error;
    for (int64_t size : sizes.integers)  // the members' 0 would stand for none
      if (size < 1) return broke(Rule::output_size, "got {}", quote(value.text, value.at));
    return std::nullopt;
  }
  static void print(Printer& out, const PoolSpec& spec) { out.per_dim(spec.dims, member(spec)); }
  static bool is_set(const PoolSpec& spec) {
    return any_dim(spec,
                   [](const SpecDim& dim) { return dim.unpool_output != 0 || dim.adaptive_output != 0; });
  }
};

// --- words

template <typename T>
constexpr Choosable<T> choices[] = {};
template <>
constexpr Choosable<bool> choices<bool>[] = {
    {"True", true}, {"False", false}, {"true", true}, {"false", false}};
template <>
constexpr Choosable<CeilMode> choices<CeilMode>[] = {{"True", CeilMode::torch},
                                                     {"False", CeilMode::floor},
                                                     {"plain", CeilMode::plain},
                                                     {"true", CeilMode::torch},
                                                     {"false", CeilMode::floor}};
template <>
constexpr Choosable<ir::NanRule> choices<ir::NanRule>[] = {{"propagate", ir::NanRule::propagate},
                                                           {"ignore", ir::NanRule::ignore}};
template <>
constexpr Choosable<ir::ZeroRule> choices<ir::ZeroRule>[] = {{"any", ir::ZeroRule::any},
                                                             {"first", ir::ZeroRule::first}};
template <>
constexpr Choosable<ir::RoundingRule> choices<ir::RoundingRule>[] = {
    {"half_even", ir::RoundingRule::half_even}, {"half_away", ir::RoundingRule::half_away}};
template <>  // of indices
constexpr Choosable<ir::DType> choices<ir::DType>[] = {
    {"int64", ir::DType::i64}, {"int32", ir::DType::i32}, {"uint8", ir::DType::u8}};
template <>
constexpr Choosable<ir::IndexScope> choices<ir::IndexScope>[] = {{"plane", ir::IndexScope::plane},
                                                                 {"tensor", ir::IndexScope::tensor},
                                                                 {"nhwc", ir::IndexScope::nhwc},
                                                                 {"nhwc_batch", ir::IndexScope::nhwc_batch},
                                                                 {"window", ir::IndexScope::window}};

template <auto Member>
struct Choice {
  using T = std::remove_cvref_t<decltype(std::declval<const PoolSpec&>().*Member)>;
  static constexpr std::span<const Choosable<T>> rows = choices<T>;
  static Broken read(const ArgumentValue& value, PoolSpec& spec) {
    return read_choice(value, rows, spec.*Member);
  }
  static void print(Printer& out, const PoolSpec& spec) { out.text(name_of_choice(rows, spec.*Member)); }
  static bool is_set(const PoolSpec& spec) { return spec.*Member != PoolSpec().*Member; }
};

// --- numbers

Broken read_any(const ArgumentValue& value, int64_t& result) { return read_integer(value, result); }
Broken read_any(const ArgumentValue& value, double& result) { return read_number(value, result); }
template <typename T>
Broken read_any(const ArgumentValue& value, std::optional<T>& result) {
  return read_any(value, result.emplace());
}

template <typename T>
T known(const T& value) {
  return value;
}
template <typename T>
T known(const std::optional<T>& value) {
  return *value;
}

template <auto Member>
struct Number {
  static Broken read(const ArgumentValue& value, PoolSpec& spec) { return read_any(value, spec.*Member); }
  static void print(Printer& out, const PoolSpec& spec) { out.number(known(spec.*Member)); }
  static bool is_set(const PoolSpec& spec) { return spec.*Member != PoolSpec().*Member; }
};

// --- tensors

template <auto Member>
struct Strides {
  static Broken read(const ArgumentValue& value, PoolSpec& spec) {
    // An empty list would stand for "packed".
    return read_list(value, "a list with one number for each of N, C and spatial", spec.*Member);
  }
  static void print(Printer& out, const PoolSpec& spec) { out.list(spec.*Member); }
  static bool is_set(const PoolSpec& spec) { return !(spec.*Member).empty(); }
};

struct OutputDType {
  static Broken read(const ArgumentValue& value, PoolSpec& spec) {
    const auto type = find_tensor_type(value.text);
    if (!type || type->quantized) return wrong_kind(value, "a dtype that is not quantized");
    spec.output_dtype = type->dtype;
    return std::nullopt;
  }
  static void print(Printer& out, const PoolSpec& spec) { out.text(ir::info(*spec.output_dtype).spec_name); }
  static bool is_set(const PoolSpec& spec) { return spec.output_dtype.has_value(); }
};

struct OutputLayout {
  static Broken read(const ArgumentValue& value, PoolSpec& spec) {
    spec.output_layout = find_layout(value.text, spec.dims.size());
    if (spec.output_layout) return std::nullopt;
    return wrong_kind(value, "a layout like nchw, nhwc or nchw16c");
  }
  static void print(Printer& out, const PoolSpec& spec) { out.text(layout_name(*spec.output_layout)); }
  static bool is_set(const PoolSpec& spec) { return spec.output_layout.has_value(); }
};

struct Epilogue {
  static Broken read(const ArgumentValue& value, PoolSpec& spec) {
    return read_epilogue(value, spec.epilogue);
  }
  static void print(Printer& out, const PoolSpec& spec) { print_epilogue(out, spec.epilogue); }
  static bool is_set(const PoolSpec& spec) { return !spec.epilogue.empty(); }
};

constexpr Keyword keyword_table[] = {
#define KEYWORD(name, none, ...) \
  {Key::name, #name, none != 0, __VA_ARGS__::read, __VA_ARGS__::is_set, __VA_ARGS__::print},
#include "frontend/keywords.def"
#undef KEYWORD
};
static_assert(std::size(keyword_table) <= most_arguments, "what is printed has to be read");

struct LayoutName {
  std::string_view name;
  Layout layout;
  size_t rank;  // 0: any
};
constexpr LayoutName layout_names[] = {
    {"nchw", Layout::nchw, 0},       {"nhwc", Layout::nhwc, 0},      {"nchw8c", Layout::nchw8c, 0},
    {"nchw16c", Layout::nchw16c, 0}, {"ncw", Layout::nchw, 1},       {"nwc", Layout::nhwc, 1},
    {"ncw8c", Layout::nchw8c, 1},    {"ncw16c", Layout::nchw16c, 1}, {"ncdhw", Layout::nchw, 3},
    {"ndhwc", Layout::nhwc, 3},      {"ncdhw8c", Layout::nchw8c, 3}, {"ncdhw16c", Layout::nchw16c, 3},
};

}  // namespace

std::span<const Keyword> keywords() { return keyword_table; }

std::string_view layout_name(Layout layout) {
  for (const LayoutName& row : layout_names)
    if (row.layout == layout) return row.name;
  return "";
}

std::optional<Layout> find_layout(std::string_view name, size_t rank) {
  for (const LayoutName& row : layout_names)
    if (row.name == name && (row.rank == 0 || row.rank == rank)) return row.layout;
  return std::nullopt;
}

std::span<const Choosable<ir::IndexScope>> index_scopes() { return choices<ir::IndexScope>; }

std::optional<TensorType> find_tensor_type(std::string_view name) {
  for (std::string_view quantized : {"quint8", "qint8", "qint32"})
    if (name == quantized) return TensorType{*ir::find_dtype(name.substr(1)), true};
  if (const auto dtype = ir::find_dtype(name)) return TensorType{*dtype, false};
  return std::nullopt;
}

}  // namespace pooljit::frontend
