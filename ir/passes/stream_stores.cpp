// stream_stores: which stores lie at multiples of their size if the output does. Every index value and every
// pointer into the output has a power of two, up to a vector, that it is known to be a multiple of. All of
// the largest vectors have to, or none is streamed: a line that is stored in part past the caches and in part
// into them takes many times as long. Smaller vectors are tails, and stay.
#include <algorithm>
#include <bit>

#include "ir/passes/pipeline.h"

namespace pooljit::ir {
namespace {

constexpr int64_t most = 64;         // bytes of a vector
constexpr int64_t least_bytes = 16;  // that instructions store past the caches

// The largest power of two, up to `most`, that divides it.
int64_t power_in(int64_t number) {
  if (number == 0) return most;
  return std::min(most, int64_t{1} << std::countr_zero(static_cast<uint64_t>(number)));
}

class Multiples {
 public:
  // 0: a pointer to something else than the output. Values that are not followed, such as counters and what
  // loops carry, are multiples of 1, or no pointers into the output.
  explicit Multiples(const Program& program) : program_(program), of_(program.types.size(), 0) {
    for (size_t i = 0; i < of_.size(); ++i)
      if (program.types[i].kind == Type::Kind::index) of_[i] = 1;
  }

  void take(const Inst& inst) {
    if (inst.results.size() != 1) return;
    int64_t& result = of_[static_cast<size_t>(inst.results[0])];
    switch (inst.op) {
      case Op::param:
        if (program_.params[static_cast<size_t>(inst.imm)].role == Param::Role::output) result = most;
        break;
      case Op::iconst:
        result = power_in(inst.imm);
        break;
      case Op::imul:
        result = std::min(most, of(inst.args[0]) * of(inst.args[1]));
        break;
      case Op::iadd:
      case Op::imin:
      case Op::imax:
        result = std::min(of(inst.args[0]), of(inst.args[1]));
        break;
      case Op::ptradd:
        result = inst.args.empty() ? of(inst.addr) : std::min(of(inst.addr), of(inst.args[0]));
        break;
      default:
        break;
    }
  }

  int64_t of(const Address& address) const {
    int64_t multiple = std::min(of(address.base), power_in(address.offset));
    for (const Term& term : address.terms) multiple = std::min(multiple, power_in(term.bytes));
    return multiple;
  }

 private:
  int64_t of(Value value) const { return of_[static_cast<size_t>(value)]; }

  const Program& program_;
  std::vector<int64_t> of_;  // by Value
};

}  // namespace

Program stream_stores(Program program) {
  Multiples multiples(program);
  struct Store {
    size_t inst;
    int64_t bytes, multiple;
  };
  std::vector<Store> stores;
  int64_t largest = least_bytes;
  for (size_t i = 0; i < program.insts.size(); ++i) {
    const Inst& inst = program.insts[i];
    multiples.take(inst);
    if (inst.op != Op::store || inst.args.size() != 1 || multiples.of(inst.addr) == 0) continue;
    stores.push_back({i, program.type(inst.args[0]).vector_bytes(), multiples.of(inst.addr)});
    largest = std::max(largest, stores.back().bytes);
  }
  const auto is_tail = [&](const Store& store) { return store.bytes < largest; };
  if (std::ranges::all_of(stores, [&](const Store& s) { return is_tail(s) || s.multiple >= largest; }))
    for (const Store& store : stores) program.insts[store.inst].non_temporal = !is_tail(store);
  return program;
}

}  // namespace pooljit::ir
