#include "ir/verify_inst.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/op_rules.h"
#include "ir/text.h"

namespace pooljit::ir {
namespace {

using Maybe = std::optional<Violation>;
using Kind = Type::Kind;

Maybe wrong_type(std::string_view what, const Type& type, std::string_view wanted) {
  return Violation{ProgramRule::type, fmt::format("{} is {}, not {}", what, print(type), wanted)};
}

// Where a row says T, these ops take masks as well as vectors.
bool takes_masks(Op op) { return op == Op::and_ || op == Op::or_; }

// Binds T to the first type that a row calls T, and holds the others to it.
class TypeRule {
 public:
  explicit TypeRule(Op op) : op_(op) {}

  Maybe check(std::string_view rule, std::string_view what, const Type& type) {
    const bool is_vec = type.kind == Kind::vec;
    if (rule == "index") return type.kind == Kind::index ? Maybe() : wrong_type(what, type, "an index");
    if (rule == "ptr") return type.kind == Kind::ptr ? Maybe() : wrong_type(what, type, "a pointer");
    if (rule == "mask") return mask(what, type);
    if (rule.starts_with("int ") && (!is_vec || is_float(type.dtype)))
      return wrong_type(what, type, "a vector of integers");
    if (rule.starts_with("int16 ") && (!is_vec || is_float(type.dtype) || info(type.dtype).bits != 16))
      return wrong_type(what, type, "a vector of integers of 16 bits");
    if (rule.starts_with("uint64 ") && (!is_vec || type.dtype != DType::u64))
      return wrong_type(what, type, "a vector of uint64");
    if (rule.starts_with("float ") && (!is_vec || !is_float(type.dtype)))
      return wrong_type(what, type, "a vector of floats");
    if (rule.ends_with("vec")) return is_vec ? Maybe() : wrong_type(what, type, "a vector");
    return same(what, type);
  }

 private:
  Maybe same(std::string_view what, const Type& type) {
    if (!bound_) {
      if (type.kind != Kind::vec && !(type.kind == Kind::mask && takes_masks(op_)))
        return wrong_type(what, type, "a vector");
      bound_ = type;
      return check_masks();
    }
    return type == *bound_ ? Maybe() : wrong_type(what, type, print(*bound_));
  }

  // A mask may come before what it guards.
  Maybe mask(std::string_view what, const Type& type) {
    if (type.kind != Kind::mask) return wrong_type(what, type, "a mask");
    mask_ = type;
    return check_masks();
  }

  Maybe check_masks() const {
    if (!mask_ || !bound_ || *mask_ == bound_->mask_of()) return {};
    return wrong_type("the mask", *mask_, print(bound_->mask_of()));
  }

