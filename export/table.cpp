#include "export/table.h"

#include <fmt/format.h>

#include "ir/append.h"
#include "export/source.h"

namespace pooljit::runtime {
namespace {

constexpr std::string_view call_types =
    R"(/* A call, whatever the kernel. What it does not take is 0 or null. */
typedef struct pooljit_export_args {
  const void* input;
  void* const* outputs;        /* info->output_count pointers */
  void* const* indices;        /* info->indices_count */
  const void* const* operands; /* info->operand_count */
  int64_t batch;               /* of a spec without N: 0 or 1 */
  int part, parts;             /* 0 and 0: all of the work */
  void* scratch;               /* null: from the stack */
  const int64_t* dims;         /* of a spec with free dims: the extents of all spatial dims */
} pooljit_export_args;

typedef struct pooljit_export_kernel {
  const char* name;
  const char* spec;      /* canonical text */
  const char* signature; /* the text with N for the batch: what the code depends on */
  const pooljit_export_info* info;
  int (*run)(const pooljit_export_args* args); /* what NAME, NAME_part or NAME_part_with returns */
} pooljit_export_kernel;

static inline int pooljit_export_same(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

)";

// Passes what the caller gave on to the function with the arguments of its own.
std::string runner(const ExportedKernel& kernel) {
  std::string arguments = "pooljit_call->input";
  const auto pass = [&](std::string_view member, size_t count) {
    for (size_t i = 0; i < count; ++i) ir::append(arguments, ", pooljit_call->{}[{}]", member, i);
  };
  pass("outputs", kernel.outputs.size());
  pass("indices", kernel.indices.size());
  pass("operands", kernel.operands.size());
  if (kernel.has_batch()) arguments += ", pooljit_call->batch";
  if (kernel.is_free()) arguments += ", pooljit_call->dims";
  std::string out = fmt::format(
      "static inline int {}_run(const pooljit_export_args* pooljit_call) {{\n"
      "  if (!pooljit_call || (pooljit_call->parts == 0 && pooljit_call->part != 0))\n"
      "    return POOLJIT_EXPORT_INVALID;\n",
      kernel.name);
  // A batch of 0 needs no pointers, but those that point to pointers.
  ir::append(out, "  if (!pooljit_call->outputs{}{}) return POOLJIT_EXPORT_INVALID;\n",
             kernel.indices.empty() ? "" : " || !pooljit_call->indices",
             kernel.operands.empty() ? "" : " || !pooljit_call->operands");
  if (!kernel.has_batch())
    out += "  if (pooljit_call->batch < 0 || pooljit_call->batch > 1) return POOLJIT_EXPORT_INVALID;\n";
  ir::append(out,
             "  if (pooljit_call->scratch)\n"
             "    return {0}_part_with({1}, pooljit_call->part,\n"
             "      pooljit_call->parts ? pooljit_call->parts : 1, pooljit_call->scratch);\n"
             "  if (pooljit_call->parts) return {0}_part({1}, pooljit_call->part, pooljit_call->parts);\n"
             "  return {0}({1});\n}}\n",
             kernel.name, arguments);
  return out;
}

}  // namespace

std::string_view table_types() { return call_types; }

std::string table_functions(std::span<const ExportedKernel> kernels, const std::string& table) {
  std::string out =
      "\n/* The same behind one signature. The program gets all kernels where it uses the table. */\n";
  for (const ExportedKernel& kernel : kernels) out += runner(kernel);
  ir::append(out,
             "/* All of them, and how many (count may be null). */\n"
             "static inline const pooljit_export_kernel* {}_kernels(int64_t* count) {{\n"
             "  static const pooljit_export_kernel kernels[] = {{\n",
             table);
  for (const ExportedKernel& kernel : kernels)
    ir::append(out, "      {{{}, {}, {},\n       &{}_info, {}_run}},\n", quoted(kernel.name),
               quoted(kernel.text), quoted(frontend::signature(kernel.spec)), kernel.name, kernel.name);
  ir::append(
      out,
      "  }};\n  if (count) *count = {1};\n  return kernels;\n}}\n"
      "/* The one whose name, spec or signature the text is, the first of several; null: there is none. */\n"
      "static inline const pooljit_export_kernel* {0}_find(const char* text) {{\n"
      "  const pooljit_export_kernel* const kernels = {0}_kernels(0);\n"
      "  int64_t i;\n"
      "  for (i = 0; i < {1}; ++i)\n"
      "    if (pooljit_export_same(kernels[i].name, text) || pooljit_export_same(kernels[i].spec, text) ||\n"
      "        pooljit_export_same(kernels[i].signature, text))\n"
      "      return &kernels[i];\n"
      "  return 0;\n}}\n",
      table, kernels.size());
  return out;
}

}  // namespace pooljit::runtime
