#include "export/header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "export/table.h"

namespace pooljit::runtime {
namespace {

// The part that all headers share; programs may include several, of several versions. The structures only grow at
// their ends; export/info.cpp lays them out.
constexpr std::string_view types = R"(#ifndef POOLJIT_EXPORT_TYPES
#define POOLJIT_EXPORT_TYPES

/* What the functions return. Nothing is written where it is not POOLJIT_EXPORT_OK. */
enum {
  POOLJIT_EXPORT_OK = 0,
  POOLJIT_EXPORT_INVALID = 1, /* a null pointer, a batch that is negative or too large, part < 0 or
                                 part >= parts, scratch memory that is null or not aligned to 64 bytes */
  POOLJIT_EXPORT_NO_ISA = 2   /* this processor, or its system, has none of the instruction sets */
};

/* In logical order: N (if there is a batch), C, spatial. Strides in elements. */
typedef struct pooljit_export_tensor {
  const char* dtype; /* "float32"; "" if there is no such tensor */
  int64_t rank;      /* 0 if there is no such tensor */
  int64_t shape[8], strides[8];
  int64_t bytes; /* from the first element to the last, of the spec's batch */
} pooljit_export_tensor;

typedef struct pooljit_export_body {
  const char* isa;
  const char* schedule;
  const char* proof; /* what was proved (--verify), for people; "" if nothing was asked for */
  int64_t code_bytes;
} pooljit_export_body;

typedef struct pooljit_export_info {
  int64_t size; /* of this structure: later versions of pooljit add members at the end */
  const char* spec;
  const char* backend;
  const char* version; /* of pooljit */
  pooljit_export_tensor input, output, indices; /* of several the first */
  int64_t operand_count;
  const pooljit_export_tensor* operands;
  int64_t body_count;
  const pooljit_export_body* bodies;
  int64_t scratch_bytes; /* what NAME_part_with wants */
  int64_t output_count;  /* several pools of one tensor have several outputs, and arrays of indices */
  const pooljit_export_tensor* outputs;
  int64_t indices_count;
  const pooljit_export_tensor* all_indices;
} pooljit_export_info;

)";

constexpr std::string_view needs_nothing =
    "/* Machine code of pooling layers. Needs no library: link the object that came with this header.\n";
constexpr std::string_view needs_library =
    R"(/* Machine code of pooling layers. Link the object that came with this header, and libpooljit, of the same
 * version, for kernels whose spec leaves spatial dims free: it makes the tables of a size, and no code. Of
 * these kernels:
 *
 *   int64_t* dims   the extents of all spatial dims, in the order of the spec: of a backward pooling those of
 *                   the forward input
 *   NAME_code       the code, for pooljit_link() and pooljit_run_linked() of pooljit_linked.h. NAME, NAME_part
 *                   and NAME_part_with call the latter: pooljit_last_error() says why they refuse a call, and
 *                   scratch memory that is not the caller's is the thread's own, not the stack
 *   in NAME_info what depends on the size is 0
 *
 * Of all kernels:
)";

constexpr std::string_view rules =
    R"( *
 *   NAME            pools
 *   NAME_part       does its share of the work, part `part` of `parts`: call it from each of your threads. Any
 *                   number of parts together writes, bit for bit, what NAME does; no two write the same byte.
 *   NAME_part_with  the same, with scratch memory of the caller's: NAME_info.scratch_bytes, aligned to 64
 *                   bytes, for each thread its own; NULL will do where that is 0. The other two take it from
 *                   the stack (256 KiB at most).
 *   NAME_part_with_ISA  the same, without asking the processor: it has to have the ISA. For tests.
 *   NAME_info       what it is, as constants
 *   NAME_run        the same with the arguments in a structure, alike for all kernels; TABLE_kernels() lists
 *                   them and TABLE_find(text) finds the one of a spec, where TABLE is the header's name
 *
 * Pointers are to the first elements (all coordinates 0), at any alignment of the element (outputs of 8 MB and
 * more are written faster where they begin at a multiple of 64). Tensors lie in memory as the comment says;
 * what is written must not overlap anything else. Nothing but the elements of the tensors is read or written.
 * A batch is how many the buffers hold, of any size; 0 succeeds, whatever the pointers.
 *
 * Threads: any number at once. Nothing is allocated, locked or kept, but for one word that says what the
 * processor has. MXCSR may be as it likes: results are those of round to nearest with denormals; it is
 * restored, with the exception flags that were raised. No exception is thrown and no signal handled; unwind
 * tables are there, so debuggers and profilers see through.
 */
)";

// depends_on_size: what is 0 does.
std::string describe(const ExportedTensor& tensor, std::string_view what, bool depends_on_size) {
  const auto join = [&](const std::vector<int64_t>& numbers) {
    std::vector<std::string> texts;
    for (const int64_t number : numbers)
      texts.push_back(depends_on_size && number == 0 ? "?" : fmt::to_string(number));
    return fmt::format("{}", fmt::join(texts, ","));
  };
  return fmt::format(" *   {:<9}{}[{}], strides {}\n", what, tensor.dtype, join(tensor.shape),
                     join(tensor.strides));
}

// "output0", "output1", ...
std::vector<std::string> numbered(std::string_view what, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", what, i));
  return names;
}

// The same; one alone is "output".
std::vector<std::string> names_of(std::string_view what, const std::vector<ExportedTensor>& tensors) {
  if (tensors.size() == 1) return {std::string(what)};
  return numbered(what, tensors.size());
}

