#include "tools/plain_pool.h"

#include <algorithm>

#include "tools/view.h"

namespace pooljit::tools {

PlainDim plain_dim(const ir::NestDim& dim) {
  return {.input = dim.input,
          .output = dim.output,
          .kernel = dim.kind == ir::DimKind::adaptive ? 0 : dim.kernel,
          .stride = dim.stride,
          .dilation = dim.dilation,
          .pad_begin = dim.pad_begin,
          .limit = dim.visible_input(),
          .padded = dim.input + dim.pad_end};
}

namespace {

PlainView plain_view(const ir::View& view) {
  PlainView plain = {.image = view.batch_stride, .channel = view.channel_stride};
  std::ranges::copy(view.strides, plain.dims + (3 - view.strides.size()));
  return plain;
}

}  // namespace

PlainPool plain_pool(const frontend::PoolSpec& spec) {
  ir::PoolNest nest = make_nest(spec);
  if (nest.is_backward()) nest = forward_of(nest);
  PlainPool pool;
  pool.type = static_cast<PlainType>(spec.dtype);  // both are the rows of one table
  pool.reduction = static_cast<PlainReduction>(spec.reduction);
  pool.channels_last = spec.layout == frontend::Layout::nhwc;
  pool.writes_channels_last = output_layout(spec) == frontend::Layout::nhwc;
  pool.count_include_pad = spec.count_include_pad;
  pool.nan_wins = spec.nan == ir::NanRule::propagate;
  pool.rounds_half_away = spec.rounding == ir::RoundingRule::half_away;
  pool.norm_type = spec.norm_type;
  pool.divisor = spec.divisor_override.value_or(0);
  pool.batch = spec.batch.value_or(1);
  pool.channels = spec.channels;
  std::fill_n(pool.dims, 3, plain_dim(ir::NestDim{}));
  std::transform(nest.dims.begin(), nest.dims.end(), pool.dims + (3 - nest.dims.size()), plain_dim);
  // Epilogues are another pass, over a packed tensor, and unpools have a loop of their own.
  frontend::PoolSpec written = spec;
  if (!spec.epilogue.empty()) written.output_strides.clear();
  pool.writes_view = !is_unpool(spec) && !output_view(written).packed();
  pool.is_view = pool.writes_view || !input_view(spec).packed();
  pool.from = plain_view(make_nest(spec).input);
  pool.to = plain_view(make_nest(written).output);
  return pool;
}

bool has_plain_epilogue(const frontend::PoolSpec& spec) {
  if (spec.epilogue.empty()) return true;
  const ir::PoolNest nest = make_nest(spec);
  const std::vector<ir::View> operands = operand_views(nest);
  return nest.result_dtype() == spec.dtype &&
         std::all_of(operands.begin(), operands.end(),
                     [&](const ir::View& view) { return view.dtype == spec.dtype; });
}

PlainEpilogue plain_epilogue(const frontend::PoolSpec& spec) {
  PlainEpilogue epilogue;
  epilogue.is_double = spec.dtype == ir::DType::f64;
  epilogue.channels_last = output_layout(spec) == frontend::Layout::nhwc;
  epilogue.channels = spec.channels;
  int64_t elements = 1, planes = spec.batch.value_or(1) * spec.channels;
  for (int64_t extent : output_shape(spec)) elements *= extent;
  epilogue.row = epilogue.channels_last ? spec.channels : elements / planes;
  epilogue.rows = elements / epilogue.row;
  for (const ir::EpilogueStep& step : spec.epilogue)
    for (const ir::StepPart& part : info(step.kind).parts)
      epilogue.part[epilogue.parts++] = {.kind = static_cast<PlainPartKind>(part.kind),
                                         .number = step.numbers[part.argument]};
  return epilogue;
}

PlainUnpool plain_unpool(const frontend::PoolSpec& spec) {
  const ir::PoolNest nest = make_nest(spec);
  PlainUnpool unpool{.element_bytes = ir::bytes(spec.dtype),
                     .channels_last = spec.layout == frontend::Layout::nhwc,
                     .gathers = spec.unpool_gradient,
                     .batch = spec.batch.value_or(1),
                     .channels = spec.channels};
  for (const ir::NestDim& dim : nest.dims) unpool.values *= dim.input, unpool.places *= dim.output;
  if (unpool.gathers) std::swap(unpool.values, unpool.places);
  return unpool;
}

}  // namespace pooljit::tools
