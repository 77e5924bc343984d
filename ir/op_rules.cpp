#include "ir/op_rules.h"

#include <algorithm>
#include <array>

namespace pooljit::ir {
namespace {

constexpr std::string_view predicates[] = {"eq", "ne", "lt", "le", "gt", "ge", "un"};
constexpr std::string_view stages[] = {"affine", "addressed", "legal"};
constexpr std::string_view roles[] = {"input",   "output", "indices", "scratch",
                                      "operand", "table",  "begin",   "count"};

template <typename E, size_t N>
std::optional<E> find(const std::string_view (&texts)[N], std::string_view text) {
  const auto* const found = std::find(std::begin(texts), std::end(texts), text);
  if (found == std::end(texts)) return std::nullopt;
  return static_cast<E>(found - std::begin(texts));
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

std::vector<ValueRule> value_rules(std::string_view text) {
  std::vector<ValueRule> rules;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    ValueRule one{trimmed(text.substr(0, comma))};
    one.repeats = take_suffix(one.type, "...");
    one.optional = take_suffix(one.type, "?");
    rules.push_back(one);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return rules;
}

Attribute attribute_of(Op op) {
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

OpRule make_rule(const OpInfo& row) {
  OpRule made{false, value_rules(row.operands), value_rules(row.result), attribute_of(row.op)};
  made.has_address = !made.args.empty() && made.args.front().type == "addr";
  if (made.has_address) made.args.erase(made.args.begin());
  return made;
}

std::vector<OpRule> make_rules() {
  std::vector<OpRule> rules;
  for (const OpInfo& row : ops()) rules.push_back(make_rule(row));
  return rules;
}

}  // namespace

size_t OpRule::least_args() const {
  return static_cast<size_t>(std::count_if(
      args.begin(), args.end(), [](const ValueRule& arg) { return !arg.optional && !arg.repeats; }));
}

bool OpRule::takes(size_t args_given) const {
  const bool open_ended = !args.empty() && args.back().repeats;
  return args_given >= least_args() && (open_ended || args_given <= args.size());
}

const OpRule& rule(Op op) {
  static const std::vector<OpRule> rules = make_rules();
  return rules[static_cast<size_t>(op)];
}

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
