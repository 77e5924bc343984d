// One walk over the Program in order, with the values that are visible at each point; what needs no more than
// one instruction is in ir/verify_inst.cpp.
#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ir/epilogue.h"
#include "ir/op_rules.h"
#include "ir/passes/legal.h"
#include "ir/text.h"
#include "ir/verify_inst.h"

namespace pooljit::ir {
namespace {

using Maybe = std::optional<Violation>;

constexpr VerifyRule rule_table[] = {
#define VERIFY_RULE(rule, prose) {"verify." #rule, prose},
#include "ir/verify.def"
#undef VERIFY_RULE
};

Maybe broken(ProgramRule rule, std::string message) { return Violation{rule, std::move(message)}; }

bool is_identifier(const std::string& name) {
  const auto belongs = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), belongs);
}

// Several pools of one input have an output each, and indices.
size_t numbers_of(Param::Role role, const Program& program) {
  switch (role) {
    case Param::Role::output:
    case Param::Role::indices:
    case Param::Role::size:
      return most_member_outputs;
    case Param::Role::operand:
      return most_operands;
    case Param::Role::table:
      return program.tables.size();
    case Param::Role::begin:
    case Param::Role::count:
      return program.tasks.size();
    default:
      return 1;
  }
}

Maybe check_head(const Program& program) {
  for (size_t i = 0; i < program.params.size(); ++i) {
    const Param& param = program.params[i];
    const auto first = std::find(program.params.begin(), program.params.end(), param);
    if (first != program.params.begin() + static_cast<std::ptrdiff_t>(i))
      return broken(ProgramRule::params, fmt::format("slot {} asks for what another does", i));
    if (param.number < 0 || static_cast<size_t>(param.number) >= numbers_of(param.role, program))
      return broken(ProgramRule::params, fmt::format("there is no {} {}", text(param.role), param.number));
  }
  if (program.scratch_bytes < 0 || program.scratch_bytes > most_scratch_bytes ||
      program.scratch_bytes % scratch_alignment != 0)
    return broken(ProgramRule::params, fmt::format("scratch memory of {} bytes", program.scratch_bytes));
  for (const TaskDim& task : program.tasks) {
    const auto is_same = [&](const TaskDim& other) { return other.name == task.name; };
    if (!is_identifier(task.name) || std::count_if(program.tasks.begin(), program.tasks.end(), is_same) != 1)
      return broken(ProgramRule::tasks, fmt::format("\"{}\" is not a name of its own", task.name));
    if (task.extent < 0 && task.extent != TaskDim::batch_extent && task.extent != TaskDim::size_extent &&
        task.extent != TaskDim::size_outputs)
      return broken(ProgramRule::tasks, fmt::format("{} has extent {}", task.name, task.extent));
  }
  return {};
}

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), seen_(program.types.size()), slot_of_(program.types.size(), -1) {}

  Maybe check(size_t at) {
    const Inst& inst = program_.insts[at];
    using Check = Maybe (Verifier::*)(const Inst&);
    // Each relies on those before it.
    static constexpr Check checks[] = {
        &Verifier::check_counts, &Verifier::check_uses,   &Verifier::check_loop,
        &Verifier::define,       &Verifier::check_one,    &Verifier::check_address,
        &Verifier::check_origin, &Verifier::check_memory, &Verifier::check_legal};
    is_last_ = at + 1 == program_.insts.size();
    for (Check check : checks)
      if (auto found = (this->*check)(inst)) return found;
    return {};
  }

  Maybe finish() const {
    if (program_.insts.empty()) return broken(ProgramRule::ret, "there is no ret");
    for (size_t i = 0; i < seen_.size(); ++i)
      if (seen_[i] == Seen::never) return broken(ProgramRule::ssa, fmt::format("%{} is never defined", i));
    return {};
  }

 private:
  enum class Seen : uint8_t { never, visible, gone };
  struct OpenLoop {
    const Inst* begin;
    std::vector<Value> defined;  // in its body, its own results among them
  };

  bool exists(Value value) const { return value >= 0 && value < std::ssize(program_.types); }
  Seen& seen(Value value) { return seen_[static_cast<size_t>(value)]; }
  int& slot_of(Value value) { return slot_of_[static_cast<size_t>(value)]; }

  Maybe check_counts(const Inst& inst) {
    const OpRule& op = rule(inst.op);
    if (!op.takes(inst.args.size()) || (inst.op == Op::load && inst.args.size() == 1))
      return broken(ProgramRule::operands, fmt::format("{} operands", inst.args.size()));
    const bool is_loop = inst.op == Op::loop || inst.op == Op::end;
    const size_t wanted = is_loop ? inst.args.size() : op.results.size();
    if (inst.results.size() != wanted)
      return broken(ProgramRule::operands,
                    fmt::format("{} results instead of {}", inst.results.size(), wanted));
    return {};
  }

  Maybe check_use(Value value) {
    if (!exists(value) || seen(value) == Seen::never)
      return broken(ProgramRule::ssa, fmt::format("%{} is used before it is defined", value));
    if (seen(value) == Seen::gone)
      return broken(ProgramRule::ssa, fmt::format("%{} belongs to a loop that has ended", value));
    return {};
  }

  Maybe check_uses(const Inst& inst) {
    for (Value arg : inst.args)
      if (auto found = check_use(arg)) return found;
    if (!rule(inst.op).has_address) return {};
    if (auto found = check_use(inst.addr.base)) return found;
    for (const Term& term : inst.addr.terms)
      if (auto found = check_use(term.iv)) return found;
    return {};
  }

  // Opens and closes loops; before define(), so that a loop's results are its body's, an end's are not.
  Maybe check_loop(const Inst& inst) {
    if (inst.op == Op::loop) open_.push_back({&inst, {}});
    if ((inst.op == Op::ret) != is_last_)
      return broken(ProgramRule::ret, is_last_ ? "the last instruction is not ret" : "a ret before the end");
    if (is_last_ && !open_.empty()) return broken(ProgramRule::loop, "a loop has no end");
    if (inst.op != Op::end) return {};
    if (open_.empty()) return broken(ProgramRule::loop, "there is no loop to end");
    const Inst& begin = *open_.back().begin;
    if (inst.args.size() + 1 != begin.results.size())
      return broken(ProgramRule::loop, fmt::format("{} values for {} that are carried", inst.args.size(),
                                                   begin.results.size() - 1));
    for (size_t i = 0; i < inst.args.size(); ++i)
      for (Value value : {inst.args[i], inst.results[i]})
        if (exists(value) && program_.type(value) != program_.type(begin.results[i + 1]))
          return broken(ProgramRule::loop,
                        fmt::format("%{} is {}, the carried value {}", value, print(program_.type(value)),
                                    print(program_.type(begin.results[i + 1]))));
    ended_ = open_.back();
    for (Value value : ended_.defined) seen(value) = Seen::gone;
    open_.pop_back();
    return {};
  }

  Maybe define(const Inst& inst) {
    for (Value result : inst.results) {
      if (!exists(result)) return broken(ProgramRule::ssa, fmt::format("%{} has no type", result));
      if (seen(result) != Seen::never)
        return broken(ProgramRule::ssa, fmt::format("%{} is defined twice", result));
      seen(result) = Seen::visible;
      if (!open_.empty()) open_.back().defined.push_back(result);
    }
    return {};
  }

  Maybe check_one(const Inst& inst) {
    if (inst.op == Op::loop)
      for (size_t i = 1; i < inst.args.size(); ++i)
        if (program_.type(inst.args[i]) != program_.type(inst.results[i]))
          return broken(ProgramRule::loop, fmt::format("%{} is carried as {}", inst.args[i],
                                                       print(program_.type(inst.results[i]))));
    if (auto found = check_types(program_, inst)) return found;
    return check_attributes(program_, inst);
  }

  Maybe check_address(const Inst& inst) {
    if (!rule(inst.op).has_address) return {};
    const Address& address = inst.addr;
    if (program_.type(address.base).kind != Type::Kind::ptr)
      return broken(ProgramRule::address, fmt::format("the base is {}", print(program_.type(address.base))));
    if (program_.stage != Stage::affine && address.offset != static_cast<int32_t>(address.offset))
      return broken(ProgramRule::address,
                    fmt::format("the offset {} does not fit into 32 bits", address.offset));
    if (program_.stage != Stage::affine && !address.terms.empty())
      return broken(ProgramRule::stage, "the address has terms");
    size_t depth = 0;  // where the next term's loop may be
    for (const Term& term : address.terms) {
      while (depth < open_.size() && open_[depth].begin->results[0] != term.iv) ++depth;
      if (depth++ == open_.size())
        return broken(ProgramRule::address,
                      fmt::format("%{} is no counter of an open loop inside of those before it", term.iv));
      if (term.bytes == 0)
        return broken(ProgramRule::address, fmt::format("%{} is multiplied by 0", term.iv));
    }
    return {};
  }

  // Follows pointers back to their param.
  Maybe check_origin(const Inst& inst) {
    if (inst.op == Op::param && program_.type(inst.results[0]).kind == Type::Kind::ptr)
      slot_of(inst.results[0]) = static_cast<int>(inst.imm);
    if (inst.op == Op::ptradd) slot_of(inst.results[0]) = slot_of(inst.addr.base);
    if (inst.op == Op::loop)
      for (size_t i = 1; i < inst.args.size(); ++i) slot_of(inst.results[i]) = slot_of(inst.args[i]);
    if (inst.op != Op::end) return {};
    for (size_t i = 0; i < inst.args.size(); ++i) {
      const int slot = slot_of(ended_.begin->results[i + 1]);
      if (slot_of(inst.args[i]) != slot)
        return broken(ProgramRule::pointer, fmt::format("%{} comes from slot {}, the carried pointer from {}",
                                                        inst.args[i], slot_of(inst.args[i]), slot));
      slot_of(inst.results[i]) = slot;
    }
    return {};
  }

  Maybe check_memory(const Inst& inst) {
    using Role = Param::Role;
    const bool is_access = inst.op == Op::load || inst.op == Op::store || inst.op == Op::iload;
    if (!is_access) return {};
    const Role role = program_.params[static_cast<size_t>(slot_of(inst.addr.base))].role;
    bool good = inst.op == Op::load    ? role == Role::input || role == Role::operand || role == Role::scratch
                : inst.op == Op::iload ? role == Role::table || role == Role::size
                                       : role == Role::output || role == Role::scratch;
    if (role == Role::indices && inst.op != Op::iload) {
      if (!indices_are_) indices_are_ = inst.op;
      good = *indices_are_ == inst.op;
    }
    return good ? Maybe()
                : broken(ProgramRule::memory, fmt::format("{} of the {}", info(inst.op).text, text(role)));
  }

  Maybe check_legal(const Inst& inst) {
    if (program_.stage != Stage::legal) return {};
    auto why = why_not_legal(program_, inst);
    return why ? broken(ProgramRule::legal, std::move(*why)) : Maybe();
  }

  const Program& program_;
  std::optional<Op> indices_are_;  // loaded or stored
  std::vector<Seen> seen_;         // by Value
  std::vector<int> slot_of_;       // by Value: of a pointer, the slot of its param
  std::vector<OpenLoop> open_;     // outermost first
  OpenLoop ended_{nullptr, {}};    // by the end being checked
  bool is_last_ = false;
};

tl::unexpected<Error> error(const Violation& violation, const std::string& where) {
  const VerifyRule& row = rule_table[static_cast<size_t>(violation.rule)];
  return invalid(std::string(row.id), where + violation.message, std::string(row.prose));
}

}  // namespace

std::span<const VerifyRule> verify_rules() { return rule_table; }

Result<void> verify(const Program& program) {
  if (const auto found = check_head(program)) return error(*found, "");
  Verifier verifier(program);
  for (size_t i = 0; i < program.insts.size(); ++i)
    if (const auto found = verifier.check(i))
      return error(*found, fmt::format("line {}: {}: ", lines(program)[i], print(program, program.insts[i])));
  if (const auto found = verifier.finish()) return error(*found, "");
  return {};
}

}  // namespace pooljit::ir
