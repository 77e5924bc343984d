#include "jit/xbyak/constant_placer.h"

#include <algorithm>

namespace pooljit::jit {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

size_t unsigned_of(int i) { return static_cast<size_t>(i); }

}  // namespace

ConstantPlacer::ConstantPlacer(RegisterMap& map) : map_(map), live_(map.live_) {
  const ir::Program& program = map.program_;
  map.constant_of_.assign(program.types.size(), -1);
  map.constant_uses_.reserve(program.insts.size() / 2);
  constants_.reserve(32);
  for (int i = 0; i < static_cast<int>(program.insts.size()); ++i) {
    if (!live_.concerns_constants(i)) continue;
    const Inst& inst = program.insts[unsigned_of(i)];
    if (inst.op == Op::vconst || inst.op == Op::vmask)
      map.constant_of_[unsigned_of(inst.results[0])] = map.pool_.add(constant_of(program, inst));
    const bool is_alias =
        inst.results.size() == 1 && !inst.args.empty() && live_.root(inst.results[0]) != inst.results[0];
    if (is_alias && !live_.is_merged(i)) continue;  // no code
    if (inst.op == Op::shuffle) {
      if (const auto constant = implied_constant(program, inst, live_.rules().form(inst)))
        add_use(i, RegisterMap::implied, map.pool_.add(*constant));
    }
    if (inst.op == Op::propagate)
      add_use(i, RegisterMap::implied, map.pool_.add(nan_responses(program.type(inst.results[0]))));
    for (int arg = 0; arg < static_cast<int>(inst.args.size()); ++arg) {
      const Value root = live_.root(inst.args[unsigned_of(arg)]);
      if (map.constant_of_[unsigned_of(root)] >= 0) add_use(i, arg, map.constant_of_[unsigned_of(root)]);
    }
  }
}

void ConstantPlacer::add_use(int inst, int arg, int constant) {
  const ir::Program& program = map_.program_;
  const Inst& where = program.insts[unsigned_of(inst)];
  const OperandRules& rules = live_.rules();
  Take take = arg == RegisterMap::implied ? rules.take_implied_constant(where)
                                          : rules.take_constant(where, unsigned_of(arg));
  if (take == Take::immediate) return;
  const bool is_free = (where.op == Op::load && take == Take::result) || clears(where, arg);
  if (is_free && map_.pool_.at(constant).is_zero()) return;
  // The first of two may change places with one that lies in a register.
  if (arg == 0 && where.args.size() == 2 && rules.commutes(where) && rules.takes_memory(where, 1) &&
      !live_.is_constant(where.args[1]) && !live_.is_folded(where.args[1]))
    take = Take::memory;
  if (unsigned_of(constant) >= constants_.size()) constants_.resize(unsigned_of(constant) + 1);
  Constant& entry = constants_[unsigned_of(constant)];
  entry.cls = map_.pool_.at(constant).is_mask_bits ? RegClass::mask : RegClass::vec;
  entry.uses.push_back(map_.constant_uses_.size());
  entry.weight += live_.weight(inst) * (take == Take::temporary ? 2.0F : 1.0F);
  map_.constant_uses_.push_back({inst, arg, constant, -1, take == Take::temporary, take == Take::memory});
}

// True if a mask's bits put zeros in the place of operand `arg`, which then needs none.
bool ConstantPlacer::clears(const Inst& inst, int arg) const {
  return inst.op == Op::select && (arg == 1 || arg == 2) && !masks_are_bits(map_.program_) &&
         !live_.is_constant(inst.args[0]) && !live_.is_constant(inst.args[arg == 1 ? 2 : 1]);
}

std::vector<size_t> ConstantPlacer::temporaries(RegClass cls) const {
  std::vector<size_t> uses;
  for (size_t i = 0; i < map_.constant_uses_.size(); ++i) {
    const RegisterMap::ConstantUse& use = map_.constant_uses_[i];
    if (use.temporary && constants_[unsigned_of(use.constant)].cls == cls) uses.push_back(i);
  }
  return uses;
}

