#include "tools/onnx/model_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace pooljit::tools {

ir::Result<ModelOptions> ModelArguments::options() const {
  auto known = parse_dims(dims);
  if (!known) return tl::unexpected(known.error());
  return ModelOptions{std::move(*known), ceil, output_shape};
}

CLI::Option* add_ceil(CLI::App& command, CeilChoice& ceil) {
  const std::map<std::string, CeilChoice> words = {{"runtime", CeilChoice::runtime},
                                                   {"letter", CeilChoice::letter}};
  return command
      .add_option(
          "--ceil", ceil,
          "ceil_mode below opset 22: runtime (default) drops a last window that begins in the padding, as "
          "ONNX Runtime does; letter keeps it, as ONNX's text says")
      ->transform(CLI::CheckedTransformer(words).description(""))
      ->type_name("runtime|letter")
      ->option_text("runtime|letter");
}

std::vector<CLI::Option*> add_model_options(CLI::App& command, ModelArguments& arguments) {
  return {command.add_option("--dim", arguments.dims,
                             "NAME=EXTENT: what a symbolic dim of the model is; may be repeated"),
          add_ceil(command, arguments.ceil)};
}

void print_warnings(const OnnxModel& model) {
  for (const std::string& warning : model.warnings) fmt::print(stderr, "pooljit: warning: {}\n", warning);
}

}  // namespace pooljit::tools
