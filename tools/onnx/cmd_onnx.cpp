// `pooljit onnx`: the pooling nodes of a model. `pooljit onnx-test`: folders in the layout of ONNX's backend
// tests.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "runtime/compile.h"
#include "tools/buffer.h"
#include "tools/command.h"
#include "tools/onnx/groups.h"
#include "tools/onnx/model.h"
#include "tools/onnx/model_options.h"

namespace pooljit::tools {
namespace {

namespace fs = std::filesystem;

// The worst of two ends of a listing: a node that is wrong before one that is not done or not known.
Exit worse(Exit exit, const ir::Error& error) {
  if (exit == Exit::invalid || error.kind == ir::ErrorKind::invalid) return Exit::invalid;
  return Exit::unsupported;
}

ir::Result<Exit> list_nodes(const ModelArguments& arguments) {
  const auto options = arguments.options();
  if (!options) return tl::unexpected(options.error());
  const auto model = read_model(arguments.path, *options);
  if (!model) return tl::unexpected(model.error());
  print_warnings(*model);
  if (model->nodes.empty()) fmt::print(stderr, "pooljit: {} has no pooling node\n", arguments.path);
  Exit exit = Exit::ok;
  for (const PoolNode& node : model->nodes) {
    const std::string note = node.note.empty() ? "" : "\t" + node.note;
    fmt::print("{}\t{}{}\n", node.name, node.spec ? *node.spec : to_string(node.spec.error()), note);
    if (!node.spec) exit = worse(exit, node.spec.error());
  }
  for (const PoolGroup& group : find_groups(*model))
    fmt::print("{}\t{}\n", fmt::join(group.nodes, " + "), group.spec);
  return exit;
}

// --- onnx-test

// What ONNX's own runner of these tests allows. It says nothing of the order of additions.
constexpr double relative_tolerance = 1e-3, absolute_tolerance = 1e-7;

// The first difference of two tensors; empty if there is none.
template <typename T>
std::string difference(const std::byte* ours, const std::string& theirs, bool is_exact) {
  for (size_t i = 0; i * sizeof(T) < theirs.size(); ++i) {
    T a, b;
    std::memcpy(&a, ours + i * sizeof(T), sizeof(T));
    std::memcpy(&b, theirs.data() + i * sizeof(T), sizeof(T));
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    const double tolerance = is_exact ? 0 : relative_tolerance * std::abs(y) + absolute_tolerance;
    if (a == b || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance) continue;
    return fmt::format("element {} is {}, not {}", i, a, b);
  }
  return "";
}

std::string compare(const Buffer& ours, const OnnxTensor& theirs, bool is_exact) {
  if (ours.size() != theirs.bytes.size())
    return fmt::format("{} bytes, not {}", ours.size(), theirs.bytes.size());
  if (theirs.dtype == "float32") return difference<float>(ours.data(), theirs.bytes, is_exact);
  if (theirs.dtype == "float64") return difference<double>(ours.data(), theirs.bytes, is_exact);
  if (theirs.dtype == "int64") return difference<int64_t>(ours.data(), theirs.bytes, true);
  return std::memcmp(ours.data(), theirs.bytes.data(), ours.size()) == 0 ? "" : "bytes differ";
}

// The input that says MaxUnpool's output_shape, where the folder has one.
ir::Result<std::vector<int64_t>> read_output_shape(const fs::path& folder) {
  std::vector<int64_t> shape;
  if (!fs::exists(folder / "input_2.pb")) return shape;
  const auto tensor = read_tensor((folder / "input_2.pb").string());
  if (!tensor) return tl::unexpected(tensor.error());
  if (tensor->dtype != "int64") return shape;
  shape.resize(tensor->bytes.size() / sizeof(int64_t));
  std::memcpy(shape.data(), tensor->bytes.data(), tensor->bytes.size());
  return shape;
}

// What is wrong with one folder of inputs and outputs.
ir::Result<std::string> run_data(const fs::path& folder, const runtime::Kernel& kernel) {
  const auto tensor = [&](const char* name) { return read_tensor((folder / name).string()); };
  const auto input = tensor("input_0.pb"), expected = tensor("output_0.pb");
  if (!input) return tl::unexpected(input.error());
  if (!expected) return tl::unexpected(expected.error());
  const frontend::PoolSpec& spec = kernel.spec();
  if (input->shape != kernel.input_shape() || input->dtype != ir::info(spec.dtype).spec_name)
    return fmt::format("the input is {}[{}]", input->dtype, fmt::join(input->shape, ","));
  if (expected->shape != kernel.output_shape())
    return fmt::format("output [{}], not [{}]", fmt::join(kernel.output_shape(), ","),
                       fmt::join(expected->shape, ","));
  size_t elements = 1;
  for (int64_t extent : kernel.output_shape()) elements *= static_cast<size_t>(extent);
  const auto output = Buffer::allocate(elements * static_cast<size_t>(ir::bytes(output_dtype(spec))));
  const auto indices = Buffer::allocate(spec.return_indices ? elements * sizeof(int64_t) : 0);
  if (!output) return tl::unexpected(output.error());
  if (!indices) return tl::unexpected(indices.error());
  ir::Result<OnnxTensor> places_read = OnnxTensor{};
  const bool reads_indices = spec.direction == ir::Direction::unpool;
  if (reads_indices) places_read = tensor("input_1.pb");
  if (!places_read) return tl::unexpected(places_read.error());
  if (reads_indices && (places_read->dtype != "int64" || places_read->shape != input->shape))
    return fmt::format("the indices are {}[{}]", places_read->dtype, fmt::join(places_read->shape, ","));
  void* const places_given = reads_indices         ? static_cast<void*>(places_read->bytes.data())
                             : spec.return_indices ? indices->data()
                                                   : nullptr;
  const auto ran = kernel.run(input->bytes.data(), output->data(), places_given);
  if (!ran) return tl::unexpected(ran.error());
  std::string wrong = compare(*output, *expected, is_extreme(spec.reduction));
  if (!wrong.empty() || !spec.return_indices) return wrong;
  const auto places = tensor("output_1.pb");
  if (!places) return tl::unexpected(places.error());
  wrong = compare(*indices, *places, true);
  return wrong.empty() ? wrong : "Indices: " + wrong;
}

// What is wrong with one test: its model has one node, a pooling.
ir::Result<std::string> run_test(const fs::path& folder, ModelOptions options, const runtime::Options& engine,
                                 int& sets) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("test_data_set_")) continue;
    ++sets;
    auto shape = read_output_shape(entry.path());
    if (!shape) return tl::unexpected(shape.error());
    options.output_shape = std::move(*shape);
    const auto model = read_model((folder / "model.onnx").string(), options);
    if (!model) return tl::unexpected(model.error());
    if (model->nodes.size() != 1) return fmt::format("{} pooling nodes", model->nodes.size());
    if (!model->nodes[0].spec) return tl::unexpected(model->nodes[0].spec.error());
    const auto kernel = runtime::compile(*model->nodes[0].spec, engine);
    if (!kernel) return tl::unexpected(kernel.error());
    auto wrong = run_data(entry.path(), **kernel);
    if (!wrong || !wrong->empty()) return wrong;
  }
  return "";
}

