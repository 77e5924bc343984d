// The strings of ops.def as data, for the printer, the parser and the verifier.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/program.h"

namespace pooljit::ir {

// One operand or result: "T", "mask?", "init...".
struct ValueRule {
  std::string_view type;  // "index" | "ptr" | "T" | "int T" | "int16 T" | "uint64 T" | "float T" | "vec" |
                          // "int vec" | "mask" | ...
  bool optional = false;
  bool repeats = false;
};

// The fields of an Inst beside its operands, by op.
enum class Attribute : uint8_t { none, slot, integer, bits, lanes, predicate, saturate, non_temporal };

// The rules of an op's operands, or of its results.
class ValueRules {
 public:
  constexpr void push_back(const ValueRule& rule) { rules_.at(size_++) = rule; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const ValueRule& operator[](size_t i) const { return rules_[i]; }
  constexpr const ValueRule& back() const { return rules_[size_ - 1]; }
  constexpr const ValueRule* begin() const { return rules_.data(); }
  constexpr const ValueRule* end() const { return rules_.data() + size_; }

 private:
  std::array<ValueRule, 3> rules_;
  size_t size_ = 0;
};

struct OpRule {
  bool has_address = false;
  ValueRules args, results;
  Attribute attribute = Attribute::none;

  size_t least_args() const;
  bool takes(size_t args_given) const;
};
const OpRule& rule(Op op);

// The text of enumerators that are not rows of a table.
std::string_view text(Predicate pred);
std::string_view text(Stage stage);
std::string_view text(Param::Role role);
std::optional<Op> find_op(std::string_view text);
std::optional<Predicate> find_predicate(std::string_view text);
std::optional<Stage> find_stage(std::string_view text);
std::optional<Param::Role> find_role(std::string_view text);

// A role that names an operand, a table, a size or a task dimension by its number, and one whose word is an
// index.
constexpr bool has_number(Param::Role role) { return role >= Param::Role::operand; }
constexpr bool is_index(Param::Role role) { return role >= Param::Role::begin; }

}  // namespace pooljit::ir
