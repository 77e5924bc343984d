#include "jit/xbyak/liveness.h"

#include <algorithm>

#include "jit/xbyak/constants.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Op;
using ir::Program;
using ir::Type;
using ir::Value;

namespace {

constexpr float iterations = 8;  // how often a loop is taken to run
constexpr int none = -1;

}  // namespace

Liveness::Liveness(const Program& program) : program_(program), rules_(program) {
  read_program();
  find_uses();
  extend_over_loops();
  join_all();
  make_webs();
}

// ---------------------------------------------------------------------------------------------- structure
// Facts of operands and results that follow from each instruction alone.
void Liveness::read_program() {
  insts_.resize(program_.insts.size());
  values_.reserve(program_.types.size() + loops_.capacity());
  values_.resize(program_.types.size());
  int open = none, depth = 0;
  float weight = 1;
  for (int i = 0; i < static_cast<int>(insts_.size()); ++i) {
    const Inst& inst = code(i);
    OfInst& here = at(i);
    if (inst.op == Op::end) {
      ends_.push_back(i);
      here.partner = open;
      at(open).partner = i;
      open = at(open).outer;
      --depth;
      weight /= iterations;
    }
    // A loop's first and last instruction lie outside it, but for the reads and writes of an iteration.
    here.depth = depth;
    here.weight = weight;
    here.outer = open;
    for (const Value arg : inst.args) ++of(arg).uses;
    if (inst.addr.base != ir::no_value) ++of(inst.addr.base).uses;
    if (inst.op == Op::loop) {
      loops_.push_back(i);
      here.countdown = static_cast<int>(values_.size());
      OfValue& countdown = values_.emplace_back();
      countdown.root = countdown.leader = countdown.next_in_web = here.countdown;
      if (open != none) at(open).has_inner = true;
      open = i;
      ++depth;  // a counter and what is carried live inside
    }
    for (const Value result : inst.results) {
      OfValue& value = of(result);
      value.range = {2 * i + 1, 2 * i + 1};
      value.weight = weight;
      value.defined = i;
      value.depth = depth;
      value.root = value.leader = value.next_in_web = result;
    }
    if (inst.op == Op::loop) weight *= iterations;
    if (inst.results.size() == 1) read_result(inst, i);
  }
}

void Liveness::read_result(const Inst& inst, int i) {
  OfValue& result = of(inst.results[0]);
  switch (inst.op) {
    case Op::iconst:
      has_long_index_ |= !fits_immediate(inst.imm);
      [[fallthrough]];
    case Op::vconst:
    case Op::vmask:
      result.is_constant = true;
      return;
    case Op::param:
      last_param_ = i;
      return;
    case Op::load:
      result.may_fold = inst.args.empty() && program_.type(inst.results[0]).vector_bytes() >= 16;
      return;
    case Op::propagate:
      propagations_.push_back(i);
      return;
    case Op::shuffle:
      rules_.find_form(inst);
      break;
    case Op::bitcast:
    case Op::select:
      break;
    default:
      return;
  }
  if (rules_.result_stands_apart(inst)) result.range.begin = 2 * i;
  if (!rules_.is_alias(inst)) return;
  const OfValue& same = of(inst.args[0]);
  result.root = same.root;
  result.is_constant = same.is_constant;
  aliases_.push_back(inst.results[0]);
}

int Liveness::loop_at(int inst, int depth) const {
  int loop = at(inst).outer;
  while (at(loop).depth > depth) loop = at(loop).outer;
  return loop;
}

RegClass Liveness::class_of(Value value) const {
  if (is_countdown(value)) return RegClass::gpr;
  const Type& type = program_.type(value);
  if (type.kind == Type::Kind::vec) return RegClass::vec;
  if (type.kind != Type::Kind::mask) return RegClass::gpr;
  return ir::info(program_.isa).mask == ir::MaskEncoding::k_bits ? RegClass::mask : RegClass::vec;
}

