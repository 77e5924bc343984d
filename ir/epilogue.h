// Epilogues: steps that a reduced value goes through before it is stored, from the table ir/epilogue.def.
// What they mean to the last bit is in docs/semantics.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/dtype.h"

namespace pooljit::ir {

enum class StepKind : uint8_t {
#define STEP(name, text, arguments, numbers, dtype, operands, equation) name,
#include "ir/epilogue.def"
#undef STEP
};

struct EpilogueStep {
  StepKind kind = StepKind::relu;
  std::array<double, 2> numbers = {};  // as the row names them
  std::optional<DType> dtype;          // of the tensor operand; absent: the output's
  bool operator==(const EpilogueStep&) const = default;
};

struct StepInfo {
  StepKind kind;
  std::string_view text, arguments;
  size_t numbers;
  bool takes_dtype;
  std::string_view operands;  // 'C': one number per channel; 'T': a tensor laid out like the output
  std::string_view equation;
};

inline constexpr StepInfo step_table[] = {
#define STEP(name, text, arguments, numbers, dtype, operands, equation) \
  {StepKind::name, text, arguments, numbers, (dtype) != 0, operands, equation},
#include "ir/epilogue.def"
#undef STEP
};

constexpr const StepInfo& info(StepKind kind) { return step_table[static_cast<size_t>(kind)]; }

inline constexpr size_t most_steps = 4;  // of one epilogue
inline constexpr size_t most_operands = 2 * most_steps;

// The type that the steps compute in: it holds the results that the reduction makes of such elements.
constexpr DType epilogue_dtype(DType input, bool is_quantized_average) {
  const bool is_wide = bytes(input) == 8 || input == DType::i32 || is_quantized_average;
  return is_wide ? DType::f64 : DType::f32;
}

constexpr size_t operand_count(std::span<const EpilogueStep> steps) {
  size_t count = 0;
  for (const EpilogueStep& step : steps) count += info(step.kind).operands.size();
  return count;
}

}  // namespace pooljit::ir
