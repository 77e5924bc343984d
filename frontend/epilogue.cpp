#include "frontend/epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "frontend/keywords.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

using ir::PartKind;

constexpr std::string_view names[] = {
#define STEP(name, text, ...) text,
#include "ir/epilogue.def"
#undef STEP
};

Broken read_step(const ListTerm& term, ir::EpilogueStep& step) {
  const auto row = std::ranges::find(ir::step_table, term.name.text, &ir::StepInfo::text);
  if (row == ir::step_table.end()) {
    const std::string_view near = nearest(term.name.text, std::begin(names), std::end(names));
    return broken(Rule::epilogue_step, fmt::format("got {}", quote(term.name.text, term.name.at)),
                  near.empty() ? fmt::format("one of {}", fmt::join(names, ", "))
                               : fmt::format("did you mean '{}'?", near))
        .value();
  }
  step.kind = row->kind;
  const auto wrong = [&] {
    return broken(Rule::epilogue,
                  fmt::format("got other arguments of {}", quote(term.name.text, term.name.at)),
                  fmt::format("write {}{}", row->text, row->arguments))
        .value();
  };
  size_t numbers = 0;
  for (const ListTerm::Argument& argument : term.arguments) {
    if (argument.word.text.empty()) {
      if (numbers == row->numbers) return wrong();
      step.numbers[numbers++] = argument.number;
      continue;
    }
    const auto type = find_tensor_type(argument.word.text);
    if (!row->takes_dtype || step.dtype || !type || type->quantized || !ir::info(type->dtype).tensor)
      return wrong();
    step.dtype = type->dtype;
  }
  return numbers == row->numbers ? Broken() : wrong();
}

// The largest number of what the steps compute in.
double largest(const PoolSpec& spec) {
  const bool is_quantized_average = spec.quantized && info(spec.reduction).divides;
  return ir::epilogue_dtype(spec.dtype, is_quantized_average) == ir::DType::f64
             ? std::numeric_limits<double>::max()
             : double{std::numeric_limits<float>::max()};
}

Broken check_requantize(const PoolSpec& spec, double scale, double zero_point) {
  const ir::DType output = output_dtype(spec);
  if (ir::is_float(output)) return broke(Rule::requantize, "got output_dtype {}", ir::info(output).spec_name);
  // Too small a scale would be 0 as a float32.
  const bool is_wide = largest(spec) > double{std::numeric_limits<float>::max()};
  if (!(is_wide ? scale > 0 : static_cast<float>(scale) > 0)) return broke(Rule::scale, "got {}", scale);
  const bool is_whole = std::abs(zero_point) <= 0x1p53 && std::nearbyint(zero_point) == zero_point;
  const int64_t number = is_whole ? static_cast<int64_t>(zero_point) : 0;
  if (!is_whole || ir::lane_bits(output, number) != number)
    return broke(Rule::zero_point, "got {}", zero_point);
  return std::nullopt;
}

Broken check_step(const PoolSpec& spec, const ir::EpilogueStep& step) {
  const auto [first, second] = step.numbers;
  const ir::StepInfo& row = info(step.kind);
  const bool is_clamp = row.parts.have(PartKind::at_least) && row.parts.have(PartKind::at_most);
  for (double number : step.numbers) {
    const bool is_bound = is_clamp && std::isinf(number);
    if (!is_bound && !(std::abs(number) <= largest(spec)))
      return broke(Rule::epilogue_number, "got {}", number);
  }
  if (is_clamp && !(first <= second)) return broke(Rule::clamp, "got clamp({},{})", first, second);
  if (row.makes_integers()) return check_requantize(spec, first, second);
  return std::nullopt;
}

}  // namespace

Broken read_epilogue(const ArgumentValue& value, std::vector<ir::EpilogueStep>& steps) {
  const bool is_empty = value.kind == ArgumentValue::Kind::list && value.integers.empty();
  if (!is_empty && value.kind != ArgumentValue::Kind::terms)
    return wrong_kind(value, "a list of steps like [relu, clamp(0,6)]");
  steps.clear();
  if (is_empty) return std::nullopt;
  for (const ListTerm& term : terms_of(value)) {
    ir::EpilogueStep& step = steps.emplace_back();
    if (auto error = read_step(term, step)) return error;
  }
  return std::nullopt;
}

void print_epilogue(Printer& out, const std::vector<ir::EpilogueStep>& steps) {
  std::string_view before = "[";
  for (const ir::EpilogueStep& step : steps) {
    const ir::StepInfo& row = info(step.kind);
    out.text(before).text(row.text);
    for (size_t i = 0; i < row.numbers; ++i) out.text(i == 0 ? "(" : ",").number(step.numbers[i]);
    if (step.dtype) out.text("(").text(ir::info(*step.dtype).spec_name);
    if (row.numbers > 0 || step.dtype) out.text(")");
    before = ", ";
  }
  out.text("]");
}

Broken check_epilogue(const PoolSpec& spec) {
  if (spec.epilogue.size() > ir::most_steps)
    return broke(Rule::epilogue, "got {} steps", spec.epilogue.size());
  for (const ir::EpilogueStep& step : spec.epilogue)
    if (auto error = check_step(spec, step)) return error;
  return std::nullopt;
}

void normalise_epilogue(PoolSpec& spec) {
  for (ir::EpilogueStep& step : spec.epilogue) {
    if (step.dtype == output_dtype(spec)) step.dtype.reset();
    for (size_t i = 0; i < step.numbers.size(); ++i)  // -0 reads back as 0
      if (step.numbers[i] == 0 || i >= info(step.kind).numbers) step.numbers[i] = 0;
  }
}

}  // namespace pooljit::frontend
