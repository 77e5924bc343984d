#include "ir/inst_list.h"

#include <algorithm>
#include <utility>

namespace pooljit::ir {
namespace {

constexpr int most_spare = 1024;

struct Node : Inst {
  Node* next = nullptr;  // while it is spare
};
constinit thread_local Node* spare = nullptr;
constinit thread_local int spare_count = 0;

// Ends a thread's spare instructions with it. What ends even later may still compile, but keeps none.
struct AtThreadEnd {
  ~AtThreadEnd() {
    while (spare) delete std::exchange(spare, spare->next);
    spare_count = most_spare;
  }
};

// Lists keep the memory that they have.
Node* used_again(Node* node) {
  spare = node->next;
  --spare_count;
  node->args.clear();
  node->results.clear();
  node->addr.base = no_value;
  node->addr.terms.clear();
  node->addr.offset = 0;
  node->imm = 0;
  node->data.clear();
  node->pred = Predicate::eq;
  node->saturate = false;
  node->non_temporal = false;
  return node;
}

}  // namespace

InstPtr make_inst(Op op) {
  Node* const node = spare ? used_again(spare) : new Node;
  node->op = op;
  return InstPtr(node);
}

void InstRecycler::operator()(Inst* inst) const noexcept {
  Node* const node = static_cast<Node*>(inst);
  if (spare_count >= most_spare) {
    delete node;
    return;
  }
  if (!spare) {  // from now on there is something to end
    static thread_local AtThreadEnd at_end;
    static_cast<void>(&at_end);
  }
  ++spare_count;
  node->next = std::exchange(spare, node);
}

InstList::InstList(std::initializer_list<Inst> insts) {
  reserve(insts.size());
  for (const Inst& inst : insts) push_back(inst);
}

InstList::InstList(const InstList& other) {
  reserve(other.size());
  for (const Inst& inst : other) push_back(inst);
}

InstList& InstList::operator=(const InstList& other) {
  if (this != &other) *this = InstList(other);
  return *this;
}

bool InstList::operator==(const InstList& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

void InstList::insert(size_t at, InstList&& others) {
  insts_.insert(insts_.begin() + static_cast<std::ptrdiff_t>(at), std::move_iterator(others.insts_.begin()),
                std::move_iterator(others.insts_.end()));
  others.clear();
}

}  // namespace pooljit::ir
