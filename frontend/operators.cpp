#include "frontend/operators.h"

#include <fmt/format.h>

namespace pooljit::frontend {

namespace {

constexpr KeySet window = set_of(Key::kernel_size, Key::stride, Key::padding, Key::dilation, Key::ceil_mode);
constexpr KeySet tensors =
    set_of(Key::epilogue, Key::output_dtype, Key::output_layout, Key::strides, Key::output_strides);
constexpr KeySet views = tensors & ~set_of(Key::output_dtype);
constexpr KeySet extremum = set_of(Key::nan, Key::zeros);
constexpr KeySet index = set_of(Key::index_dtype, Key::index_scope, Key::storage_order);
constexpr KeySet quantized = set_of(Key::scale, Key::zero_point);
constexpr KeySet requantized = quantized | set_of(Key::output_scale, Key::output_zero_point);
constexpr KeySet minimum = extremum | index | set_of(Key::return_indices);
constexpr KeySet maximum = minimum | quantized;
constexpr KeySet rounded = requantized | set_of(Key::rounding);
constexpr KeySet average = rounded | set_of(Key::count_include_pad, Key::divisor_override);

constexpr auto max = ir::Reduction::max, min = ir::Reduction::min, avg = ir::Reduction::avg,
               sum = ir::Reduction::sum, lp = ir::Reduction::lp, prod = ir::Reduction::prod;
constexpr auto forward = ir::Direction::forward, backward = ir::Direction::backward,
               unpool = ir::Direction::unpool;
using enum Key;

// The first row that suits a spec prints it.
constexpr Operator operator_table[] = {
    make_operator("quantized_max_pool", "", max, forward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode}, window | maximum | tensors),
    make_operator("quantized_avg_pool", "", avg, forward, Form::window,
                  {kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override},
                  window | average | tensors),
    make_operator("max_pool", "", max, forward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode, return_indices},
                  window | maximum | tensors),
    make_operator("avg_pool", "", avg, forward, Form::window,
                  {kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override},
                  window | average | tensors),
    make_operator("min_pool", "", min, forward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode, return_indices},
                  window | minimum | tensors),
    make_operator("sum_pool", "", sum, forward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode}, window | tensors),
    make_operator("prod_pool", "", prod, forward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode}, window | tensors),
    make_operator("lp_pool", "", lp, forward, Form::window, {norm_type, kernel_size, stride, ceil_mode},
                  window | tensors | set_of(norm_type)),
    make_operator("adaptive_max_pool", "", max, forward, Form::adaptive, {output_size, return_indices},
                  maximum | tensors | set_of(output_size)),
    make_operator("adaptive_avg_pool", "", avg, forward, Form::adaptive, {output_size},
                  rounded | tensors | set_of(output_size)),
    make_operator("global_max_pool", "", max, forward, Form::global, {}, maximum | tensors),
    make_operator("global_avg_pool", "", avg, forward, Form::global, {}, average | tensors),
    make_operator("global_min_pool", "", min, forward, Form::global, {}, minimum | tensors),
    make_operator("global_sum_pool", "", sum, forward, Form::global, {}, tensors),
    make_operator("global_prod_pool", "", prod, forward, Form::global, {}, tensors),
    make_operator("global_lp_pool", "", lp, forward, Form::global, {norm_type}, tensors | set_of(norm_type)),
    make_operator("max_pool", "_backward", max, backward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode}, window | index | views),
    make_operator("avg_pool", "_backward", avg, backward, Form::window,
                  {kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override},
                  window | views | set_of(count_include_pad, divisor_override)),
    make_operator("min_pool", "_backward", min, backward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode}, window | index | views),
    make_operator("sum_pool", "_backward", sum, backward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode}, window | views),
    make_operator("lp_pool", "_backward", lp, backward, Form::window,
                  {norm_type, kernel_size, stride, ceil_mode}, window | views | set_of(norm_type)),
    make_operator("adaptive_max_pool", "_backward", max, backward, Form::adaptive, {output_size},
                  index | views),
    make_operator("adaptive_avg_pool", "_backward", avg, backward, Form::adaptive, {output_size}, views),
    make_operator("max_unpool", "", max, unpool, Form::unpool, {kernel_size, stride, padding, output_size},
                  index | views),
    make_operator("max_unpool", "_backward", max, backward, Form::unpool,
                  {kernel_size, stride, padding, output_size}, index | views),
};

}  // namespace

std::span<const Operator> operators() { return operator_table; }

std::string name_of(const Operator& op, size_t rank) {
  return fmt::format("{}{}d{}", op.prefix, rank, op.suffix);
}

const Operator* find_operator(std::span<const Operator> operators, const PoolSpec& spec) {
  const Form form = is_unpool(spec)     ? Form::unpool
                    : is_adaptive(spec) ? Form::adaptive
                    : spec.global       ? Form::global
                                        : Form::window;
  for (const Operator& op : operators)
    if (op.reduction == spec.reduction && op.direction == spec.direction && op.form == form &&
        (spec.quantized || !op.quantized))
      return &op;
  return nullptr;
}

const Operator& operator_of(const PoolSpec& spec) {
  const Operator* op = find_operator(spec);
  POOLJIT_CHECK(op != nullptr, "a spec of no operator");
  return *op;
}

}  // namespace pooljit::frontend
