// Epilogues: steps that a reduced value goes through before it is stored, from the table ir/epilogue.def.
// docs/semantics.md defines them to the last bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "ir/dtype.h"

namespace pooljit::ir {

enum class StepKind : uint8_t {
#define STEP(name, ...) name,
#include "ir/epilogue.def"
#undef STEP
};

enum class PartKind : uint8_t {
#define PART(name, ...) name,
#include "ir/epilogue.def"
#undef PART
};

// One operation of a step, with one argument at most: of its numbers, or where it has none of its operands.
struct StepPart {
  PartKind kind;
  size_t argument;
};

struct PartInfo {
  PartKind kind;
  bool takes_argument;
};

inline constexpr PartInfo part_table[] = {
#define PART(name, argument, equation) {PartKind::name, (argument) != 0},
#include "ir/epilogue.def"
#undef PART
};

constexpr const PartInfo& info(PartKind kind) { return part_table[static_cast<size_t>(kind)]; }

// The parts of a step, in their order.
class StepParts {
 public:
  constexpr StepParts(std::initializer_list<StepPart> parts) {
    for (const StepPart& part : parts) parts_[size_++] = part;
  }

  constexpr const StepPart* begin() const { return parts_.data(); }
  constexpr const StepPart* end() const { return parts_.data() + size_; }
  constexpr bool have(PartKind kind) const {
    for (const StepPart& part : *this)
      if (part.kind == kind) return true;
    return false;
  }

 private:
  std::array<StepPart, 3> parts_ = {};
  size_t size_ = 0;
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
  StepParts parts;
  // The steps behind it compute with integers, and need the output's dtype to be one.
  constexpr bool makes_integers() const { return parts.have(PartKind::store); }
};

namespace parts {
#define PART(name, ...) \
  constexpr StepPart name(size_t argument = 0) { return {PartKind::name, argument}; }
#include "ir/epilogue.def"
#undef PART

inline constexpr StepInfo steps[] = {
#define STEP(name, text, arguments, numbers, dtype, operands, equation, ...) \
  {StepKind::name, text, arguments, numbers, (dtype) != 0, operands, equation, {__VA_ARGS__}},
#include "ir/epilogue.def"
#undef STEP
};
}  // namespace parts

inline constexpr std::span<const StepInfo> step_table = parts::steps;

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
