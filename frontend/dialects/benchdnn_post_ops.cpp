#include "frontend/dialects/benchdnn_post_ops.h"

#include <algorithm>
#include <iterator>

#include "frontend/rules.h"
#include "ir/parse_number.h"

namespace pooljit::frontend {

namespace {

using ir::StepKind;

constexpr Choosable<ir::DType> dtypes[] = {
    {"f32", ir::DType::f32}, {"f64", ir::DType::f64}, {"f16", ir::DType::f16}, {"bf16", ir::DType::bf16},
    {"s8", ir::DType::i8},   {"u8", ir::DType::u8},   {"s32", ir::DType::i32},
};

// How many elements the second operand of a binary post-op has.
enum class Policy : uint8_t { number, channel, tensor };
constexpr Choosable<Policy> policies[] = {
    {"per_oc", Policy::channel},    {"per_dim_1", Policy::channel}, {"2", Policy::channel},
    {"per_tensor", Policy::tensor}, {"common", Policy::number},     {"0", Policy::number},
};

// Post-ops that are steps. The first row of a step prints it.
struct PostOp {
  std::string_view name;
  bool is_binary;
  Policy policy;
  StepKind step;
};
constexpr PostOp table[] = {
    {"relu", false, {}, StepKind::relu},
    {"clip", false, {}, StepKind::clamp},
    {"clip_v2", false, {}, StepKind::clamp},  // another gradient
    {"linear", false, {}, StepKind::scale},
    {"add", true, Policy::tensor, StepKind::add},
    {"add", true, Policy::channel, StepKind::add_channel},
    {"mul", true, Policy::tensor, StepKind::mul},
    {"mul", true, Policy::channel, StepKind::mul_channel},
};

using Fields = FixedList<Word, 5>;  // between colons

Broken refuse(Rule rule, const Word& word) {
  return broken(rule, fmt::format("got the post-op {}", quote(word.text, word.at)),
                "relu, clip:LO:HI, linear:A:B, add and mul of DT:per_tensor and of f32:per_oc are steps")
      .value();
}

// Splits at a character; false if there are too many parts.
bool split(const Word& word, char separator, Fields& parts) {
  for (size_t begin = 0; begin <= word.text.size();) {
    const size_t end = std::min(word.text.find(separator, begin), word.text.size());
    if (!push(parts, {word.text.substr(begin, end - begin), word.at + begin})) return false;
    begin = end + 1;
  }
  return true;
}

// alpha and beta, 0 unless they are given.
Broken read_eltwise(const Word& word, const Fields& fields, ir::EpilogueStep& step) {
  std::array<double, 2> numbers = {};
  for (size_t i = 1; i < fields.size(); ++i) {
    if (i > numbers.size() || !ir::parse_number(fields[i].text, numbers[i - 1]))
      return refuse(Rule::benchdnn, word);
  }
  if (step.kind != StepKind::relu)
    step.numbers = numbers;
  else if (numbers[0] != 0)  // a slope below 0
    return refuse(Rule::unsupported_option, word);
  return std::nullopt;
}

Broken read_binary(const Word& word, const Fields& fields, const PoolSpec& spec, ir::EpilogueStep& step) {
  const auto dtype = fields.size() < 2 ? std::nullopt : benchdnn_dtype(fields[1].text);
  if (!dtype) return refuse(Rule::benchdnn, word);
  const Word of_all{"common", 0};
  const Word& named = fields.size() < 3 ? of_all : fields[2];
  const auto policy = std::find_if(std::begin(policies), std::end(policies),
                                   [&](const auto& row) { return row.name == named.text; });
  const bool has_layout = fields.size() > 3 && fields[3].text != "any";
  if (policy == std::end(policies) || has_layout) return refuse(Rule::unsupported_option, word);
  const auto row = std::find_if(std::begin(table), std::end(table), [&](const PostOp& post_op) {
    return post_op.name == fields[0].text && post_op.policy == policy->value;
  });
  // An array has the type that steps compute in.
  const bool is_array = policy->value == Policy::channel;
  if (row == std::end(table) || (is_array && dtype != ir::epilogue_dtype(spec.dtype, false)))
    return refuse(Rule::unsupported_option, word);
  step.kind = row->step;
  if (!is_array) step.dtype = dtype;
  return std::nullopt;
}

Broken read_post_op(const Word& word, PoolSpec& spec) {
  Fields fields;
  if (!split(word, ':', fields)) return refuse(Rule::benchdnn, word);
  const auto row = std::find_if(std::begin(table), std::end(table),
                                [&](const PostOp& post_op) { return post_op.name == fields[0].text; });
  if (row == std::end(table)) return refuse(Rule::unsupported_option, word);
  ir::EpilogueStep& step = spec.epilogue.emplace_back();
  step.kind = row->step;
  return row->is_binary ? read_binary(word, fields, spec, step) : read_eltwise(word, fields, step);
}

}  // namespace

std::optional<ir::DType> benchdnn_dtype(std::string_view name) {
  for (const auto& row : dtypes)
    if (row.name == name) return row.value;
  return std::nullopt;
}

std::string_view benchdnn_dtype_name(ir::DType dtype) {
  for (const auto& row : dtypes)
    if (row.value == dtype) return row.name;
  return "";
}

Broken read_post_ops(const Word& word, PoolSpec& spec) {
  Fields post_ops;
  if (!split(word, '+', post_ops)) return refuse(Rule::epilogue, word);
  for (const Word& post_op : post_ops)
    if (auto error = read_post_op(post_op, spec)) return error;
  return std::nullopt;
}

bool print_post_ops(Printer& out, const PoolSpec& spec) {
  std::string_view before = " --attr-post-ops=";
  for (const ir::EpilogueStep& step : spec.epilogue) {
    const auto row = std::find_if(std::begin(table), std::end(table),
                                  [&](const PostOp& post_op) { return post_op.step == step.kind; });
    if (row == std::end(table)) return false;
    out.text(before).text(row->name);
    before = "+";
    for (size_t i = 0; i < info(step.kind).numbers; ++i) out.text(":").number(step.numbers[i]);
    if (!row->is_binary) continue;
    const ir::DType dtype = row->policy == Policy::channel ? ir::epilogue_dtype(spec.dtype, false)
                                                           : step.dtype.value_or(output_dtype(spec));
    out.text(":").text(benchdnn_dtype_name(dtype));
    out.text(":").text(name_of_choice<Policy>(policies, row->policy));
  }
  return true;
}

}  // namespace pooljit::frontend
