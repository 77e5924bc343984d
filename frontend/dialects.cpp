#include "frontend/dialects.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/check.h"
#include "frontend/geometry.h"
#include "frontend/operators.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

// Longer ones first where one begins another.
constexpr std::string_view torch_modules[] = {"torch.nn.M",
                                              "torch.nn.A",
                                              "torch.nn.L",
                                              "nn.M",
                                              "nn.A",
                                              "nn.L",
                                              "nn.F",
                                              "torch.nn.F",
                                              "MaxPool",
                                              "AvgPool",
                                              "LPPool",
                                              "AdaptiveMaxPool",
                                              "AdaptiveAvgPool",
                                              "MaxUnpool",
                                              "FractionalMaxPool"};
constexpr std::string_view torch[] = {"torch.", "F.", "nn.functional."};
constexpr std::string_view mlx[] = {"mlx."};
constexpr std::string_view keras[] = {"keras.", "tf.keras."};
constexpr std::string_view onnx[] = {"onnx."};
constexpr std::string_view benchdnn[] = {"benchdnn", "./benchdnn", "--"};

ir::Result<std::string> print_canonical(const PoolSpec& spec) { return print(spec); }

constexpr Dialect dialect_table[] = {
    {"nn", torch_modules, parse_torch_modules, print_torch_modules},
    {"torch", torch, parse_torch, print_torch},
    {"onnx", onnx, parse_onnx, print_onnx},
    {"mlx", mlx, parse_mlx, print_mlx},
    {"keras", keras, parse_keras, print_keras},
    {"benchdnn", benchdnn, parse_benchdnn, print_benchdnn, /*has_one_size=*/true},
    {"canonical", {}, parse_canonical, print_canonical},
};

bool all_dims(const PoolSpec& spec, const auto& holds) { return std::ranges::all_of(spec.dims, holds); }

// The first way of rounding the number of windows that gives as many.
CeilMode least_ceil_mode(const PoolSpec& spec) {
  if (has_free_dims(spec)) return spec.ceil_mode;
  for (const CeilMode mode : {CeilMode::floor, CeilMode::torch})
    if (all_dims(spec, [&](const SpecDim& dim) {
          return output_extent(dim, mode) == output_extent(dim, spec.ceil_mode);
        }))
      return mode;
  return spec.ceil_mode;
}

// The same layer with windows of their own, where it is said in another form: adaptive windows that are all
// the input, or share it evenly; a ceil_mode that changes nothing.
PoolSpec with_plain_windows(PoolSpec spec) {
  if (spec.direction == ir::Direction::unpool) return spec;
  spec.ceil_mode = least_ceil_mode(spec);
  const bool is_one = all_dims(spec, [](const SpecDim& dim) { return dim.adaptive_output == 1; });
  if (!is_adaptive(spec) || (has_free_dims(spec) && !is_one) ||
      !all_dims(spec, [](const SpecDim& dim) { return dim.input % dim.adaptive_output == 0; }))
    return spec;
  spec.global = is_one;
  for (SpecDim& dim : spec.dims) {
    dim.kernel = dim.stride = dim.input / dim.adaptive_output;
    dim.adaptive_output = 0;
  }
  return spec;
}

// A global pooling in the words of an adaptive one, if there is one.
PoolSpec with_adaptive_windows(const PoolSpec& spec) {
  PoolSpec adaptive = spec;
  for (SpecDim& dim : adaptive.dims) dim = {.input = dim.input, .adaptive_output = 1, .is_free = dim.is_free};
  adaptive.global = false;
  return spec.global && find_operator(adaptive) != nullptr ? adaptive : spec;
}

// The names of the fields in which two specs of the same operator differ; empty if none has a name.
std::string_view difference(const PoolSpec& a, const PoolSpec& b) {
  if (a.members.size() != b.members.size()) return "several pools";
  if (a.dtype != b.dtype || a.quantized != b.quantized) return "the dtype";
  if (a.layout != b.layout) return "the layout";
  if (a.batch != b.batch || a.free_batch != b.free_batch) return "the batch";
  if (!std::ranges::equal(a.dims, b.dims, {}, &SpecDim::is_free, &SpecDim::is_free)) return "the free dims";
  for (const Keyword& keyword : keywords()) {
    const auto text = [&](const PoolSpec& spec) {
      Printer out;
      if (keyword.is_set(spec)) keyword.print(out, spec);
      return out.result();
    };
    if (text(a) != text(b)) return keyword.name;
  }
  return a.members != b.members ? "several pools" : "the operator";
}

// Whether a dialect's text means the same.
bool same_layer(const Dialect& dialect, const PoolSpec& meaning, const PoolSpec& spec) {
  PoolSpec plain = with_plain_windows(spec);
  if (dialect.has_one_size) plain.global = false;
  return with_plain_windows(meaning) == plain;
}

// The spec, in a form that means the same.
ir::Result<std::string> print_form(const Dialect& dialect, const PoolSpec& form, const PoolSpec& spec) {
  auto text = dialect.print(form);
  if (!text) return text;
  const auto meaning = dialect.parse(*text).and_then(check_meaning);
  if (!meaning)
    return broken(Rule::dialect, fmt::format("{} would be refused: {}", *text, to_string(meaning.error())));
  if (same_layer(dialect, *meaning, spec)) return text;
  return broken(Rule::dialect, fmt::format("{} has no words for {} of {}", dialect.name,
                                           difference(spec, *meaning), print(spec)));
}

}  // namespace

std::span<const Dialect> dialects() { return dialect_table; }

ir::Result<PoolSpec> parse_any(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  for (const Dialect& dialect : dialect_table)
    for (std::string_view beginning : dialect.beginnings)
      if (text.substr(begin).starts_with(beginning)) return dialect.parse(text);
  return parse_canonical(text);
}

ir::Result<PoolSpec> parse_meaning(std::string_view text) { return parse_any(text).and_then(check_meaning); }

ir::Result<std::string> print_as(const Dialect& dialect, const PoolSpec& spec) {
  auto canonical = print_form(dialect, spec, spec);
  if (canonical || dialect.print == print_canonical) return canonical;
  for (const PoolSpec& form : {with_plain_windows(spec), with_adaptive_windows(spec)})
    if (auto text = print_form(dialect, form, spec)) return text;
  return canonical;
}

tl::unexpected<ir::Error> no_operator(std::string_view dialect, const PoolSpec& spec) {
  const Operator* const op = find_operator(spec);  // another form of what was asked for may have none at all
  return broken(Rule::dialect,
                fmt::format("{} has no {}", dialect, op ? name_of(*op, spec.dims.size()) : "such operator"));
}

}  // namespace pooljit::frontend
