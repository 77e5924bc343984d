#include "ir/passes/address.h"

#include <limits>

#include "ir/passes/pipeline.h"

namespace pooljit::ir {
namespace {

bool fits(int64_t bytes) {
  return bytes >= std::numeric_limits<int32_t>::min() && bytes <= std::numeric_limits<int32_t>::max();
}

}  // namespace

StrengthReduction::StrengthReduction(const InstList& insts, Builder& builder, NewNames& names)
    : b_(builder), names_(names) {
  defined_.assign(b_.values(), 0);
  for (size_t i = 0; i < insts.size(); ++i) {
    for (Value result : insts[i].results) defined_[static_cast<size_t>(result)] = i;
    if (carries_pointer(insts[i].addr)) node_of_.push_back(make_node(insts[i].addr));
  }
}

// A base that is made inside the loop of a term is another one in each iteration: nothing to carry.
bool StrengthReduction::carries_pointer(const Address& address) const {
  return !address.terms.empty() && defined_at(address.base) < defined_at(address.terms[0].iv);
}

// Neighbours in a Program mostly have the same prefix.
size_t StrengthReduction::make_node(const Address& address) {
  size_t node = none;
  for (const Term& term : address.terms) {
    size_t behind = nodes_.size();
    while (behind > 0) {
      const Node& known = nodes_[behind - 1];
      if (known.last == term && known.parent == node && known.base == address.base) break;
      --behind;
    }
    if (behind == 0) {
      nodes_.push_back({address.base, node, term});
      behind = nodes_.size();
    }
    node = behind - 1;
  }
  return node;
}

Value StrengthReduction::pointer(const Node& node) const {
  return node.parent == none ? names_.of(node.base) : nodes_[node.parent].now;
}

bool StrengthReduction::rewrite(Inst& inst) {
  names_.rename_args(inst);
  if (inst.op == Op::loop) begin_loop(inst);
  if (inst.op == Op::end) end_loop(inst);
  if (inst.addr.base == no_value) return true;
  inst.addr = plain(inst.addr);
  const bool is_base = inst.op == Op::ptradd && inst.args.empty() && inst.addr.offset == 0;
  if (is_base) names_.replace(inst.results[0], inst.addr.base);
  return !is_base;
}

void StrengthReduction::begin_loop(Inst& inst) {
  open_.push_back(inst.results[0]);
  for (Node& node : nodes_) {
    if (node.last.iv != open_.back()) continue;
    inst.args.push_back(pointer(node));
    node.now = b_.define(Type::ptr());
    inst.results.push_back(node.now);
  }
}

void StrengthReduction::end_loop(Inst& inst) {
  for (const Node& node : nodes_) {
    if (node.last.iv != open_.back()) continue;
    inst.args.push_back(moved(node.now, node.last.bytes));
    inst.results.push_back(b_.define(Type::ptr()));
  }
  open_.pop_back();
}

// The same place without terms.
Address StrengthReduction::plain(const Address& address) {
  Value base = names_.of(address.base);
  if (carries_pointer(address)) {
    base = nodes_[node_of_[next_address_++]].now;
  } else {
    for (const Term& term : address.terms) {
      const Value bytes = b_.imul(term.iv, b_.iconst(term.bytes));
      base = b_.ptradd({base, {}, 0}, bytes);
    }
  }
  if (fits(address.offset)) return {base, {}, address.offset};
  return {moved(base, address.offset), {}, 0};
}

Value StrengthReduction::moved(Value base, int64_t bytes) {
  return fits(bytes) ? b_.ptradd({base, {}, bytes}) : b_.ptradd({base, {}, 0}, b_.iconst(bytes));
}

Program address(Program program) {
  NewNames names(program);
  InstList insts = std::move(program.insts);
  Builder builder(std::move(program));
  StrengthReduction addresses(insts, builder, names);
  for (size_t i = 0; i < insts.size(); ++i)
    if (addresses.rewrite(insts[i])) builder.keep(insts.take(i));
  Program addressed = builder.finish();
  addressed.stage = Stage::addressed;
  return addressed;
}

}  // namespace pooljit::ir
