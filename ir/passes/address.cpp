// address: loop terms become carried pointers (strength reduction).
//
// Every prefix of an address's terms, base + iv0 * s0 + ... + ivk * sk, is a node. Node k is carried through
// the loop of ivk: it starts as node k-1 is at that place and moves by sk. Addresses with equal prefixes
// share nodes; what is left of an address is its constant offset.
#include <limits>

#include "ir/builder.h"
#include "ir/check.h"
#include "ir/inst_lists.h"
#include "ir/passes/names.h"
#include "ir/passes/pipeline.h"

namespace pooljit::ir {
namespace {

constexpr int none = -1;

struct Node {
  Value base;  // of the whole prefix
  int parent;  // the prefix without its last term; none: base itself
  Term last;
  Value now = no_value;  // the pointer, while the loop is open
};

class StrengthReduction {
 public:
  explicit StrengthReduction(Program program)
      : names_(program), insts_(std::move(program.insts)), b_(std::move(program)) {
    find_nodes();
  }

  Program run() {
    for (Inst& inst : insts_) {
      names_.rename_args(inst);
      rewrite(inst);
    }
    give_back(std::move(insts_));
    Program program = b_.finish();
    program.stage = Stage::addressed;
    return program;
  }

 private:
  // ---------------------------------------------------------------------------------------------- nodes
  void find_nodes() {
    defined_.assign(b_.values(), 0);
    for (size_t i = 0; i < insts_.size(); ++i) {
      for (Value result : insts_[i].results) defined_[static_cast<size_t>(result)] = i;
      if (carries_pointer(insts_[i].addr)) node_of(insts_[i].addr, /*make=*/true);
    }
  }

  // A base that is made inside the loop of a term is another one in each iteration: nothing to carry.
  bool carries_pointer(const Address& address) const {
    return !address.terms.empty() && defined_at(address.base) < defined_at(address.terms[0].iv);
  }
  size_t defined_at(Value value) const { return defined_[static_cast<size_t>(value)]; }

  int node_of(const Address& address, bool make) {
    int node = none;
    for (const Term& term : address.terms) {
      size_t i = 0;
      while (i < nodes_.size() &&
             !(nodes_[i].base == address.base && nodes_[i].parent == node && nodes_[i].last == term))
        ++i;
      if (i == nodes_.size()) {
        POOLJIT_CHECK(make, "an address that the pass has not seen");
        nodes_.push_back({address.base, node, term});
      }
      node = static_cast<int>(i);
    }
    return node;
  }

  Value pointer(const Node& node) const {
    return node.parent == none ? names_.of(node.base) : nodes_[static_cast<size_t>(node.parent)].now;
  }

  // ---------------------------------------------------------------------------------------------- code
  void rewrite(Inst& inst) {
    switch (inst.op) {
      case Op::loop:
        return begin_loop(inst);
      case Op::end:
        return end_loop(inst);
      case Op::ptradd:
        return rewrite_ptradd(inst);
      default:
        if (inst.addr.base != no_value) inst.addr = plain(inst.addr);
        b_.keep(std::move(inst));
    }
  }

  void begin_loop(Inst& inst) {
    open_.push_back(inst.results[0]);
    for (Node& node : nodes_) {
      if (node.last.iv != open_.back()) continue;
      inst.args.push_back(pointer(node));
      node.now = b_.define(Type::ptr());
      inst.results.push_back(node.now);
    }
    b_.keep(std::move(inst));
  }

  void end_loop(Inst& inst) {
    for (const Node& node : nodes_) {
      if (node.last.iv != open_.back()) continue;
      inst.args.push_back(moved(node.now, node.last.bytes));
      inst.results.push_back(b_.define(Type::ptr()));
    }
    open_.pop_back();
    b_.keep(std::move(inst));
  }

  // A pointer without an offset is its base.
  void rewrite_ptradd(Inst& inst) {
    inst.addr = plain(inst.addr);
    if (inst.args.empty() && inst.addr.offset == 0)
      names_.replace(inst.results[0], inst.addr.base);
    else
      b_.keep(std::move(inst));
  }

  // The same place without terms.
  Address plain(const Address& address) {
    Value base = names_.of(address.base);
    if (carries_pointer(address)) {
      base = nodes_[static_cast<size_t>(node_of(address, /*make=*/false))].now;
    } else {
      for (const Term& term : address.terms)
        base = b_.ptradd({base, {}, 0}, b_.imul(term.iv, b_.iconst(term.bytes)));
    }
    if (fits(address.offset)) return {base, {}, address.offset};
    return {moved(base, address.offset), {}, 0};
  }

  Value moved(Value base, int64_t bytes) {
    return fits(bytes) ? b_.ptradd({base, {}, bytes}) : b_.ptradd({base, {}, 0}, b_.iconst(bytes));
  }

  static bool fits(int64_t bytes) {
    return bytes >= std::numeric_limits<int32_t>::min() && bytes <= std::numeric_limits<int32_t>::max();
  }

  Names names_;
  std::vector<Inst> insts_;
  Builder b_;
  std::vector<size_t> defined_;  // index of the defining instruction, by source value
  std::vector<Node> nodes_;
  std::vector<Value> open_;  // counters of the open loops
};

}  // namespace

Program address(Program program) { return StrengthReduction(std::move(program)).run(); }

}  // namespace pooljit::ir