ir::Result<Exit> run_tests(const std::vector<std::string>& folders, const ModelOptions& model,
                           const runtime::Options& engine) {
  int passed = 0, differ = 0, refused = 0, sets = 0;
  for (const std::string& folder : folders) {
    const auto wrong = run_test(folder, model, engine, sets);
    const std::string name = fs::path(folder).filename().string();
    if (!wrong) {
      ++refused;
      fmt::print("refused {}: {}\n", name, to_string(wrong.error()));
    } else if (!wrong->empty()) {
      ++differ;
      fmt::print("differs {}: {}\n", name, *wrong);
    } else {
      ++passed;
      fmt::print("ok {}\n", name);
    }
  }
  fmt::print("{} tests with {} data sets: {} pass, {} differ, {} refused\n", folders.size(), sets, passed,
             differ, refused);
  return differ > 0 ? Exit::difference : refused > 0 ? Exit::unsupported : Exit::ok;
}

}  // namespace

void add_onnx(CLI::App& app, Action& action) {
  CLI::App* list = app.add_subcommand("onnx", "List the pooling nodes of an ONNX model");
  auto model = std::make_shared<ModelArguments>();
  list->add_option("MODEL", model->path, "ONNX file")->required();
  add_model_options(*list, *model);
  list->footer(
      "A line per node: its name, a tab, its spec or why it has none; then, where it is more than a pooling\n"
      "operator, a tab and what it is: ReduceMean, or the nodes of integers around it. Names in bodies and\n"
      "functions have a path. A batch that the model leaves open is N, spatial dims are H, W and the like; a "
      "kernel "
      "takes\n"
      "every size then, and --dim says one.\n"
      "Then a line for nodes that pool one tensor, side by side or as a chain, and the Concat of their "
      "outputs:\n"
      "their names with +, a tab, the spec of one kernel for all of them.\n"
      "Exit code 4 where a node is not known or not done, 3 where one is wrong; the others are listed.\n"
      "`pooljit run --onnx` runs a node.\n\n"
      "  pooljit onnx resnet50.onnx\n"
      "  pooljit onnx detector.onnx --dim height=640 --dim width=640");
  list->callback([&action, model] { action = [model] { return list_nodes(*model); }; });

  CLI::App* test = app.add_subcommand("onnx-test", "Run folders in the layout of ONNX's backend tests");
  struct Arguments {
    std::vector<std::string> folders;
    ModelOptions model;
    runtime::Options options;
  };
  auto arguments = std::make_shared<Arguments>();
  test->add_option("DIR", arguments->folders,
                   "Folder with model.onnx and test_data_set_*/{input,output}_*.pb")
      ->required();
  test->add_option("--backend", arguments->options.backend, "Engine; `pooljit list` lists them");
  add_ceil(*test, arguments->model.ceil);
  test->callback([&action, arguments] {
    action = [arguments] { return run_tests(arguments->folders, arguments->model, arguments->options); };
  });
}

}  // namespace pooljit::tools
