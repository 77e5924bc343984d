#include "tools/supported.h"

#include <fmt/format.h>

#include <vector>

#include "frontend/keywords.h"
#include "frontend/operators.h"
#include "ir/dtype.h"
#include "lab/check.h"
#include "runtime/compile.h"

namespace pooljit::tools {
namespace {

using frontend::Form;
using frontend::Operator;

// A column: what is put into the spec of a row.
struct Choice {
  std::string title, dtype, layout, fields;
};

std::string dims_of(const Operator& op) { return op.form == Form::unpool ? "1,19,4,4" : "1,19,8,8"; }

// The least that an operator has to be told.
std::string arguments_of(const Operator& op) {
  std::string text;
  if (op.form == Form::window) text += ", kernel_size=3, padding=1";
  if (op.form == Form::unpool) text += ", kernel_size=2";
  if (op.form == Form::adaptive) text += ", output_size=3";
  if (op.quantized) text += ", scale=0.5, zero_point=3";
  return text;
}

std::string spec_text(const Operator& op, const Choice& choice) {
  return fmt::format("{}({}[{}]{}{}{})", name_of(op, 2), choice.dtype, dims_of(op), choice.layout,
                     arguments_of(op), choice.fields);
}

std::string refusal(const ir::Error& error) {
  return error.kind == ir::ErrorKind::invalid ? "-" : "`" + error.id + "`";
}

std::string cell(const std::string& spec) {
  const auto meaning = frontend::parse_spec(spec);
  if (!meaning) return refusal(meaning.error());
  if (is_unpool(*meaning)) {  // one routine, no engines to compare
    const auto kernel = runtime::compile(spec, {});
    return kernel ? "yes" : refusal(kernel.error());
  }
  runtime::CheckOptions options;
  options.schedules = runtime::CheckOptions::Schedules::best;
  const auto report = runtime::check(spec, options);
  if (!report) return refusal(report.error());
  return report->ok() ? "yes" : "WRONG";
}

std::string table(const std::vector<const Operator*>& rows, const std::vector<Choice>& columns) {
  std::string text = "| operator |", rule = "\n|---|";
  for (const Choice& column : columns) {
    text += fmt::format(" {} |", column.title);
    rule += "---|";
  }
  text += rule + "\n";
  for (const Operator* op : rows) {
    text += fmt::format("| `{}Nd{}` |", op->prefix, op->suffix);
    for (const Choice& column : columns) text += fmt::format(" {} |", cell(spec_text(*op, column)));
    text += "\n";
  }
  return text;
}

std::vector<const Operator*> operators_that(bool quantized, bool with_indices) {
  std::vector<const Operator*> chosen;
  for (const Operator& op : frontend::operators())
    if (op.quantized == quantized && (!with_indices || op.allows(frontend::Key::index_scope)))
      chosen.push_back(&op);
  return chosen;
}

std::vector<Choice> dtypes(std::string_view prefix) {
  std::vector<Choice> columns;
  for (const ir::DTypeInfo& row : ir::dtype_table) {
    if (!row.tensor) continue;
    const std::string name = fmt::format("{}{}", prefix, row.spec_name);
    if (frontend::find_tensor_type(name)) columns.push_back({name, name, "", ""});
  }
  return columns;
}

std::vector<Choice> layouts() {
  std::vector<Choice> columns;
  for (const char* layout : {"nchw", "nhwc", "nchw8c", "nchw16c"})
    columns.push_back({layout, "float32", fmt::format(":{}", layout), ""});
  for (const char* layout : {"nhwc", "nchw16c"})
    columns.push_back(
        {fmt::format("nchw to {}", layout), "float32", "", fmt::format(", output_layout={}", layout)});
  return columns;
}

std::vector<Choice> epilogues() {
  std::vector<Choice> columns;
  for (const ir::StepInfo& row : ir::step_table) {
    columns.push_back({std::string(row.text), "float32", "",
                       fmt::format(", epilogue=[{}{}]{}", row.text, row.numbers > 0 ? "(0.5,3)" : "",
                                   row.makes_integers() ? ", output_dtype=uint8" : "")});
  }
  return columns;
}

std::vector<Choice> indices(std::string_view dtype) {
  std::vector<Choice> columns;
  for (const char* scope : {"plane", "tensor", "nhwc", "nhwc_batch", "window"})
    columns.push_back({scope, "float32", "", fmt::format(", index_scope={}, index_dtype={}", scope, dtype)});
  return columns;
}

// Forward poolings have indices if they are asked for.
std::vector<Choice> asked_for(std::vector<Choice> columns) {
  for (Choice& column : columns) column.fields += ", return_indices=True";
  return columns;
}

}  // namespace

std::string supported_tables() {
  const auto plain = operators_that(false, false), quantized = operators_that(true, false);
  std::vector<const Operator*> makes, reads;
  for (const Operator* op : operators_that(false, true))
    (op->allows(frontend::Key::return_indices) ? makes : reads).push_back(op);
  std::string text = "### Dtypes\n\n" + table(plain, dtypes("")) + "\n" + table(quantized, dtypes("q"));
  text += "\n### Layouts\n\n" + table(plain, layouts());
  text += "\n### Epilogues\n\n" + table(plain, epilogues());
  for (const char* dtype : {"int64", "int32", "uint8"}) {
    text += fmt::format("\n### Indices of {}\n\n", dtype);
    text += table(makes, asked_for(indices(dtype))) + "\n" + table(reads, indices(dtype));
  }
  return text;
}

}  // namespace pooljit::tools