void ConstantPlacer::place(RegClass cls, int registers) {
  std::vector<const Constant*> order;
  for (const Constant& constant : constants_)
    if (constant.cls == cls && !constant.uses.empty()) order.push_back(&constant);
  std::stable_sort(order.begin(), order.end(),
                   [](const Constant* a, const Constant* b) { return a->weight > b->weight; });
  for (const Constant* constant : order) place_group(*constant, constant->uses, 0, registers);
}

// One register for all of these uses, which lie in the same loop of depth - 1; else one for those in each
// loop of this depth; and so on inwards.
void ConstantPlacer::place_group(const Constant& constant, const Uses& uses, int depth, int registers) {
  const auto in_loop = [&](size_t use) { return live_.depth(inst_of(use)) > depth; };
  const auto begin = [&](size_t use) {
    return in_loop(use) ? live_.loop_at(inst_of(use), depth) : inst_of(use);
  };
  const auto end = [&](size_t use) {
    return in_loop(use) ? live_.partner(live_.loop_at(inst_of(use), depth)) : inst_of(use);
  };
  if (std::none_of(uses.begin(), uses.end(), in_loop)) return;
  const Range span{2 * begin(uses.front()), 2 * end(uses.back())};
  if (place_span(constant, uses, span, registers)) return;
  for (size_t i = 0; i < uses.size();) {
    size_t last = i + 1;
    while (last < uses.size() && begin(uses[last]) == begin(uses[i])) ++last;
    const Uses group(uses.begin() + static_cast<std::ptrdiff_t>(i),
                     uses.begin() + static_cast<std::ptrdiff_t>(last));
    if (!in_loop(uses[i])) {
      i = last;
      continue;
    }
    const Range loop{2 * begin(uses[i]), 2 * end(uses[i])};
    if (group.size() == uses.size() || !place_span(constant, group, loop, registers))
      place_group(constant, group, depth + 1, registers);
    i = last;
  }
}

// The uses' own temporary registers are free for it.
bool ConstantPlacer::place_span(const Constant& constant, const Uses& uses, const Range& span,
                                int registers) {
  BusyRegisters& busy = map_.busy(constant.cls);
  const auto each_temporary = [&](const auto& act) {
    for (size_t i : uses) {
      const RegisterMap::ConstantUse& use = map_.constant_uses_[i];
      if (use.temporary) act(use);
    }
  };
  each_temporary([&](const auto& use) { busy.free({2 * use.inst, 2 * use.inst + 1}, use.reg); });
  int reg = 0;
  while (reg < registers && !busy.is_free(span, reg)) ++reg;
  if (reg >= registers) {
    each_temporary([&](const auto& use) { busy.take({2 * use.inst, 2 * use.inst + 1}, use.reg); });
    return false;
  }
  busy.take(span, reg);
  for (size_t i : uses) {
    map_.constant_uses_[i].reg = reg;
    map_.constant_uses_[i].temporary = false;
  }
  map_.loads_.push_back({span.begin / 2, map_.constant_uses_[uses[0]].constant, reg});
  return true;
}

void ConstantPlacer::finish() {
  std::stable_sort(map_.loads_.begin(), map_.loads_.end(),
                   [](const auto& a, const auto& b) { return a.before < b.before; });
  ConstantPool& pool = map_.pool_;
  for (int i = 0; i < pool.count(); ++i)
    if (!pool.at(i).is_mask_bits && !pool.at(i).is_zero() && !pool.at(i).is_ones()) pool.keep_in_memory(i);
  for (const RegisterMap::ConstantUse& use : map_.constant_uses_)
    if (use.reg < 0 && use.memory) pool.keep_in_memory(use.constant);
}

}  // namespace pooljit::jit