  Op op_;
  std::optional<Type> bound_, mask_;
};

Maybe check_cvt(DType from, DType to, bool saturate) {
  const int from_bits = info(from).bits, to_bits = info(to).bits;
  const auto wide_signed = [](DType dtype) { return is_signed_int(dtype) && bytes(dtype) >= 4; };
  bool good = !saturate;
  if (is_half(from) || is_half(to))
    good = good && (is_half(from) ? to : from) == DType::f32;
  else if (is_float(from) && is_float(to))
    good = good && from != to;
  else if (is_float(from) || is_float(to))
    good = good && wide_signed(is_float(from) ? to : from);
  else
    good = from_bits != to_bits && (!saturate || to_bits < from_bits);
  if (good) return {};
  return Violation{ProgramRule::cvt, fmt::format("there is no conversion from {} to {}{}", info(from).text,
                                                 info(to).text, saturate ? " that saturates" : "")};
}

// Halves may be moved about and converted.
Maybe check_halves(const Program& program, const Inst& inst) {
  const std::string_view group = info(inst.op).group;
  const bool computes =
      group == "arithmetic" || inst.op == Op::cmp || inst.op == Op::and_ || inst.op == Op::or_;
  for (size_t i = 0; computes && i < inst.args.size(); ++i) {
    const Type& type = program.type(inst.args[i]);
    if (type.kind == Kind::vec && is_half(type.dtype))
      return Violation{ProgramRule::half, fmt::format("operand %{} is {}", inst.args[i], print(type))};
  }
  return {};
}

// Rules for an op's types that ops.def's words do not say.
Maybe check_relations(const Inst& inst, const Type& result, const Type& operand) {
  switch (inst.op) {
    case Op::shuffle:
      if (result.dtype != operand.dtype) return wrong_type("the result", result, "of the operands' dtype");
      return {};
    case Op::bitcast:
      if (result.vector_bytes() != operand.vector_bytes())
        return wrong_type("the result", result, "as large as the operand");
      return {};
    case Op::cvt:
      if (result.lanes != operand.lanes) return wrong_type("the result", result, "of the operand's lanes");
      return check_cvt(operand.dtype, result.dtype, inst.saturate);
    default:
      return {};
  }
}

Maybe check_list(std::string_view what, TypeRule& types, const Program& program, const ValueRules& rules,
                 const Values& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueRule& rule = rules[std::min(i, rules.size() - 1)];
    if (rule.repeats) break;  // loop and end: their pairs are checked together
    const std::string name = fmt::format("{} %{}", what, values[i]);
    if (auto found = types.check(rule.type, name, program.type(values[i]))) return found;
  }
  return {};
}

Maybe check_lanes(Isa isa, const Type& type) {
  if (type.kind == Kind::index || type.kind == Kind::ptr) return {};
  const bool good = type.lanes > 0 && std::has_single_bit(static_cast<unsigned>(type.lanes)) &&
                    type.lanes <= info(isa).vector_bytes / bytes(type.dtype);
  if (good) return {};
  return Violation{ProgramRule::lanes, fmt::format("{} on {}", print(type), info(isa).text)};
}

Maybe bad_data(std::string message) { return Violation{ProgramRule::data, std::move(message)}; }

Maybe check_data(const Program& program, const Inst& inst) {
  const Type& type = program.type(inst.results[0]);
  if (std::ssize(inst.data) != type.lanes)
    return bad_data(fmt::format("{} entries for {} lanes", inst.data.size(), type.lanes));
  int64_t choices = 2;  // vmask's
  if (inst.op == Op::shuffle) {
    choices = 0;
    for (Value arg : inst.args) choices += program.type(arg).lanes;
  }
  for (int64_t lane : inst.data) {
    if (inst.op == Op::vconst && lane != lane_bits(type.dtype, lane))
      return bad_data(fmt::format("{:#x} has bits beyond a lane of {}", lane, info(type.dtype).text));
    if (inst.op != Op::vconst && (lane < 0 || lane >= choices))
      return bad_data(fmt::format("{} is not from 0 to {}", lane, choices - 1));
  }
  return {};
}

Maybe check_immediate(const Program& program, const Inst& inst, Attribute attribute) {
  const int64_t end = attribute == Attribute::slot ? std::ssize(program.params)
                                                   : info(program.type(inst.results[0]).dtype).bits;
  if (inst.imm >= 0 && inst.imm < end) return {};
  return Violation{ProgramRule::immediate, fmt::format("{} is not from 0 to {}", inst.imm, end - 1)};
}

}  // namespace

std::optional<Violation> check_types(const Program& program, const Inst& inst) {
  for (Value result : inst.results)
    if (auto found = check_lanes(program.isa, program.type(result))) return found;
  const OpRule& op = rule(inst.op);
  if (inst.op == Op::param) {
    const auto slot = static_cast<size_t>(inst.imm);
    if (slot >= program.params.size()) return {};  // an immediate's mistake
    const bool wants_index = is_index(program.params[slot].role);
    return TypeRule(inst.op).check(wants_index ? "index" : "ptr", "the result",
                                   program.type(inst.results[0]));
  }
  TypeRule types(inst.op);
  if (auto found = check_list("operand", types, program, op.args, inst.args)) return found;
  if (auto found = check_list("result", types, program, op.results, inst.results)) return found;
  if (auto found = check_halves(program, inst)) return found;
  if (inst.results.empty() || inst.args.empty()) return {};
  return check_relations(inst, program.type(inst.results[0]), program.type(inst.args[0]));
}

std::optional<Violation> check_attributes(const Program& program, const Inst& inst) {
  const OpRule& op = rule(inst.op);
  const bool has_imm = op.attribute == Attribute::slot || op.attribute == Attribute::integer ||
                       op.attribute == Attribute::bits;
  const auto unused = [](std::string_view field) {
    return Violation{ProgramRule::attribute, fmt::format("the op does not use its {}", field)};
  };
  if (!op.has_address && inst.addr != Address{}) return unused("address");
  if (!has_imm && inst.imm != 0) return unused("immediate");
  if (op.attribute != Attribute::lanes && !inst.data.empty()) return unused("lane list");
  if (op.attribute != Attribute::predicate && inst.pred != Predicate::eq) return unused("predicate");
  if (op.attribute != Attribute::saturate && inst.saturate) return unused("saturate");
  if (op.attribute != Attribute::non_temporal && inst.non_temporal) return unused("non_temporal");
  switch (op.attribute) {
    case Attribute::lanes:
      return check_data(program, inst);
    case Attribute::slot:
    case Attribute::bits:
      return check_immediate(program, inst, op.attribute);
    default:
      return {};
  }
}

}  // namespace pooljit::ir