// --------------------------------------------------------------------------------------- masked and folded
// No later use, and none in another iteration: what the masked instruction overwrites is read by it, by the
// select and by what computes their mask just before, at most.
bool Liveness::dies_in_merge(Value value, int select, int line) const {
  constexpr int reach = 3;
  if (is_constant(value) || definition(root(value)) <= line) return false;
  if (root(value) != value && of(root(value)).uses != 1) return false;
  int uses = 0;
  for (int i = std::max(line, select - reach + 1); i <= select; ++i)
    for (Value arg : code(i).args) uses += arg == value;
  return uses == of(value).uses;
}

void Liveness::merge(int i, int line) {
  const Inst& select = code(i);
  const Value computed = select.args[1], kept = select.args[2];
  const bool joins = definition(computed) == i - 1 && of(computed).uses == 1 &&
                     has_masked_form(defining(computed).op) && !is_constant(select.args[0]);
  if (!joins || !dies_in_merge(kept, i, line)) return;
  at(i - 1).is_merged = at(i).is_merged = true;
  of(computed).root = of(select.results[0]).root = root(kept);
  aliases_.push_back(computed);
  aliases_.push_back(select.results[0]);
}

// A load is folded into its only reader if that one follows in the same straight line, with no store between
// them.
void Liveness::fold_load(const Inst& inst, int loads) {
  if (std::any_of(inst.args.begin(), inst.args.end(), [&](Value arg) { return of(arg).is_folded; })) return;
  for (size_t arg = inst.args.size(); arg-- > 0;) {
    OfValue& load = of(inst.args[arg]);
    if (!load.may_fold || load.uses != 1 || load.defined <= loads) continue;
    // The first operand of two may change places with the second; of floats, the NaN of the first one stays.
    if (!rules_.takes_memory(inst, arg) &&
        !(arg == 0 && inst.args.size() == 2 && rules_.commutes(inst) && rules_.takes_memory(inst, 1) &&
          !is_constant(inst.args[1]) && !ir::is_float(program_.type(inst.results[0]).dtype)))
      continue;
    load.is_folded = true;
    return;
  }
}

// ------------------------------------------------------------------------------------------------- ranges
void Liveness::extend(Value value, int point) {
  Range& range = of(value).range;
  range.end = std::max(range.end, point);
}

// A value from outside a loop lives until the loop's end, for the next iteration.
void Liveness::use(Value name, int inst, float weight) {
  OfValue& value = of(name);
  value.weight += weight;
  const int last = at(inst).depth > value.depth ? partner(loop_at(inst, value.depth)) : inst;
  value.range.end = std::max(value.range.end, 2 * last);
}

void Liveness::find_uses() {
  const bool merges = masks_are_bits(program_);
  int line = 0, loads = 0;  // where the straight line begins, and the loads that no store lies behind
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& inst = code(i);
    bool concerns_constants = false;
    switch (inst.op) {
      case Op::loop:
      case Op::end:
        line = i;
        [[fallthrough]];
      case Op::store:
        loads = i;
        break;
      case Op::select:
        if (merges) merge(i, line);
        break;
      case Op::vconst:
      case Op::vmask:
      case Op::shuffle:
      case Op::propagate:
        concerns_constants = true;
        break;
      default:
        break;
    }
    for (const Value arg : inst.args) {
      const OfValue& value = of(arg);
      if (value.may_fold) fold_load(inst, loads);
      if (value.is_constant)
        concerns_constants = true;
      else if (value.is_folded)
        use(defining(arg).addr.base, i, 0);  // the load was a use already, as often
      else
        use(arg, i, weight(i));
    }
    if (inst.addr.base != ir::no_value) use(inst.addr.base, i, weight(i));
    at(i).concerns_constants = concerns_constants;
  }
}

