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

size_t at(int i) { return static_cast<size_t>(i); }

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
  const size_t count = program_.insts.size();
  partner_.assign(count, none);
  depth_.assign(count, 0);
  weight_.assign(count, 0);
  outer_.assign(count, none);
  countdown_.assign(count, none);
  has_inner_.assign(count, 0);
  int values = static_cast<int>(program_.types.size());
  int open = none, depth = 0;
  float weight = 1;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const Inst& inst = program_.insts[at(i)];
    if (inst.op == Op::end) {
      partner_[at(i)] = open;
      partner_[at(open)] = i;
      open = outer_[at(open)];
      --depth;
      weight /= iterations;
    }
    // A loop's first and last instruction lie outside it, but for the reads and writes of an iteration.
    depth_[at(i)] = depth;
    weight_[at(i)] = weight;
    outer_[at(i)] = open;
    if (inst.op == Op::loop) {
      loops_.push_back(i);
      countdown_[at(i)] = values++;
      if (open != none) has_inner_[at(open)] = 1;
      open = i;
      ++depth;
      weight *= iterations;
    }
  }
  defined_.assign(at(values), none);
  uses_.assign(at(values), 0);
  constant_.assign(at(values), 0);
  root_.resize(at(values));
  std::iota(root_.begin(), root_.end(), 0);
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const Inst& inst = program_.insts[at(i)];
    for (Value result : inst.results) defined_[at(result)] = i;
    if (inst.op == Op::iconst || inst.op == Op::vconst || inst.op == Op::vmask)
      constant_[at(inst.results[0])] = 1;
    for (Value arg : inst.args) ++uses_[at(arg)];
    if (inst.addr.base != ir::no_value) ++uses_[at(inst.addr.base)];
    if (inst.results.size() == 1 && inst.args.size() == 1 && rules_.is_alias(inst))
      root_[at(inst.results[0])] = root_[at(inst.args[0])];
  }
}

int Liveness::loop_at(int inst, int depth) const {
  int loop = outer_[at(inst)];
  while (depth_[at(loop)] > depth) loop = outer_[at(loop)];
  return loop;
}

RegClass Liveness::class_of(Value value) const {
  if (at(value) >= program_.types.size()) return RegClass::gpr;
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
  if (root(value) != value && uses_[at(root(value))] != 1) return false;
  int uses = 0;
  for (int i = std::max(line, select - reach + 1); i <= select; ++i)
    for (Value arg : program_.insts[at(i)].args) uses += arg == value;
  return uses == uses_[at(value)];
}

void Liveness::find_merges() {
  merged_.assign(program_.insts.size(), 0);
  if (ir::info(program_.isa).mask != ir::MaskEncoding::k_bits) return;
  int line = 0;  // where the straight line begins
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& select = program_.insts[at(i)];
    if (select.op == Op::loop || select.op == Op::end) line = i;
    if (select.op != Op::select) continue;
    const Value computed = select.args[1], kept = select.args[2];
    const bool joins = definition(computed) == i - 1 && uses_[at(computed)] == 1 &&
                       has_masked_form(defining(computed).op) && !is_constant(select.args[0]);
    if (!joins || !dies_in_merge(kept, i, line)) continue;
    merged_[at(i - 1)] = merged_[at(i)] = 1;
    root_[at(computed)] = root_[at(select.results[0])] = root(kept);
  }
}

// A load is folded into its only reader if that one follows in the same straight line, with no store between
// them.
void Liveness::fold_loads() {
  folded_.assign(defined_.size(), 0);
  int line = 0;  // where the straight line begins
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& inst = program_.insts[at(i)];
    if (inst.op == Op::loop || inst.op == Op::end || inst.op == Op::store) line = i;
    const auto foldable = [&](size_t arg) {
      const Value value = inst.args[arg];
      const Inst& load = defining(value);
      return load.op == Op::load && load.args.empty() && definition(value) > line && uses_[at(value)] == 1 &&
             program_.type(value).vector_bytes() >= 16;
    };
    for (size_t arg = inst.args.size(); arg-- > 0;) {
      // The first operand of two may change places with the second.
      const bool takes =
          rules_.takes_memory(inst, arg) || (arg == 0 && inst.args.size() == 2 && rules_.commutes(inst) &&
                                             rules_.takes_memory(inst, 1) && !is_constant(inst.args[1]));
      if (!takes || !foldable(arg)) continue;
      folded_[at(inst.args[arg])] = 1;
      break;
    }
  }
}

// ------------------------------------------------------------------------------------------------- ranges
void Liveness::extend(Value value, int point) {
  Range& range = ranges_[at(value)];
  range.end = std::max(range.end, point);
}

// A value from outside a loop lives until the loop's end, for the next iteration.
void Liveness::use(Value value, int inst) {
  if (is_folded(value)) return use(defining(value).addr.base, inst);
  if (is_constant(value)) return;
  weights_[at(value)] += weight(inst);
  const Inst& source = defining(value);
  const int inner = source.op == Op::loop ? 1 : 0;  // its counter and carried values live inside it
  const int depth = depth_[at(definition(value))] + inner;
  if (depth_[at(inst)] > depth)
    extend(value, 2 * partner(loop_at(inst, depth)));
  else
    extend(value, 2 * inst);
}

