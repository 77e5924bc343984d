#include "ir/fusion.h"

#include <array>
#include <boost/container_hash/hash.hpp>
#include <utility>

namespace pooljit::ir {
namespace {

// Code that parts of a fused loop share: addresses, loads and conversions of elements. Reductions differ.
bool may_be_shared(const Inst& inst) {
  switch (inst.op) {
    case Op::load:
    case Op::prefetch:
    case Op::iload:
    case Op::ptradd:
    case Op::iadd:
    case Op::imul:
    case Op::imin:
    case Op::imax:
    case Op::cvt:
    case Op::bitcast:
      return true;
    default:
      return false;
  }
}

class Fusion {
 public:
  Fusion(Builder& b, std::span<FusedPart> parts) : b_(b), parts_(parts), at_(parts.size(), 0) {
    buckets_.fill(-1);
  }

  void run() {
    std::vector<size_t> all(parts_.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    block(all);
  }

 private:
  // Values that some part has made, in the loop that is open or around it.
  struct Known {
    size_t part, hash;
    Inst inst;  // with the new Program's operands
    Value value;
    int before;  // of the same bucket; -1: none
  };

  const Inst& next(size_t part) const { return parts_[part].program->insts[at_[part]]; }
  bool is_at(size_t part, Op op) const { return next(part).op == op; }
  Value& name(size_t part, Value value) { return parts_[part].renamed[static_cast<size_t>(value)]; }
  Value renamed(size_t part, Value value) { return value == no_value ? value : name(part, value); }

  // Up to the end of the loop or the Program that these parts are in.
  void block(const std::vector<size_t>& parts) {
    const size_t outside = std::exchange(inside_, known_.size());
    for (;;) {
      straight(parts);
      std::vector<size_t> fused;
      for (const size_t part : parts) {
        if (!is_at(part, Op::loop)) continue;
        const bool is_first = fused.empty();
        if (is_first || name(part, next(part).args[0]) == name(fused[0], next(fused[0]).args[0]))
          fused.push_back(part);
      }
      if (fused.empty()) break;
      loop(fused);
    }
    for (; known_.size() > inside_; known_.pop_back()) bucket(known_.back().hash) = known_.back().before;
    inside_ = outside;
  }

  void straight(const std::vector<size_t>& parts) {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const size_t part : parts) goes_on |= up_to_load(part);
    }
  }

  // One instruction, if there is one before the next loop or end, and the others before the next load.
  bool up_to_load(size_t part) {
    bool is_first = true;
    for (;; ++at_[part]) {
      const Inst& inst = next(part);
      if (inst.op == Op::loop || inst.op == Op::end || inst.op == Op::ret) return !is_first;
      if (inst.op == Op::load && !is_first) return true;
      if (inst.op == Op::param) continue;
      is_first = false;
      one(part, inst);
    }
  }

  void one(size_t part, const Inst& inst) {
    const Program& program = *parts_[part].program;
    if (parts_.size() == 1 || !may_be_shared(inst)) return b_.copy(inst, program, parts_[part].renamed);
    Known own{part, 0, inst, no_value, -1};
    own.inst.results.clear();
    for (Value& arg : own.inst.args) arg = renamed(part, arg);
    own.inst.addr.base = renamed(part, inst.addr.base);
    for (Term& term : own.inst.addr.terms) term.iv = name(part, term.iv);
    own.hash = hash(own.inst);
    Known* known = find(own, inst.results.empty() ? Type{} : program.type(inst.results[0]));
    const bool is_shared = known && known->part != part;
    if (!is_shared)
      b_.copy(inst, program, parts_[part].renamed);
    else if (!inst.results.empty())
      name(part, inst.results[0]) = known->value;
    if (is_shared) return;
    own.value = inst.results.empty() ? no_value : name(part, inst.results[0]);
    // What it has made again is nearer than what it made before, but gone behind the present loop.
    if (known && known >= known_.data() + inside_) {
      known->value = own.value;
      return;
    }
    own.before = std::exchange(bucket(own.hash), static_cast<int>(known_.size()));
    known_.push_back(std::move(own));
  }

  static size_t hash(const Inst& inst) {
    size_t hash = static_cast<size_t>(inst.op);
    for (const Value arg : inst.args) boost::hash_combine(hash, arg);
    boost::hash_combine(hash, inst.addr.base);
    boost::hash_combine(hash, inst.addr.offset);
    return hash;
  }

  int& bucket(size_t hash) { return buckets_[hash % buckets_.size()]; }

  Known* find(const Known& wanted, const Type& type) {
    for (int at = bucket(wanted.hash); at >= 0; at = known_[static_cast<size_t>(at)].before) {
      Known& known = known_[static_cast<size_t>(at)];
      if (known.hash == wanted.hash && known.inst == wanted.inst &&
          (known.value == no_value || b_.type(known.value) == type))
        return &known;
    }
    return nullptr;
  }

  void loop(const std::vector<size_t>& parts) {
    const Value trip = name(parts[0], next(parts[0]).args[0]);
    Values init;
    for (const size_t part : parts) {
      const Inst& inst = next(part);
      for (size_t k = 1; k < inst.args.size(); ++k) init.push_back(name(part, inst.args[k]));
    }
    const Builder::Loop loop = b_.begin_loop(trip, init);
    size_t slot = 0;
    for (const size_t part : parts) {
      const Inst& inst = next(part);
      name(part, inst.results[0]) = loop.iv;
      for (size_t k = 1; k < inst.results.size(); ++k) name(part, inst.results[k]) = loop.carried[slot++];
      ++at_[part];
    }
    block(parts);
    Values nexts;
    for (const size_t part : parts)
      for (const Value arg : next(part).args) nexts.push_back(name(part, arg));
    const Values finals = b_.end_loop(nexts);
    slot = 0;
    for (const size_t part : parts) {
      for (const Value result : next(part).results) name(part, result) = finals[slot++];
      ++at_[part];
    }
  }

  Builder& b_;
  const std::span<FusedPart> parts_;
  std::vector<size_t> at_;  // by part: the next instruction
  std::vector<Known> known_;
  size_t inside_ = 0;             // from here on they are of the present loop
  std::array<int, 256> buckets_;  // the newest of each
};

}  // namespace

void fuse(Builder& b, std::span<FusedPart> parts) {
  if (!parts.empty()) Fusion(b, parts).run();
}

}  // namespace pooljit::ir
