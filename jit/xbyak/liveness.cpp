#include "jit/xbyak/liveness.h"

#include <algorithm>
#include <numeric>

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
  find_structure();
  find_merges();
  fold_loads();
  find_ranges();
  join_all();
  make_webs();
}

// ---------------------------------------------------------------------------------------------- structure
void Liveness::find_structure() {
  const int count = static_cast<int>(program_.insts.size());
  insts_.resize(program_.insts.size());
  int values = static_cast<int>(program_.types.size());
  int open = none, depth = 0;
  float weight = 1;
  for (int i = 0; i < count; ++i) {
    const Inst& inst = code(i);
    if (inst.op == Op::propagate) propagations_.push_back(i);
    if (inst.op == Op::end) {
      ends_.push_back(i);
      at(i).partner = open;
      at(open).partner = i;
      open = at(open).outer;
      --depth;
      weight /= iterations;
    }
    // A loop's first and last instruction lie outside it, but for the reads and writes of an iteration.
    at(i).depth = depth;
    at(i).weight = weight;
    at(i).outer = open;
    if (inst.op == Op::loop) {
      loops_.push_back(i);
      at(i).countdown = values++;
      if (open != none) at(open).has_inner = true;
      open = i;
      ++depth;
      weight *= iterations;
    }
  }
  values_.resize(static_cast<size_t>(values));
  for (int value = 0; value < values; ++value)
    of(value).root = of(value).leader = of(value).next_in_web = value;
  for (int i = 0; i < count; ++i) {
    const Inst& inst = code(i);
    for (Value result : inst.results) of(result).defined = i;
    if (inst.op == Op::iconst || inst.op == Op::vconst || inst.op == Op::vmask)
      of(inst.results[0]).is_constant = true;
    for (Value arg : inst.args) ++of(arg).uses;
    if (inst.addr.base != ir::no_value) ++of(inst.addr.base).uses;
    if (inst.results.size() == 1 && inst.args.size() == 1 && rules_.is_alias(inst))
      of(inst.results[0]).root = of(inst.args[0]).root;
  }
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

void Liveness::find_merges() {
  if (ir::info(program_.isa).mask != ir::MaskEncoding::k_bits) return;
  int line = 0;  // where the straight line begins
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& select = code(i);
    if (select.op == Op::loop || select.op == Op::end) line = i;
    if (select.op != Op::select) continue;
    const Value computed = select.args[1], kept = select.args[2];
    const bool joins = definition(computed) == i - 1 && of(computed).uses == 1 &&
                       has_masked_form(defining(computed).op) && !is_constant(select.args[0]);
    if (!joins || !dies_in_merge(kept, i, line)) continue;
    at(i - 1).is_merged = at(i).is_merged = true;
    of(computed).root = of(select.results[0]).root = root(kept);
  }
}

// A load is folded into its only reader if that one follows in the same straight line, with no store between
// them.
void Liveness::fold_loads() {
  int line = 0;  // where the straight line begins
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& inst = code(i);
    if (inst.op == Op::loop || inst.op == Op::end || inst.op == Op::store) line = i;
    const auto foldable = [&](size_t arg) {
      const Value value = inst.args[arg];
      const Inst& load = defining(value);
      return load.op == Op::load && load.args.empty() && definition(value) > line && of(value).uses == 1 &&
             program_.type(value).vector_bytes() >= 16;
    };
    for (size_t arg = inst.args.size(); arg-- > 0;) {
      // The first operand of two may change places with the second.
      const bool takes =
          rules_.takes_memory(inst, arg) || (arg == 0 && inst.args.size() == 2 && rules_.commutes(inst) &&
                                             rules_.takes_memory(inst, 1) && !is_constant(inst.args[1]));
      if (!takes || !foldable(arg)) continue;
      of(inst.args[arg]).is_folded = true;
      break;
    }
  }
}

// ------------------------------------------------------------------------------------------------- ranges
void Liveness::extend(Value value, int point) {
  Range& range = of(value).range;
  range.end = std::max(range.end, point);
}

// A value from outside a loop lives until the loop's end, for the next iteration.
void Liveness::use(Value value, int inst) {
  if (is_folded(value)) return use(defining(value).addr.base, inst);
  if (is_constant(value)) return;
  of(value).weight += weight(inst);
  const Inst& source = defining(value);
  const int inner = source.op == Op::loop ? 1 : 0;  // its counter and carried values live inside it
  const int depth = at(definition(value)).depth + inner;
  if (at(inst).depth > depth)
    extend(value, 2 * partner(loop_at(inst, depth)));
  else
    extend(value, 2 * inst);
}

void Liveness::find_ranges() {
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& inst = code(i);
    const bool apart = rules_.result_stands_apart(inst);
    for (Value result : inst.results) {
      of(result).range = {2 * i + (apart ? 0 : 1), 2 * i + 1};
      of(result).weight += weight(i);
    }
  }
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& inst = code(i);
    if (inst.op == Op::load && is_folded(inst.results[0])) continue;
    for (Value arg : inst.args) use(arg, i);
    if (inst.addr.base != ir::no_value) use(inst.addr.base, i);
  }
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
  for (Value value = 0; !is_countdown(value); ++value)
    if (of(value).root != value && !is_constant(of(value).root))
      join(of(value).root, value, /*same_bits=*/true);
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
  for (int value = 0; value < static_cast<int>(values_.size()); ++value) {
    const Range& range = of(value).range;
    if (range.end < range.begin) continue;
    if (!is_countdown(value)) {
      const Inst& inst = defining(value);
      const bool unused_counter = inst.op == Op::loop && value == inst.results[0] && !is_used(value);
      if (is_constant(value) || is_folded(value) || unused_counter) continue;
    }
    int& web = of(find_web(value)).web;
    if (web == none) {
      web = static_cast<int>(webs_.size());
      webs_.push_back({class_of(value), range, 0});
    }
    Web& joined = webs_[static_cast<size_t>(web)];
    joined.range = {std::min(joined.range.begin, range.begin), std::max(joined.range.end, range.end)};
    joined.weight += of(value).weight;
    of(value).web = web;
  }
}

int Liveness::countdown_web(int begin) const {
  const int value = at(begin).countdown;
  return value == none ? none : of(value).web;
}

}  // namespace pooljit::jit
