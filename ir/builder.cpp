#include "ir/builder.h"

#include <algorithm>
#include <utility>

#include "ir/check.h"

namespace pooljit::ir {

Builder::Builder(std::string name, Isa isa) {
  program_.name = std::move(name);
  program_.isa = isa;
}

Builder::Builder(Program&& source) : program_(std::move(source)) {
  program_.insts.clear();
  program_.insts.reserve(program_.types.size() + program_.types.size() / 2);
  program_.types.reserve(2 * program_.types.size());
  params_.assign(program_.params.size(), no_value);
}

void Builder::keep(InstPtr inst) {
  switch (inst->op) {
    case Op::param:
      params_[static_cast<size_t>(inst->imm)] = inst->results[0];
      break;
    case Op::iconst:
    case Op::vconst:
    case Op::vmask:
      break;
    case Op::loop:
      open_loops_.emplace_back();
      for (size_t i = 1; i < inst->results.size(); ++i) open_loops_.back().push_back(type(inst->results[i]));
      return program_.insts.push_back(std::move(inst));
    case Op::end:
      open_loops_.pop_back();
      [[fallthrough]];
    default:
      return program_.insts.push_back(std::move(inst));
  }
  if (program_.insts.size() == leading_) {
    program_.insts.push_back(std::move(inst));
    ++leading_;
  } else {
    constants_.push_back(std::move(inst));
  }
}

void Builder::copy(const Inst& inst, const Program& from, std::vector<Value>& renamed) {
  const auto name = [&](Value value) {
    return value == no_value ? value : renamed[static_cast<size_t>(value)];
  };
  const auto define_as = [&](Value result) { renamed[static_cast<size_t>(inst.results[0])] = result; };
  switch (inst.op) {
    case Op::iconst:
      return define_as(iconst(inst.imm));
    case Op::vconst:
      return define_as(vconst(from.type(inst.results[0]), inst.data));
    case Op::vmask:
      return define_as(vmask(from.type(inst.results[0]), inst.data));
    case Op::iadd:
    case Op::imul:
    case Op::imin:
    case Op::imax:
      return define_as(index_op(inst.op, name(inst.args[0]), name(inst.args[1])));
    default:
      break;
  }
  Inst& copied = append(inst.op);
  copied = inst;
  for (Value& arg : copied.args) arg = name(arg);
  copied.addr.base = name(copied.addr.base);
  for (Term& term : copied.addr.terms) term.iv = name(term.iv);
  copied.results.clear();
  for (const Value result : inst.results)
    renamed[static_cast<size_t>(result)] = give(copied, from.type(result));
}

// Room for most Programs, once there is something: who only asks a question of a Reducer makes nothing.
Value Builder::define(Type type) {
  if (program_.types.empty()) {
    program_.insts.reserve(256);
    program_.types.reserve(512);
    constants_.reserve(32);
    constant_of_.reserve(128);
    params_.reserve(16);
    open_loops_.reserve(8);
  }
  program_.types.push_back(type);
  return static_cast<Value>(program_.types.size() - 1);
}

Inst& Builder::append(Op op) { return program_.insts.append(op); }

Value Builder::compute(Op op, Type type, std::initializer_list<Value> args) {
  Inst& inst = append(op);
  inst.args.resize(args.size());
  std::copy(args.begin(), args.end(), inst.args.begin());
  return give(inst, type);
}

Value Builder::give(Inst& inst, Type type) {
  const Value value = define(type);
  inst.results.push_back(value);
  return value;
}

Value Builder::share(Op op, Type type, std::span<const int64_t> data) {
  const auto is_it = [&](const Inst& one) {
    return one.op == op && program_.type(one.results[0]) == type &&
           std::equal(one.data.begin(), one.data.end(), data.begin(), data.end());
  };
  for (size_t i = 0; i < leading_; ++i)
    if (is_it(program_.insts[i])) return program_.insts[i].results[0];
  for (const Inst& one : constants_)
    if (is_it(one)) return one.results[0];
  Inst& inst = constants_.append(op);
  inst.data.assign(data.begin(), data.end());
  return give(inst, type);
}

Value Builder::param(Param::Role role, int number) {
  const Param wanted{role, number};
  for (size_t slot = 0; slot < program_.params.size(); ++slot)
    if (program_.params[slot] == wanted) return params_[slot];
  Inst& inst = constants_.append(Op::param);
  inst.imm = static_cast<int64_t>(program_.params.size());
  program_.params.push_back(wanted);
  const bool is_index = role == Param::Role::begin || role == Param::Role::count;
  params_.push_back(give(inst, is_index ? Type::index() : Type::ptr()));
  return params_.back();
}

int Builder::add_table(std::vector<int64_t> table) {
  for (size_t i = 0; i < program_.tables.size(); ++i)
    if (program_.tables[i] == table) return static_cast<int>(i);
  program_.tables.push_back(std::move(table));
  return static_cast<int>(program_.tables.size() - 1);
}

int Builder::add_task(std::string name, int64_t extent) {
  program_.tasks.push_back({std::move(name), extent});
  return static_cast<int>(program_.tasks.size() - 1);
}

Address Builder::add_scratch(int64_t bytes) {
  const int64_t lines = (bytes + scratch_alignment - 1) / scratch_alignment;
  const int64_t offset = program_.scratch_bytes;
  program_.scratch_bytes += lines * scratch_alignment;
  return {param(Param::Role::scratch), {}, offset};
}

Builder::Loop Builder::begin_loop(Value trip, const Values& init) {
  Inst& inst = append(Op::loop);
  inst.args.push_back(trip);
  inst.args.insert(inst.args.end(), init.begin(), init.end());
  Loop loop;
  loop.iv = give(inst, Type::index());
  InlineList<Type, 4>& carried_types = open_loops_.emplace_back();
  for (Value value : init) {
    carried_types.push_back(type(value));
    loop.carried.push_back(give(inst, carried_types.back()));
  }
  return loop;
}

Values Builder::end_loop(const Values& next) {
  POOLJIT_CHECK(!open_loops_.empty(), "end_loop without begin_loop");
  POOLJIT_CHECK(open_loops_.back().size() == next.size(),
                "a loop must carry as many values as it began with");
  Inst& inst = append(Op::end);
  inst.args = next;
  for (const Type& carried : open_loops_.back()) give(inst, carried);
  open_loops_.pop_back();
  return inst.results;
}

void Builder::ret() { append(Op::ret); }

void Builder::list_constants() {
  const auto list = [&](const Inst& inst) {
    if (inst.op == Op::iconst) index_constants_.try_emplace(inst.imm, inst.results[0]);
  };
  for (; listed_leading_ < leading_; ++listed_leading_) list(program_.insts[listed_leading_]);
  for (; listed_constants_ < constants_.size(); ++listed_constants_) list(constants_[listed_constants_]);
}

Value Builder::iconst(int64_t value) {
  auto known = index_constants_.find(value);
  if (known != index_constants_.end()) return known->second;
  list_constants();
  known = index_constants_.find(value);
  if (known != index_constants_.end()) return known->second;
  Inst& inst = constants_.append(Op::iconst);
  inst.imm = value;
  const Value name = give(inst, Type::index());
  constant_of_.resize(program_.types.size());
  constant_of_.back() = value;
  return name;
}

std::optional<int64_t> Builder::constant(Value value) const {
  const size_t at = static_cast<size_t>(value);
  return at < constant_of_.size() ? constant_of_[at] : std::nullopt;
}

namespace {

int64_t fold(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::iadd:
      return a + b;
    case Op::imul:
      return a * b;
    case Op::imin:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

}  // namespace

Value Builder::index_op(Op op, Value a, Value b) {
  const std::optional<int64_t> left = constant(a), right = constant(b);
  if (left && right) return iconst(fold(op, *left, *right));
  if (op == Op::iadd && left && *left == 0) return b;
  if (op == Op::iadd && right && *right == 0) return a;
  if (op == Op::imul && ((left && *left == 0) || (right && *right == 0))) return iconst(0);
  if (op == Op::imul && left && *left == 1) return b;
  if (op == Op::imul && right && *right == 1) return a;
  return compute(op, Type::index(), {a, b});
}

Value Builder::iadd(Value a, Value b) { return index_op(Op::iadd, a, b); }
Value Builder::imul(Value a, Value b) { return index_op(Op::imul, a, b); }
Value Builder::imin(Value a, Value b) { return index_op(Op::imin, a, b); }
Value Builder::imax(Value a, Value b) { return index_op(Op::imax, a, b); }

Value Builder::iload(const Address& address) {
  Inst& inst = append(Op::iload);
  inst.addr = address;
  return give(inst, Type::index());
}

Value Builder::ptradd(const Address& address, Value index) {
  if (index == no_value && address.terms.empty() && address.offset == 0) return address.base;
  Inst& inst = append(Op::ptradd);
  inst.addr = address;
  if (index != no_value) inst.args.push_back(index);
  return give(inst, Type::ptr());
}

Value Builder::load(Type type, const Address& address, Value mask, Value pass) {
  Inst& inst = append(Op::load);
  inst.addr = address;
  if (mask != no_value) inst.args = {mask, pass};
  return give(inst, type);
}

void Builder::store(const Address& address, Value value, Value mask, bool non_temporal) {
  Inst& inst = append(Op::store);
  inst.addr = address;
  inst.args.push_back(value);
  if (mask != no_value) inst.args.push_back(mask);
  inst.non_temporal = non_temporal;
}

void Builder::prefetch(const Address& address) { append(Op::prefetch).addr = address; }

Value Builder::vconst(Type type, std::vector<int64_t> bits) {
  POOLJIT_CHECK(static_cast<int>(bits.size()) == type.lanes, "vconst needs a value for each lane");
  for (int64_t& lane : bits) lane = lane_bits(type.dtype, lane);
  return share(Op::vconst, type, bits);
}

Value Builder::vconst_splat(Type type, int64_t bits) {
  for (const Splat& known : splats_)
    if (known.bits == bits && known.type == type) return known.value;
  const Value value = vconst(type, std::vector<int64_t>(static_cast<size_t>(type.lanes), bits));
  splats_.push_back({type, bits, value});
  return value;
}

Value Builder::splat(Type type, Value index) {
  if (const std::optional<int64_t> value = constant(index)) return vconst_splat(type, *value);
  return compute(Op::splat, type, {index});
}

Value Builder::shuffle(Value a, Value b, std::span<const int64_t> lanes) {
  const Type result = Type::vec(type(a).dtype, static_cast<int>(lanes.size()));
  Inst& inst = append(Op::shuffle);
  inst.args.push_back(a);
  if (b != no_value) inst.args.push_back(b);
  inst.data.assign(lanes.begin(), lanes.end());
  return give(inst, result);
}

Value Builder::vmask(Type mask_type, const std::vector<int64_t>& lanes) {
  return share(Op::vmask, mask_type, lanes);
}

Value Builder::cmp(Predicate pred, Value a, Value b) {
  Inst& inst = append(Op::cmp);
  inst.args = {a, b};
  inst.pred = pred;
  return give(inst, type(a).mask_of());
}

Value Builder::select(Value mask, Value a, Value b) {
  if (a == b) return a;
  return compute(Op::select, type(a), {mask, a, b});
}

Value Builder::binary(Op op, Value a, Value b) { return compute(op, type(a), {a, b}); }

Value Builder::fma(Value a, Value b, Value c) { return compute(Op::fma, type(a), {a, b, c}); }

Value Builder::sqrt(Value a) { return compute(Op::sqrt, type(a), {a}); }

Value Builder::shift(Op op, Value a, int64_t bits) {
  Inst& inst = append(op);
  inst.args.push_back(a);
  inst.imm = bits;
  return give(inst, type(a));
}

Value Builder::cvt(DType to, Value a, bool saturate) {
  if (type(a).dtype == to) return a;
  Inst& inst = append(Op::cvt);
  inst.args.push_back(a);
  inst.saturate = saturate;
  return give(inst, Type::vec(to, type(a).lanes));
}

Value Builder::bitcast(Type to, Value a) {
  if (type(a) == to) return a;
  return compute(Op::bitcast, to, {a});
}

void renumber(Program& program) {
  std::vector<Value> name(program.types.size(), no_value);
  std::vector<Type> types(program.types.size());
  Value next = 0;
  const auto rename = [&](Value& value) {
    if (value != no_value) value = name[static_cast<size_t>(value)];
  };
  for (Inst& inst : program.insts) {
    for (Value& arg : inst.args) rename(arg);
    if (inst.addr.base != no_value) {
      rename(inst.addr.base);
      for (Term& term : inst.addr.terms) rename(term.iv);
    }
    for (Value& result : inst.results) {
      types[static_cast<size_t>(next)] = program.type(result);
      name[static_cast<size_t>(result)] = next;
      result = next++;
    }
  }
  types.resize(static_cast<size_t>(next));
  program.types = std::move(types);
}

Program Builder::finish() {
  POOLJIT_CHECK(open_loops_.empty(), "a loop is still open");
  program_.insts.insert(leading_, std::move(constants_));
  return std::move(program_);
}

}  // namespace pooljit::ir
