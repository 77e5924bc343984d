// Options of the commands that read ONNX models.
#pragma once

#include <string>
#include <vector>

#include "tools/onnx/model.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace pooljit::tools {

struct ModelArguments {
  std::string path;
  std::vector<std::string> dims;  // "batch=8"
  CeilChoice ceil = CeilChoice::runtime;
  std::vector<int64_t> output_shape;

  // Errors: onnx.dim.
  ir::Result<ModelOptions> options() const;
};

// --dim and --ceil.
std::vector<CLI::Option*> add_model_options(CLI::App& command, ModelArguments& arguments);
CLI::Option* add_ceil(CLI::App& command, CeilChoice& ceil);

// On stderr.
void print_warnings(const OnnxModel& model);

}  // namespace pooljit::tools