void Liveness::extend_over_loops() {
  for (int begin : loops_) {
    const Inst& loop = code(begin);
    const int end = partner(begin);
    const bool once = defining(loop.args[0]).op == Op::iconst && defining(loop.args[0]).imm == 1;
    const float inside = weight(begin) * iterations;
    if (is_used(loop.results[0])) {
      extend(loop.results[0], 2 * end);
      if (!is_constant(loop.args[0])) extend(loop.args[0], 2 * end);
      of(loop.results[0]).weight += 2 * inside;
      at(begin).countdown = none;
    } else if (once) {
      at(begin).countdown = none;
    } else {
      of(at(begin).countdown).range = {2 * begin + 1, 2 * end};
      of(at(begin).countdown).weight += 2 * inside;
    }
  }
}

// --------------------------------------------------------------------------------------------------- webs
int Liveness::find_web(Value value) const {
  int leader = value;
  while (of(leader).leader != leader) leader = of(leader).leader;
  return leader;
}

// Makes a and b one web unless they are needed at the same time with different bits.
bool Liveness::join(Value a, Value b, bool same_bits) {
  const int web_a = find_web(a), web_b = find_web(b);
  if (web_a == web_b) return true;
  if (!same_bits) {
    int member = web_a;
    do {
      int other = web_b;
      do {
        if (of(member).range.overlaps(of(other).range)) return false;
        other = of(other).next_in_web;
      } while (other != web_b);
      member = of(member).next_in_web;
    } while (member != web_a);
  }
  of(web_b).leader = web_a;
  std::swap(of(web_a).next_in_web, of(web_b).next_in_web);
  return true;
}

void Liveness::join_carried(int end) {
  const Inst& loop = code(partner(end));
  const Inst& last = code(end);
  for (size_t k = 0; k < last.results.size(); ++k) {
    const Value carried = loop.results[k + 1];
    join(carried, last.results[k], /*same_bits=*/true);
    if (!is_constant(last.args[k])) join(carried, last.args[k], false);
  }
}

// The result of `propagate` is written over its second operand. Where that lives on, the result stands apart.
void Liveness::join_overwritten(int inst) {
  const Inst& here = code(inst);
  const Value result = here.results[0], overwritten = here.args[1];
  if (is_constant(overwritten) || !join(overwritten, result, /*same_bits=*/false))
    of(result).range.begin = 2 * inst;
}

void Liveness::join_all() {
  for (const Value value : aliases_)
    if (!is_constant(value)) join(root(value), value, /*same_bits=*/true);
  for (const int inst : propagations_) join_overwritten(inst);
  for (const int end : ends_) join_carried(end);
  for (size_t i = loops_.size(); i-- > 0;) {
    const Inst& loop = code(loops_[i]);
    for (size_t k = 1; k < loop.args.size(); ++k)
      if (!is_constant(loop.args[k])) join(loop.results[k], loop.args[k], false);
    const int countdown = at(loops_[i]).countdown;
    if (countdown != none && !is_constant(loop.args[0])) join(loop.args[0], countdown, false);
  }
}

void Liveness::make_webs() {
  webs_.reserve(values_.size());
  for (int name = 0; name < static_cast<int>(values_.size()); ++name) {
    OfValue& value = of(name);
    const Range& range = value.range;
    if (range.end < range.begin || value.is_folded || value.is_constant) continue;
    const bool is_counter = !is_countdown(name) && value.uses == 0 && defining(name).op == Op::loop &&
                            name == defining(name).results[0];
    if (is_counter) continue;
    OfValue& leader = value.leader == name ? value : of(find_web(name));
    if (leader.web == none) {
      leader.web = value.web = static_cast<int>(webs_.size());
      webs_.push_back({class_of(name), range, value.weight});
      continue;
    }
    value.web = leader.web;
    Web& joined = webs_[static_cast<size_t>(leader.web)];
    joined.range = {std::min(joined.range.begin, range.begin), std::max(joined.range.end, range.end)};
    joined.weight += value.weight;
  }
}

int Liveness::countdown_web(int begin) const {
  const int value = at(begin).countdown;
  return value == none ? none : of(value).web;
}

}  // namespace pooljit::jit
