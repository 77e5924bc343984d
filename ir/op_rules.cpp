#include "ir/op_rules.h"

#include <algorithm>

namespace pooljit::ir {
namespace {

constexpr std::string_view predicates[] = {"eq", "ne", "lt", "le", "gt", "ge", "un"};
constexpr std::string_view stages[] = {"affine", "addressed", "legal"};
constexpr std::string_view roles[] = {"input", "output", "indices", "scratch", "operand",
                                      "table", "size",   "begin",   "count"};

template <typename E, size_t N>
std::optional<E> find(const std::string_view (&texts)[N], std::string_view text) {
  const auto* const found = std::find(std::begin(texts), std::end(texts), text);
  if (found == std::end(texts)) return std::nullopt;
  return static_cast<E>(found - std::begin(texts));
}

constexpr std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

constexpr bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Cuts the first of a comma-separated list off.
constexpr std::string_view take_word(std::string_view& list) {
  const size_t comma = std::min(list.find(','), list.size());
  const std::string_view word = trimmed(list.substr(0, comma));
  list.remove_prefix(std::min(comma + 1, list.size()));
  return word;
}

constexpr ValueRules value_rules(std::string_view list) {
  ValueRules rules;
  while (!list.empty()) {
    ValueRule one{take_word(list)};
    one.repeats = take_suffix(one.type, "...");
    one.optional = take_suffix(one.type, "?");
    rules.push_back(one);
  }
  return rules;
}

constexpr Attribute attribute_of(Op op) {
  switch (op) {
    case Op::param:
      return Attribute::slot;
    case Op::iconst:
      return Attribute::integer;
    case Op::shl:
    case Op::shr:
      return Attribute::bits;
    case Op::vconst:
    case Op::shuffle:
    case Op::vmask:
      return Attribute::lanes;
    case Op::cmp:
      return Attribute::predicate;
    case Op::cvt:
      return Attribute::saturate;
    case Op::store:
      return Attribute::non_temporal;
    default:
      return Attribute::none;
  }
}

constexpr OpRule make_rule(Op op, std::string_view operands, std::string_view result) {
  OpRule made;
  made.has_address = operands.starts_with("addr");
  if (made.has_address) take_word(operands);
  made.args = value_rules(operands);
  made.results = value_rules(result);
  made.attribute = attribute_of(op);
  return made;
}

constexpr OpRule op_rules[] = {
#define OP(name, group, operands, result, effect, equation) make_rule(Op::name, operands, result),
#include "ir/ops.def"
#undef OP
};

}  // namespace

size_t OpRule::least_args() const {
  return static_cast<size_t>(std::count_if(
      args.begin(), args.end(), [](const ValueRule& arg) { return !arg.optional && !arg.repeats; }));
}

bool OpRule::takes(size_t args_given) const {
  const bool open_ended = !args.empty() && args.back().repeats;
  return args_given >= least_args() && (open_ended || args_given <= args.size());
}

const OpRule& rule(Op op) { return op_rules[static_cast<size_t>(op)]; }

std::string_view text(Predicate pred) { return predicates[static_cast<size_t>(pred)]; }
std::string_view text(Stage stage) { return stages[static_cast<size_t>(stage)]; }
std::string_view text(Param::Role role) { return roles[static_cast<size_t>(role)]; }

std::optional<Op> find_op(std::string_view text) {
  const auto rows = ops();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const OpInfo& row) { return row.text == text; });
  if (found == rows.end()) return std::nullopt;
  return found->op;
}
std::optional<Predicate> find_predicate(std::string_view text) { return find<Predicate>(predicates, text); }
std::optional<Stage> find_stage(std::string_view text) { return find<Stage>(stages, text); }
std::optional<Param::Role> find_role(std::string_view text) { return find<Param::Role>(roles, text); }

}  // namespace pooljit::ir
