// `pooljit run`: npy in, npy out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "frontend/check.h"
#include "runtime/compile.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/npy.h"
#ifdef POOLJIT_WITH_ONNX
#include "tools/onnx/model_options.h"
#endif
#include "ir/pools.h"
#include "tools/output_files.h"
#include "tools/sizes.h"
#include "tools/view.h"

namespace pooljit::tools {
namespace {

struct RunArguments {
  std::string spec, size, input;
  std::vector<std::string> outputs, indices;
  std::vector<std::string> operands;  // of the epilogue
#ifdef POOLJIT_WITH_ONNX
  ModelArguments model;  // instead of the spec
  std::string node;
#endif
  runtime::Options options;
};

ir::Result<std::string> spec_text(const RunArguments& arguments) {
#ifdef POOLJIT_WITH_ONNX
  if (!arguments.model.path.empty()) {
    const auto options = arguments.model.options();
    if (!options) return tl::unexpected(options.error());
    const auto model = read_model(arguments.model.path, *options);
    if (!model) return tl::unexpected(model.error());
    print_warnings(*model);
    return find_node(*model, arguments.node).map([](const PoolNode& node) { return *node.spec; });
  }
#endif
  return arguments.spec;
}

// The tensor that a packed file becomes: the file's own bytes where they lie as the view does.
ir::Result<Buffer> to_tensor(const FileView& view, ir::DType dtype, Buffer file) {
  if (view.packed()) return file;
  ir::Result<Buffer> tensor = Buffer::allocate(tensor_bytes(view, dtype));
  if (tensor) scatter(view, dtype, file.data(), tensor->data());
  return tensor;
}

// Of the windows that the input is the values or the gradient of.
ir::Result<Buffer> read_indices(const std::string& path, const frontend::PoolSpec& spec,
                                const FileView& view) {
  auto file = read_npy(path, spec.index_dtype, view.shape);
  if (!file) return tl::unexpected(file.error());
  return to_tensor(view, spec.index_dtype, std::move(*file));
}

// Arrays of one number per channel, and tensors.
ir::Result<std::vector<Buffer>> read_operands(const std::vector<std::string>& paths,
                                              const frontend::PoolSpec& spec) {
  const std::vector<ir::View> views = operand_views(make_nest(spec));
  if (paths.size() != views.size())
    return ir::invalid("run.operands",
                       fmt::format("the spec takes {} operands, {} are given", views.size(), paths.size()),
                       "give --operand " + std::string(frontend::operand_hint));
  std::vector<Buffer> operands;
  for (const FileView& view : operand_views(spec)) {
    const size_t number = operands.size();
    auto file = read_npy(paths[number], views[number].dtype, view.shape);
    if (!file) return tl::unexpected(file.error());
    auto tensor = to_tensor(view, views[number].dtype, std::move(*file));
    if (!tensor) return tl::unexpected(tensor.error());
    operands.push_back(std::move(*tensor));
  }
  return operands;
}

ir::Result<void> write_npy(OutputFiles& files, size_t file, const FileView& view, ir::DType dtype,
                           const Buffer& tensor) {
  const std::string header = npy_header(dtype, view.shape);
  if (auto ok = files.write(file, std::as_bytes(std::span(header))); !ok) return ok;
  if (view.packed()) return files.write(file, tensor.span());
  const auto element_bytes = static_cast<size_t>(ir::bytes(dtype));
  const ir::Result<Buffer> packed = Buffer::allocate(static_cast<size_t>(view.elements()) * element_bytes);
  if (!packed) return tl::unexpected(packed.error());
  gather(view, dtype, tensor.data(), packed->data());
  return files.write(file, packed->span());
}

// A batch that the spec leaves open is that of the file.
ir::Result<frontend::PoolSpec> with_batch_of(frontend::PoolSpec spec, const std::string& path) {
  if (!spec.free_batch) return spec;
  const auto header = read_npy_header(path);
  if (!header) return tl::unexpected(header.error());
  if (header->shape.size() != input_view(spec).shape.size()) return spec;
  spec.batch = header->shape[0];
  for (frontend::PoolSpec& member : spec.members) member.batch = spec.batch;
  return spec;
}

// Free dims that no --size says are those of the file, where the layer's windows lie on what it holds.
ir::Result<std::vector<int64_t>> sizes_of(const frontend::PoolSpec& spec, const RunArguments& arguments) {
  if (!arguments.size.empty()) return parse_size(arguments.size);
  if (spec.direction == ir::Direction::backward) return tl::unexpected(frontend::check_known(spec).error());
  const auto header = read_npy_header(arguments.input);
  if (!header) return tl::unexpected(header.error());
  const FileView view = input_view(spec);
  const auto& shape = header->shape;
  if (shape.size() != view.shape.size())
    return ir::invalid(
        "npy.shape",
        fmt::format("{} has {} dims, the spec has {}", arguments.input, shape.size(), view.shape.size()),
        "the shape follows the layout: (N, C, H, W) for nchw, (N, H, W, C) for nhwc");
  std::vector<int64_t> sizes;
  for (size_t axis = spec.batch ? 1 : 0; axis < shape.size(); ++axis)
    if (axis != view.channel) sizes.push_back(shape[axis]);
  return sizes;
}

// The kernel of the size that is pooled.
ir::Result<runtime::KernelPtr> compile(const std::string& text, const RunArguments& arguments) {
  const auto any = runtime::compile_any(text, arguments.options);
  if (!any) return tl::unexpected(any.error());
  if (const auto* const free = std::get_if<runtime::FreeKernelPtr>(&*any)) {
    const auto sizes = sizes_of((*free)->spec(), arguments);
    return sizes ? (*free)->code_for(*sizes) : tl::unexpected(sizes.error());
  }
  const runtime::KernelPtr& kernel = std::get<runtime::KernelPtr>(*any);
  if (arguments.size.empty()) return kernel;
  const auto same = parse_size(arguments.size).and_then([&](const std::vector<int64_t>& size) {
    return frontend::with_sizes(kernel->spec(), size);
  });
  return same ? ir::Result<runtime::KernelPtr>(kernel) : tl::unexpected(same.error());
}

// A tensor to be written to a file.
struct Result {
  FileView view;
  ir::DType dtype;
  size_t file = 0;
  Buffer tensor;
};

// For what of specs: their outputs or their indices.
ir::Result<std::vector<Result>> make_results(OutputFiles& files, const std::vector<std::string>& paths,
                                             const std::vector<frontend::PoolSpec>& specs, bool are_indices) {
  std::vector<Result> results;
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto file = files.add(paths[i]);
    if (!file) return tl::unexpected(file.error());
    const FileView view = output_view(specs[i]);
    const ir::DType dtype = are_indices ? specs[i].index_dtype : output_dtype(specs[i]);
    auto tensor = Buffer::allocate(tensor_bytes(view, dtype));
    if (!tensor) return tl::unexpected(tensor.error());
    results.push_back({view, dtype, *file, std::move(*tensor)});
  }
  return results;
}

std::vector<void*> pointers_of(const std::vector<Result>& results) {
  std::vector<void*> pointers;
  for (const Result& result : results) pointers.push_back(result.tensor.data());
  return pointers;
}

ir::Result<void> write_results(OutputFiles& files, const std::vector<Result>& results) {
  for (const Result& result : results)
    if (auto ok = write_npy(files, result.file, result.view, result.dtype, result.tensor); !ok) return ok;
  return {};
}

// The specs that outputs are those of, and indices that are written.
std::vector<frontend::PoolSpec> specs_of_outputs(const frontend::PoolSpec& spec) {
  const auto specs = outputs_of(spec);
  return {specs.begin(), specs.end()};
}
std::vector<frontend::PoolSpec> specs_of_indices(const frontend::PoolSpec& spec) {
  std::vector<frontend::PoolSpec> specs;
  for (const frontend::PoolSpec& member : pools_of(spec))
    if (has_indices(member) && member.direction == ir::Direction::forward) specs.push_back(member);
  return specs;
}

ir::Result<void> check_files(const RunArguments& arguments, const frontend::PoolSpec& spec, size_t outputs,
                             size_t indices) {
  if (arguments.outputs.size() != outputs)
    return ir::invalid(
        "run.outputs",
        fmt::format("the spec has {} outputs, --output names {} files", outputs, arguments.outputs.size()),
        "--output once for each; with concat=True there is one");
  if (has_indices(spec) && spec.direction != ir::Direction::forward) {
    if (arguments.indices.size() == 1) return {};
    return ir::invalid("run.indices", "the spec reads indices, but --indices names no file",
                       "give the file that the forward pass wrote");
  }
  if (arguments.indices.empty() || arguments.indices.size() == indices) return {};
  if (indices == 0)
    return ir::invalid("run.indices", "--indices is given, but the spec does not ask for indices",
                       "add return_indices=True to the spec");
  return ir::invalid("run.indices",
                     fmt::format("the spec makes {} arrays of indices, --indices names {} files", indices,
                                 arguments.indices.size()),
                     "--indices once for each member that has some, or not at all");
}

ir::Result<Exit> run(const RunArguments& arguments) {
  const auto text = spec_text(arguments);
  if (!text) return tl::unexpected(text.error());
  const auto kernel = compile(*text, arguments);
  if (!kernel) return tl::unexpected(kernel.error());
  if (!(*kernel)->fallback().empty())
    fmt::print(stderr, "pooljit: no machine code: {}; the reference runs it\n", (*kernel)->fallback());
  const auto sized = with_batch_of((*kernel)->spec(), arguments.input);
  if (!sized) return tl::unexpected(sized.error());
  const frontend::PoolSpec& spec = *sized;
  const auto of_outputs = specs_of_outputs(spec), of_indices = specs_of_indices(spec);
  if (auto ok = check_files(arguments, spec, of_outputs.size(), of_indices.size()); !ok)
    return tl::unexpected(ok.error());

  // Outputs first: that they cannot be written should not be learnt after the work.
  OutputFiles files;
  const auto outputs = make_results(files, arguments.outputs, of_outputs, false);
  if (!outputs) return tl::unexpected(outputs.error());
  const bool reads_indices = has_indices(spec) && spec.direction != ir::Direction::forward;
  const bool names_indices = !arguments.indices.empty() && !reads_indices;
  const auto indices = names_indices ? make_results(files, arguments.indices, of_indices, true)
                                     : ir::Result<std::vector<Result>>(std::vector<Result>());
  if (!indices) return tl::unexpected(indices.error());

  const FileView from = input_view(spec);
  auto file = read_npy(arguments.input, spec.dtype, from.shape);
  if (!file) return tl::unexpected(file.error());
  const auto input = to_tensor(from, spec.dtype, std::move(*file));
  if (!input) return tl::unexpected(input.error());
  const auto operands = read_operands(arguments.operands, spec);
  if (!operands) return tl::unexpected(operands.error());
  std::vector<const void*> operand_pointers;
  for (const Buffer& operand : *operands) operand_pointers.push_back(operand.data());

  const std::vector<void*> output_pointers = pointers_of(*outputs);
  std::vector<void*> index_pointers = pointers_of(*indices);
  std::vector<Buffer> unnamed;  // indices that are read, or made but in no file
  const size_t unnamed_count = reads_indices ? 1 : names_indices ? 0 : of_indices.size();
  for (size_t i = 0; i < unnamed_count; ++i) {
    auto made = reads_indices
                    ? read_indices(arguments.indices[0], spec,
                                   has_indices_like_output(spec) ? output_view(spec) : from)
                    : Buffer::allocate(tensor_bytes(output_view(of_indices[i]), of_indices[i].index_dtype));
    if (!made) return tl::unexpected(made.error());
    unnamed.push_back(std::move(*made));
    index_pointers.push_back(unnamed.back().data());
  }
  auto ok = (*kernel)->run(input->data(), {output_pointers, index_pointers}, nullptr, spec.batch.value_or(1),
                           operand_pointers);
  if (ok) ok = write_results(files, *outputs);
  if (ok) ok = write_results(files, *indices);
  if (ok) ok = files.commit();
  if (!ok) return tl::unexpected(ok.error());
  return Exit::ok;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Pool an npy file into another");
  auto arguments = std::make_shared<RunArguments>();
  CLI::Option_group* what = command->add_option_group("what to run");
  add_spec(*what, arguments->spec);
#ifdef POOLJIT_WITH_ONNX
  CLI::Option* model =
      what->add_option("--onnx", arguments->model.path, "ONNX file, whose pooling node --node is run");
  command
      ->add_option("--node", arguments->node,
                   "Name of the node, as `pooljit onnx` lists it; may be left out if there is one only")
      ->needs(model);
  for (CLI::Option* option : add_model_options(*command, arguments->model)) option->needs(model);
  command
      ->add_option("--output-shape", arguments->model.output_shape,
                   "N,C,...: of a MaxUnpool whose output_shape is an input of the model")
      ->delimiter(',')
      ->needs(model);
#endif
  what->require_option(1);
  add_size(*command, arguments->size);
  command->add_option("--input", arguments->input, "npy file of the spec's dtype and shape, in C order")
      ->required();
  command->add_option("--output", arguments->outputs, "npy file to write; once for each output of pools(...)")
      ->required();
  command->add_option("--indices", arguments->indices,
                      "npy file to write the indices to, once for each member of pools(...) that has some; "
                      "backward and unpool read it");
  command->add_option("--operand", arguments->operands,
                      "npy file of an array or tensor that the epilogue takes; once for each, in their "
                      "order. lp_pool_backward "
                      "takes the forward pass's input, then its output");
  add_backend(*command, arguments->options);
  add_fallback(*command, arguments->options);
  add_isa(*command, arguments->options);
  add_schedule(*command, arguments->options);
  add_tune_db(*command, arguments->options);
  add_measure(*command, arguments->options);
  add_threads(*command, arguments->options);
  command->footer(
      "The files' shape is the spec's, in the order in which the layout lies in memory: (N, C, H, W) for "
      "nchw,\n"
      "(N, H, W, C) for nhwc. Explicit strides say where elements lie in memory, not in the files. All "
      "outputs\n"
      "appear complete, or none does. float32[N,3,224,224] takes a file of any batch, float32[N,3,H,W] of "
      "any "
      "size;\n"
      "a backward pooling's is said by --size.\n\n"
      "  pooljit run 'max_pool2d(float32[1,3,224,224], kernel_size=2)' --input x.npy --output y.npy\n"
      "  pooljit run 'max_pool2d(uint8[224,224,3]:nhwc, kernel_size=2, return_indices=True)' \\\n"
      "      --input x.npy --output y.npy --indices i.npy --backend llvm");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace pooljit::tools
