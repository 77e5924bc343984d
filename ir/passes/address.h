// address: loop terms become carried pointers (strength reduction).
//
// Every prefix of an address's terms, base + iv0 * s0 + ... + ivk * sk, is a node. Node k is carried through
// the loop of ivk: it starts as node k-1 is at that place and moves by sk. Addresses with equal prefixes
// share nodes; what is left of an address is its constant offset.
//
// One instruction at a time, so that a pass which rewrites all of them anyway does both in one walk.
#pragma once

#include <limits>
#include <vector>

#include "ir/builder.h"
#include "ir/passes/names.h"
#include "ir/program.h"

namespace pooljit::ir {

class StrengthReduction {
 public:
  // `insts` are those of the Program that `builder` goes on from and `names` belongs to.
  StrengthReduction(const InstList& insts, Builder& builder, NewNames& names);

  // Gives the next of the instructions its operands' names of now and an address without terms, after making
  // what it needs for that. False: it is gone, being another name of its base.
  bool rewrite(Inst& inst);

 private:
  static constexpr size_t none = std::numeric_limits<size_t>::max();
  struct Node {
    Value base;     // of the whole prefix
    size_t parent;  // the prefix without its last term; none: base itself
    Term last;
    Value now = no_value;  // the pointer, while the loop is open
  };

  bool carries_pointer(const Address& address) const;
  size_t defined_at(Value value) const { return defined_[static_cast<size_t>(value)]; }
  size_t make_node(const Address& address);
  Value pointer(const Node& node) const;
  void begin_loop(Inst& inst);
  void end_loop(Inst& inst);
  Address plain(const Address& address);
  Value moved(Value base, int64_t bytes);

  Builder& b_;
  NewNames& names_;
  std::vector<size_t> defined_;  // index of the defining instruction, by source value
  std::vector<Node> nodes_;
  std::vector<size_t> node_of_;  // of each address that carries a pointer, in the order of the instructions
  size_t next_address_ = 0;
  std::vector<Value> open_;  // counters of the open loops
};

}  // namespace pooljit::ir