void Liveness::find_ranges() {
  ranges_.assign(defined_.size(), {});
  weights_.assign(defined_.size(), 0);
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& inst = program_.insts[at(i)];
    const bool apart = rules_.result_stands_apart(inst);
    for (Value result : inst.results) {
      ranges_[at(result)] = {2 * i + (apart ? 0 : 1), 2 * i + 1};
      weights_[at(result)] += weight(i);
    }
  }
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& inst = program_.insts[at(i)];
    if (inst.op == Op::load && is_folded(inst.results[0])) continue;
    for (Value arg : inst.args) use(arg, i);
    if (inst.addr.base != ir::no_value) use(inst.addr.base, i);
  }
  for (int begin : loops_) {
    const Inst& loop = program_.insts[at(begin)];
    const int end = partner(begin);
    const bool once = defining(loop.args[0]).op == Op::iconst && defining(loop.args[0]).imm == 1;
    const float inside = weight(begin) * iterations;
    if (is_used(loop.results[0])) {
      extend(loop.results[0], 2 * end);
      if (!is_constant(loop.args[0])) extend(loop.args[0], 2 * end);
      weights_[at(loop.results[0])] += 2 * inside;
      countdown_[at(begin)] = none;
    } else if (once) {
      countdown_[at(begin)] = none;
    } else {
      ranges_[at(countdown_[at(begin)])] = {2 * begin + 1, 2 * end};
      weights_[at(countdown_[at(begin)])] += 2 * inside;
    }
  }
}

// --------------------------------------------------------------------------------------------------- webs
int Liveness::find_web(Value value) const {
  int leader = value;
  while (leader_[at(leader)] != leader) leader = leader_[at(leader)];
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
        if (ranges_[at(member)].overlaps(ranges_[at(other)])) return false;
        other = next_in_web_[at(other)];
      } while (other != web_b);
      member = next_in_web_[at(member)];
    } while (member != web_a);
  }
  leader_[at(web_b)] = web_a;
  std::swap(next_in_web_[at(web_a)], next_in_web_[at(web_b)]);
  return true;
}

void Liveness::join_carried(int end) {
  const Inst& loop = program_.insts[at(partner(end))];
  const Inst& last = program_.insts[at(end)];
  for (size_t k = 0; k < last.results.size(); ++k) {
    const Value carried = loop.results[k + 1];
    join(carried, last.results[k], /*same_bits=*/true);
    if (!is_constant(last.args[k])) join(carried, last.args[k], false);
  }
}

// The result of `propagate` is written over its second operand. Where that lives on, the result stands apart.
void Liveness::join_overwritten(int inst) {
  const Inst& here = program_.insts[at(inst)];
  const Value result = here.results[0], overwritten = here.args[1];
  if (is_constant(overwritten) || !join(overwritten, result, /*same_bits=*/false))
    ranges_[at(result)].begin = 2 * inst;
}

void Liveness::join_all() {
  leader_.resize(defined_.size());
  std::iota(leader_.begin(), leader_.end(), 0);
  next_in_web_ = leader_;
  for (size_t value = 0; value < program_.types.size(); ++value)
    if (root_[value] != static_cast<Value>(value) && !is_constant(root_[value]))
      join(root_[value], static_cast<Value>(value), /*same_bits=*/true);
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i)
    if (program_.insts[at(i)].op == Op::propagate) join_overwritten(i);
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i)
    if (program_.insts[at(i)].op == Op::end) join_carried(i);
  for (size_t i = loops_.size(); i-- > 0;) {
    const Inst& loop = program_.insts[at(loops_[i])];
    for (size_t k = 1; k < loop.args.size(); ++k)
      if (!is_constant(loop.args[k])) join(loop.results[k], loop.args[k], false);
    const int countdown = countdown_[at(loops_[i])];
    if (countdown != none && !is_constant(loop.args[0])) join(loop.args[0], countdown, false);
  }
}

void Liveness::make_webs() {
  web_of_.assign(defined_.size(), none);
  for (int value = 0; value < static_cast<int>(defined_.size()); ++value) {
    const Range& range = ranges_[at(value)];
    const bool countdown = at(value) >= program_.types.size();
    if (range.end < range.begin) continue;
    if (!countdown) {
      const Inst& inst = defining(value);
      const bool unused_counter = inst.op == Op::loop && value == inst.results[0] && !is_used(value);
      if (is_constant(value) || is_folded(value) || unused_counter) continue;
    }
    int& web = web_of_[at(find_web(value))];
    if (web == none) {
      web = static_cast<int>(webs_.size());
      webs_.push_back({class_of(value), range, 0});
    }
    Web& joined = webs_[at(web)];
    joined.range = {std::min(joined.range.begin, range.begin), std::max(joined.range.end, range.end)};
    joined.weight += weights_[at(value)];
    web_of_[at(value)] = web;
  }
}

int Liveness::countdown_web(int begin) const {
  const int value = countdown_[at(begin)];
  return value == none ? none : web_of_[at(value)];
}

}  // namespace pooljit::jit
