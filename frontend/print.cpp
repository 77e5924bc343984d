// Canonical text. What equals its default is left out, so that one spec has one text.
#include "frontend/operators.h"
#include "frontend/printer.h"

namespace pooljit::frontend {

namespace {

std::string print_with_batch(const PoolSpec& spec, std::string_view batch) {
  const Operator& op = operator_of(spec);
  Printer out;
  out.text(op.prefix).number(static_cast<int64_t>(spec.dims.size())).text("d").text(op.suffix).text("(");
  out.text(spec.quantized ? "q" : "").text(ir::info(spec.dtype).spec_name).text("[");
  if (!batch.empty()) out.text(batch).text(",");
  out.number(spec.channels);
  for (const SpecDim& dim : spec.dims) out.text(",").number(dim.input);
  out.text("]");
  if (spec.layout != Layout::nchw) out.text(":").text(layout_name(spec.layout));
  for (const Keyword& keyword : keywords()) {
    if (!keyword.is_set(spec)) continue;
    out.text(", ").text(keyword.name).text("=");
    keyword.print(out, spec);
  }
  return out.text(")").result();
}

}  // namespace

std::string print(const PoolSpec& spec) {
  if (!spec.batch) return print_with_batch(spec, "");
  const fmt::format_int batch(*spec.batch);
  return print_with_batch(spec, {batch.data(), batch.size()});
}

std::string signature(const PoolSpec& spec) {
  // Packed and unbatched, it is the kernel of a batch. With explicit strides only the number of strides
  // tells.
  const bool is_packed = spec.strides.empty() && spec.output_strides.empty();
  return print_with_batch(spec, spec.batch || is_packed ? "N" : "");
}

}  // namespace pooljit::frontend
