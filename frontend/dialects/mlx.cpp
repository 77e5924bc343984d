// MLX: channels lie last, in memory and in the dims; an average includes its padding.
//   mlx.MaxPool2d(float32[8,32,32,4], kernel_size=2, stride=2)
//   mlx.nn.MaxPool2d(2, stride=2)(float32[8,32,32,4])
#include "frontend/dialects.h"
#include "frontend/dialects/torch_words.h"

namespace pooljit::frontend {

namespace {

using enum Key;

constexpr Operator modules[] = {
    make_operator("MaxPool", "", ir::Reduction::max, ir::Direction::forward, Form::window,
                  {kernel_size, stride, padding}, 0),
    make_operator("AvgPool", "", ir::Reduction::avg, ir::Direction::forward, Form::window,
                  {kernel_size, stride, padding}, 0),
};

}  // namespace

ir::Result<PoolSpec> parse_mlx(std::string_view text) {
  ParsedCall call;
  if (auto error = parse_call(text, call, Forms::call_or_module))
    return tl::unexpected<ir::Error>(std::move(*error));
  for (const std::string_view prefix : {"mlx.", "nn."}) drop_prefix(call.name, prefix);
  return read_call(call, {.operators = modules, .order = DimOrder::channels_last, .may_lack_batch = false});
}

ir::Result<std::string> print_mlx(const PoolSpec& spec) {
  const Operator* op = find_operator(modules, spec);
  if (op == nullptr) return no_operator("mlx", spec);
  return "mlx." + print_call(spec, *op, DimOrder::channels_last, batch_text(spec));
}

}  // namespace pooljit::frontend
