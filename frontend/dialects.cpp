#include "frontend/dialects.h"

#include <fmt/format.h>

#include "frontend/check.h"
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
    {"benchdnn", benchdnn, parse_benchdnn, print_benchdnn},
    {"canonical", {}, parse_canonical, print_canonical},
};

// What two specs of the same operator differ in; empty if in nothing that has a name.
std::string_view difference(const PoolSpec& a, const PoolSpec& b) {
  if (a.dtype != b.dtype || a.quantized != b.quantized) return "the dtype";
  if (a.layout != b.layout) return "the layout";
  if (a.batch != b.batch || a.free_batch != b.free_batch) return "the batch";
  for (const Keyword& keyword : keywords()) {
    const auto text = [&](const PoolSpec& spec) {
      Printer out;
      if (keyword.is_set(spec)) keyword.print(out, spec);
      return out.result();
    };
    if (text(a) != text(b)) return keyword.name;
  }
  return "the operator";
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
  if (is_pools(spec) && dialect.print != print_canonical)
    return broken(Rule::dialect, fmt::format("{} has no words for {}", dialect.name, print(spec)));
  auto text = dialect.print(spec);
  if (!text) return text;
  const auto meaning = dialect.parse(*text).and_then(check_meaning);
  if (!meaning)
    return broken(Rule::dialect, fmt::format("{} would be refused: {}", *text, to_string(meaning.error())));
  if (*meaning == spec) return text;
  return broken(Rule::dialect, fmt::format("{} has no words for {} of {}", dialect.name,
                                           difference(spec, *meaning), print(spec)));
}

tl::unexpected<ir::Error> no_operator(std::string_view dialect, const PoolSpec& spec) {
  return broken(Rule::dialect,
                fmt::format("{} has no {}", dialect, name_of(operator_of(spec), spec.dims.size())));
}

}  // namespace pooljit::frontend
