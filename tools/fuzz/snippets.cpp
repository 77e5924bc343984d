#include "tools/fuzz/snippets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "frontend/dialects.h"
#include "tools/onnx_bytes.h"

namespace pooljit::fuzz {
namespace {

using frontend::PoolSpec;
using tools::NodeModel;

// The same layer of packed NCHW tensors.
PoolSpec logical(PoolSpec spec) {
  spec.layout = frontend::Layout::nchw;
  spec.output_layout.reset();
  spec.strides.clear();
  spec.output_strides.clear();
  return spec;
}

ir::Result<std::string> in_dialect(std::string_view dialect, const PoolSpec& spec) {
  const auto all = frontend::dialects();
  return print_as(*std::ranges::find(all, dialect, &frontend::Dialect::name), spec);
}

std::vector<int64_t> integers_of(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    int64_t number = 0;
    std::from_chars(text.data() + at, text.data() + end, number);
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

// "onnx.MaxPool(float32[1,3,9,9], kernel_shape=[3,3], ceil_mode=1)" as a node: its numbers are integers or
// lists of them. return_indices and opset are no attributes.
NodeModel node_of(std::string_view text) {
  constexpr std::string_view beginning = "onnx.";
  const size_t open = text.find('(');
  NodeModel model = {.op_type = std::string(text.substr(beginning.size(), open - beginning.size()))};
  size_t at = text.find("], ", open);
  while (at != std::string_view::npos && at + 3 < text.size()) {
    at = text.find_first_not_of("], ", at);
    const size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) break;
    const std::string name(text.substr(at, equals - at));
    const bool is_list = text[equals + 1] == '[';
    const size_t end = text.find_first_of(is_list ? "]" : ",)", equals);
    const auto values =
        integers_of(text.substr(equals + (is_list ? 2 : 1), end - equals - (is_list ? 2 : 1)));
    if (name == "opset")
      model.opset = values[0];
    else if (name != "return_indices")
      model.attributes.emplace_back(name, is_list ? tools::NodeAttribute(values) : values[0]);
    at = end;
  }
  return model;
}

// "x" for the tensor that the text's first argument describes.
std::string with_tensor(const std::string& text) {
  const size_t open = text.find('(');
  size_t end = text.find(']', open) + 1;
  return text.substr(0, open + 1) + "x" + text.substr(end);
}

constexpr const char* script = R"(# {what}
# {spec}
#
# inputs.npz and expected.npz hold tensors in the order N, C, spatial; pooljit's oracle made the second.
# Needs: pip install torch numpy
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

here = pathlib.Path(__file__).resolve().parent


def tensor(array):
    """bfloat16, which numpy does not have, is stored as pairs of bytes."""
    if array.dtype.kind == "V" or array.dtype == np.uint16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


x = tensor(np.load(here / "inputs.npz")["x"]){shape}
expected = {{name: tensor(array){unbatched} for name, array in np.load(here / "expected.npz").items()}}
{body})";

constexpr const char* comparison = R"(results = {call}
results = dict(zip(("y", "indices"), results if isinstance(results, tuple) else (results,)))
for name, wanted in expected.items():
    got = results[name]
    print(f"{name}: PyTorch {torch.__version__} gives\n{got}\nexpected\n{wanted}")
    same = torch.allclose(got.double(), wanted.double(), rtol=1e-5, atol=0, equal_nan=True)
    print(f"{name}: {'the same' if same else 'DIFFERENT'}")
)";

}  // namespace

ir::Result<std::string> onnx_model(const PoolSpec& given) {
  PoolSpec spec = logical(given);
  spec.batch = given.batch.value_or(1);
  spec.free_batch = false;
  if (spec.quantized)
    return ir::unsupported("spec.dialect", "a quantized layer has scales as inputs in ONNX");
  const auto text = in_dialect("onnx", spec);
  if (!text) return tl::unexpected(text.error());
  NodeModel model = node_of(*text);
  model.inputs = {{"x", std::string(ir::info(spec.dtype).spec_name), input_shape(spec)}};
  model.outputs = {{"y", std::string(ir::info(output_dtype(spec)).spec_name), output_shape(spec)}};
  if (has_indices(spec)) model.outputs.push_back({"indices", "int64", output_shape(spec)});
  return model_bytes(model);
}

std::string torch_snippet(const PoolSpec& spec, const std::string& what) {
  const auto call = in_dialect("torch", logical(spec));
  std::string shape = spec.batch ? "" : "[0]";
  const bool is_packed = spec.strides.empty() && spec.layout == frontend::Layout::nchw;
  if (!is_packed && channel_block(spec.layout) == 1)
    shape += fmt::format("\nx = torch.empty_strided(x.shape, ({},), dtype=x.dtype).copy_(x)",
                         fmt::join(input_strides(spec), ", "));
  std::string body = call ? comparison
                          : fmt::format("# PyTorch has no such layer: {}\nprint(x, expected, sep=\"\\n\")\n",
                                        call.error().message);
  if (call) body.replace(body.find("{call}"), 6, with_tensor(*call));
  return fmt::format(fmt::runtime(script), fmt::arg("what", what), fmt::arg("spec", print(spec)),
                     fmt::arg("shape", shape), fmt::arg("unbatched", spec.batch ? "" : "[0]"),
                     fmt::arg("body", body));
}

}  // namespace pooljit::fuzz
