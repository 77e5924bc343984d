// cleanup: removes what nothing depends on. Stores, prefetches and trip counts are what counts; a carried
// value lives if its value in the loop or after it is used. Loops that run zero times leave their inits.

#include "ir/builder.h"
#include "ir/passes/names.h"
#include "ir/passes/pipeline.h"

namespace pooljit::ir {
namespace {

constexpr bool effects[] = {
#define OP(name, group, operands, result, effect, equation) \
  Effect::effect == Effect::write || Effect::effect == Effect::control || Op::name == Op::prefetch,
#include "ir/ops.def"
#undef OP
};
bool has_effect(const Inst& inst) { return effects[static_cast<size_t>(inst.op)]; }

class Cleanup {
 public:
  explicit Cleanup(Program& program) : program_(program) {}

  void run() {
    find_definitions();
    if (has_empty_loop_) drop_empty_loops();
    mark();
    sweep();
    renumber(program_);
  }

 private:
  struct Definition {
    const Inst* inst = nullptr;  // also when its list has handed it over
    uint32_t at = 0, result = 0;
  };

  bool never_runs(const Inst& loop) const {
    const Inst& inst = *defined_[static_cast<size_t>(loop.args[0])].inst;
    return inst.op == Op::iconst && inst.imm == 0;
  }

  void find_definitions() {
    const InstList& insts = program_.insts;
    defined_.assign(program_.types.size(), {});
    partner_.assign(insts.size(), 0);
    std::vector<size_t> open;
    for (size_t i = 0; i < insts.size(); ++i) {
      const Inst& inst = insts[i];
      uint32_t number = 0;
      for (const Value result : inst.results)
        defined_[static_cast<size_t>(result)] = {&inst, static_cast<uint32_t>(i), number++};
      if (inst.op == Op::loop) {
        open.push_back(i);
        has_empty_loop_ |= never_runs(inst);
      }
      if (inst.op != Op::end) continue;
      partner_[i] = open.back();
      partner_[open.back()] = i;
      open.pop_back();
    }
  }

  void drop_empty_loops() {
    NewNames names(program_);
    InstList kept;
    kept.reserve(program_.insts.size());
    for (size_t i = 0; i < program_.insts.size(); ++i) {
      Inst& inst = program_.insts[i];
      names.rename_operands(inst);
      if (inst.op == Op::loop && never_runs(inst)) {
        const Inst& end = program_.insts[partner_[i]];
        for (size_t k = 0; k < end.results.size(); ++k) names.replace(end.results[k], inst.args[k + 1]);
        i = partner_[i];
      } else {
        kept.push_back(program_.insts.take(i));
      }
    }
    program_.insts = std::move(kept);
    find_definitions();
  }

  // ---------------------------------------------------------------------------------------------- mark
  void mark() {
    live_.assign(program_.types.size(), 0);
    work_.reserve(program_.types.size());
    for (const Inst& inst : program_.insts) {
      if (!has_effect(inst)) continue;
      if (inst.op == Op::loop)
        need(inst.args[0]);
      else if (inst.op != Op::end)
        need_operands(inst);
    }
    while (!work_.empty()) {
      const Value value = work_.back();
      work_.pop_back();
      visit(defined_[static_cast<size_t>(value)]);
    }
  }

  void need(Value value) {
    if (value == no_value || lives(value)) return;
    live_[static_cast<size_t>(value)] = 1;
    work_.push_back(value);
  }

  void need_operands(const Inst& inst) {
    for (Value arg : inst.args) need(arg);
    need(inst.addr.base);
    for (const Term& term : inst.addr.terms) need(term.iv);
  }

  void visit(const Definition& definition) {
    const Inst& inst = *definition.inst;
    if (inst.op == Op::loop && definition.result > 0)
      need_carried(definition.at, definition.result - 1);
    else if (inst.op == Op::end)
      need_carried(partner_[definition.at], definition.result);
    else if (inst.op != Op::loop)
      need_operands(inst);
  }

  // The init, the value in the loop, the next one and the final one live or die together.
  void need_carried(size_t loop, size_t slot) {
    const Inst& begin = program_.insts[loop];
    const Inst& end = program_.insts[partner_[loop]];
    for (Value value : {begin.args[slot + 1], begin.results[slot + 1], end.args[slot], end.results[slot]})
      need(value);
  }

  // --------------------------------------------------------------------------------------------- sweep
  bool lives(Value value) const { return live_[static_cast<size_t>(value)] != 0; }

  // Drops operand and result `slot` wherever the carried value is dead; `fixed` of each come before the
  // slots.
  void drop_dead_slots(Inst& inst, size_t fixed) const {
    size_t kept = 0;
    for (size_t slot = 0; slot + fixed < inst.results.size(); ++slot) {
      if (!lives(inst.results[slot + fixed])) continue;
      inst.args[kept + fixed] = inst.args[slot + fixed];
      inst.results[kept++ + fixed] = inst.results[slot + fixed];
    }
    inst.args.resize(kept + fixed);
    inst.results.resize(kept + fixed);
  }

  void sweep() {
    for (Inst& inst : program_.insts) {
      if (inst.op == Op::loop) drop_dead_slots(inst, 1);
      if (inst.op == Op::end) drop_dead_slots(inst, 0);
    }
    program_.insts.drop_if([&](const Inst& inst) { return !has_effect(inst) && !lives(inst.results[0]); });
  }

  Program& program_;
  bool has_empty_loop_ = false;
  std::vector<Definition> defined_;  // by value
  std::vector<size_t> partner_;      // loop <-> end
  std::vector<uint8_t> live_;
  std::vector<Value> work_;
};

}  // namespace

Program cleanup(Program program) {
  Cleanup(program).run();
  return program;
}

}  // namespace pooljit::ir
