#include "export/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "jit/decoder.h"
#include "runtime/cpu_features.h"
#include "runtime/limits.h"
#include "runtime/memory_view.h"
#include "runtime/proof/general.h"
#include "runtime/sized_code.h"
#include "runtime/tuning/choose.h"

namespace pooljit::runtime {
namespace {

// Names that a C or a C++ program cannot have.
constexpr std::string_view reserved[] = {
    "alignas",   "alignof",   "and",       "asm",      "auto",     "bitand",   "bitor",    "bool",
    "break",     "case",      "catch",     "char",     "class",    "compl",    "concept",  "const",
    "consteval", "constexpr", "constinit", "continue", "decltype", "default",  "delete",   "do",
    "double",    "else",      "enum",      "explicit", "export",   "extern",   "false",    "float",
    "for",       "friend",    "goto",      "if",       "inline",   "int",      "long",     "main",
    "mutable",   "namespace", "new",       "noexcept", "not",      "nullptr",  "operator", "or",
    "private",   "protected", "public",    "register", "requires", "restrict", "return",   "short",
    "signed",    "sizeof",    "static",    "struct",   "switch",   "template", "this",     "throw",
    "true",      "try",       "typedef",   "typeid",   "typename", "union",    "unsigned", "using",
    "virtual",   "void",      "volatile",  "while",    "xor"};

ir::Result<void> check_name(const std::string& name) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const bool is_identifier = !name.empty() && std::ranges::all_of(name, is_letter) &&
                             std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  if (!is_identifier)
    return ir::invalid("export.name", fmt::format("\"{}\" is no C identifier", name),
                       "letters, digits and _, not a digit first");
  if (name.starts_with("pooljit_"))
    return ir::invalid("export.name",
                       fmt::format("\"{}\": names that begin with pooljit_ are the header's", name),
                       "give it another name, or all a --namespace");
  if (std::ranges::find(reserved, name) != std::end(reserved))
    return ir::invalid("export.name", fmt::format("\"{}\" is a word of C or C++", name),
                       "give it another name, or all a --namespace");
  return {};
}

ExportedTensor tensor(const MemoryView& view, ir::DType dtype, bool has_batch) {
  ExportedTensor result{ir::info(dtype).spec_name, {}, {}, view.span_bytes()};
  for (const MemoryView::Dim& dim : view.dims().subspan(has_batch ? 0 : 1)) {
    result.shape.push_back(dim.extent);
    result.strides.push_back(dim.stride / view.element_bytes);
  }
  return result;
}

// The tensors of the kernel at a size.
void describe(ExportedKernel& kernel, const frontend::PoolSpec& sized) {
  const ir::PoolNest nest = make_nest(sized);
  const int64_t batch = sized.batch.value_or(1);
  const bool has_batch = kernel.has_batch();
  kernel.input = tensor(input_view(nest, batch), nest.input.dtype, has_batch);
  const std::vector<MemoryView> outputs = all_outputs(nest, batch);
  for (size_t i = 0; i < outputs.size(); ++i)
    kernel.outputs.push_back(tensor(outputs[i], nest.outputs()[i].output.dtype, has_batch));
  const std::vector<MemoryView> indices = all_indices(nest, batch);
  for (size_t i = 0; i < indices.size(); ++i)
    kernel.indices.push_back(tensor(indices[i], nest.with_indices(i).indices->dtype, has_batch));
  const std::vector<ir::View> views = operand_views(nest);
  const std::vector<MemoryView> memory = operand_memory(nest, batch);
  for (size_t i = 0; i < views.size(); ++i)
    kernel.operands.push_back(tensor(memory[i], views[i].dtype, has_batch));
}

// Fields that depend on the size become 0; other: the same tensor at another size.
void forget_sizes(ExportedTensor& tensor, const ExportedTensor& other) {
  const auto keep_alike = [](int64_t& number, int64_t at_other) {
    if (number != at_other) number = 0;
  };
  keep_alike(tensor.bytes, other.bytes);
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    keep_alike(tensor.shape[i], other.shape[i]);
    keep_alike(tensor.strides[i], other.strides[i]);
  }
}