// What NAME takes.
std::string arguments_of(const ExportedKernel& kernel) {
  std::string arguments = "const void* input";
  const auto add = [&](std::string_view type, const std::vector<std::string>& names) {
    for (const std::string& name : names) arguments += fmt::format(", {} {}", type, name);
  };
  add("void*", names_of("output", kernel.outputs));
  add(kernel.writes_indices() ? "void*" : "const void*", names_of("indices", kernel.indices));
  add("const void*", numbered("operand", kernel.operands.size()));
  if (kernel.has_batch()) arguments += ", int64_t batch";
  if (kernel.is_free()) arguments += ", const int64_t* dims";
  return arguments;
}

constexpr std::string_view part = ", int part, int parts";

std::string declarations(const ExportedKernel& kernel) {
  const std::string arguments = arguments_of(kernel);
  std::string out =
      fmt::format("int {0}({1});\nint {0}_part({1}{2});\nint {0}_part_with({1}{2}, void* scratch);\n",
                  kernel.name, arguments, part);
  for (const ExportedCode& code : kernel.codes)
    out += fmt::format("int {}_part_with_{}({}{}, void* scratch);\n", kernel.name, ir::info(code.isa).text,
                       arguments, part);
  return out + fmt::format("extern const pooljit_export_info {}_info;\n", kernel.name);
}

// Functions that pass their arguments on to the library.
std::string definitions(const ExportedKernel& kernel) {
  std::string names = "input", lists, set;
  // An array of the pointers, and how many there are.
  const auto list = [&](std::string_view member, std::string_view count, std::string_view type,
                        const std::vector<std::string>& pointers, std::string_view cast = "") {
    if (pointers.empty()) return;
    names += fmt::format(", {}", fmt::join(pointers, ", "));
    const std::string separator = fmt::format(", {}", cast);
    lists += fmt::format("  {} {}_of_call[] = {{{}{}}};\n", type, member, cast, fmt::join(pointers, separator));
    set += fmt::format("  args.{0} = {0}_of_call;\n  args.{1} = {2};\n", member, count, pointers.size());
  };
  list("outputs", "output_count", "void* const", names_of("output", kernel.outputs));
  list("indices", "indices_count", "void* const", names_of("indices", kernel.indices),
       kernel.writes_indices() ? "" : "(void*)(uintptr_t)");
  list("operands", "operand_count", "const void* const", numbered("operand", kernel.operands.size()));
  if (kernel.has_batch()) {
    names += ", batch";
    set += "  args.has_batch = 1;\n  args.batch = batch;\n";
  }
  names += ", dims";
  return fmt::format(
      "extern const pooljit_linked_code {0}_code;\n"
      "static inline int {0}_part_with({1}{2}, void* scratch) {{\n{3}"
      "  pooljit_args args;\n  __builtin_memset(&args, 0, sizeof args);\n  args.size = sizeof args;\n"
      "  args.input = input;\n{4}  args.dims = dims;\n  args.dim_count = {5};\n"
      "  args.part = part;\n  args.parts = parts < 1 ? -1 : parts; /* 0 of the library is all of the work */\n"
      "  args.scratch = scratch;\n"
      "  return pooljit_run_linked(&{0}_code, &args);\n}}\n"
      "static inline int {0}_part({1}{2}) {{\n  return {0}_part_with({6}, part, parts, 0);\n}}\n"
      "static inline int {0}({1}) {{\n  return {0}_part_with({6}, 0, 1, 0);\n}}\n"
      "extern const pooljit_export_info {0}_info;\n",
      kernel.name, arguments_of(kernel), part, lists, set, kernel.spec.dims.size(), names);
}

// A comment ends where it is meant to.
std::string commented(std::string text) {
  for (size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at))
    text.replace(at, 2, "* /");
  return text;
}

std::string lines_of(std::string_view text, std::string_view prefix) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += fmt::format("{}{}\n", prefix, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string comment(const ExportedKernel& kernel) {
  std::string out = fmt::format("/* {}\n", kernel.text);
  const auto add = [&](const std::vector<ExportedTensor>& tensors, const std::vector<std::string>& names) {
    for (size_t i = 0; i < tensors.size(); ++i) out += describe(tensors[i], names[i], kernel.is_free());
  };
  add({kernel.input}, {"input"});
  add(kernel.outputs, names_of("output", kernel.outputs));
  add(kernel.indices, names_of("indices", kernel.indices));
  add(kernel.operands, numbered("operand", kernel.operands.size()));
  for (const ExportedCode& code : kernel.codes) {
    out += fmt::format(" *   {:<9}{} bytes of code, {}\n", ir::info(code.isa).text,
                       code.code->info.code_bytes, code.code->info.schedule);
    out += lines_of(code.proof, " *     ");
  }
  if (kernel.scratch_bytes > 0) out += fmt::format(" *   scratch  {} bytes\n", kernel.scratch_bytes);
  return commented(out) + " */\n";
}

}  // namespace

std::string export_header(std::span<const ExportedKernel> kernels, const std::string& guard,
                          const std::string& table) {
  std::string out = fmt::format("/* Made by `pooljit export` {}. */\n", POOLJIT_VERSION);
  const bool has_free = std::ranges::any_of(kernels, &ExportedKernel::is_free);
  out += has_free ? needs_library : needs_nothing;
  out += rules;
  out += fmt::format("#ifndef {0}\n#define {0}\n\n#include <stdint.h>\n{1}\n", guard,
                     has_free ? "\n#include <pooljit_linked.h>\n" : "");
  out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  out += types;
  out += table_types();
  out += "#endif /* POOLJIT_EXPORT_TYPES */\n";
  for (const ExportedKernel& kernel : kernels) 
    out += "\n" + comment(kernel) + (kernel.is_free() ? definitions(kernel) : declarations(kernel));
  out += table_functions(kernels, table);
  out += fmt::format("\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {} */\n", guard);
  return out;
}

}  // namespace pooljit::runtime