ir::Result<void> describe(ExportedKernel& kernel) {
  if (!kernel.is_free()) {
    describe(kernel, kernel.spec);
    return {};
  }
  const auto one = with_more_outputs(kernel.spec, 1), other = with_more_outputs(kernel.spec, 2);
  if (!one || !other) return tl::unexpected((one ? other : one).error());
  ExportedKernel larger = kernel;
  describe(kernel, *one);
  describe(larger, *other);
  forget_sizes(kernel.input, larger.input);
  for (const auto tensors : {&ExportedKernel::outputs, &ExportedKernel::indices, &ExportedKernel::operands})
    for (size_t i = 0; i < (kernel.*tensors).size(); ++i)
      forget_sizes((kernel.*tensors)[i], (larger.*tensors)[i]);
  return {};
}

ir::Result<std::string> prove(const CodePtr& code, const frontend::PoolSpec& spec, const Choices& choices) {
  if (!can_run(choices.isa))
    return ir::unsupported("export.verify",
                           fmt::format("this machine cannot run {}, so its code cannot be proved here",
                                       ir::info(choices.isa).text),
                           "leave the ISA or --verify out, or export where the processor has it");
  const auto proof =
      has_free_dims(spec) ? prove_general(code, spec, choices) : prove_code(*code, spec, choices);
  if (!proof) return tl::unexpected(proof.error());
  if (!proof->ok()) return ir::invalid("prove.kernel", proof->failure, "a bug of pooljit: please report it");
  return print(*proof);
}

ir::Result<ExportedCode> make_code(const ExportedKernel& kernel, ir::Isa isa, const ExportOptions& options) {
  Choices choices{options.engine, isa, options.schedule};
  // A kernel that others' threads share is measured with one of them.
  const auto origin = choose_schedule(kernel.spec, {options.tune_db, true}, 1, choices);
  if (!origin) return tl::unexpected(origin.error());
  auto code = kernel.is_free() ? make_general_code(kernel.spec, choices)
                               : info(options.engine).make(make_nest(kernel.spec), choices);
  if (!code) return tl::unexpected(code.error());
  ExportedCode made{isa, *code, {}};
  if (!options.verify) return made;
  const auto proof = prove(*code, kernel.spec, choices);
  if (!proof) return tl::unexpected(proof.error());
  made.proof = *proof;
  return made;
}

}  // namespace

ir::Result<ExportedKernel> make_exported(const std::string& name, std::string_view spec_text,
                                         const ExportOptions& options) {
  if (auto checked = check_name(name); !checked) return tl::unexpected(checked.error());
  if (auto found = jit::require_decoder(); !found) return tl::unexpected(found.error());
  const auto spec = frontend::parse_spec(spec_text, frontend::FreeDims::allowed);
  if (!spec) return tl::unexpected(spec.error());
  if (is_unpool(*spec))
    return ir::unsupported("export.unpool", "max_unpool is a routine of the library, not machine code",
                           "call pooljit_run, or write it in C: one store for each index");
  ExportedKernel kernel;
  kernel.name = name;
  kernel.spec = *spec;
  kernel.text = frontend::print(*spec);
  kernel.backend = info(options.engine).text;
  if (auto described = describe(kernel); !described) return tl::unexpected(described.error());
  for (const ir::Isa isa : options.isas) {
    auto code = make_code(kernel, isa, options);
    if (!code) return tl::unexpected(code.error());
    for (const Code* version : (*code).code->versions())
      kernel.scratch_bytes = std::max(kernel.scratch_bytes, version->info.scratch_bytes);
    kernel.codes.push_back(std::move(*code));
  }
  return kernel;
}

std::vector<std::string> global_symbols(const ExportedKernel& kernel) {
  const std::string& name = kernel.name;
  if (kernel.is_free()) return {name + "_code", name + "_info"};
  std::vector<std::string> symbols = {name, name + "_part", name + "_part_with"};
  for (const ExportedCode& code : kernel.codes)
    symbols.push_back(fmt::format("{}_part_with_{}", name, ir::info(code.isa).text));
  symbols.push_back(name + "_info");
  return symbols;
}

std::vector<std::string> header_names(const ExportedKernel& kernel) {
  const std::string& name = kernel.name;
  if (!kernel.is_free()) return {name + "_run"};
  return {name, name + "_part", name + "_part_with", name + "_run"};
}

}  // namespace pooljit::runtime
