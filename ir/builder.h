// Builder: the only way a lowering or a pass makes instructions. It computes result types (ops.def's rules),
// folds index arithmetic on constants and shares equal constants, which it puts at the top of the Program,
// before any loop.
//
// No two arguments of one call may both emit: C++ leaves open which is first, and the same spec has to make
// the same Program with every compiler.
#pragma once

#include <boost/container/flat_map.hpp>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"

namespace pooljit::ir {

class Builder {
 public:
  Builder(std::string name, Isa isa);
  // For passes: goes on from a Program's parameters, tasks, tables and values. Its instructions come back in
  // order, through keep() or as new ones.
  explicit Builder(Program&& source);
  void keep(InstPtr inst);
  // Like an instruction of another Program, but for its operands, which are renamed, as are its results: by
  // the other Program's values. Not a param, loop, end or ret.
  void copy(const Inst& inst, const Program& from, std::vector<Value>& renamed);
  Value define(Type type);
  size_t values() const { return program_.types.size(); }

  // --- parameters and tables; a second call with the same role and number gives the same value
  Value param(Param::Role role, int number = 0);
  int add_table(std::vector<int64_t> table);  // equal ones are one
  int add_task(std::string name, int64_t extent);
  // So many bytes of scratch memory, the next ones, aligned to a cache line.
  Address add_scratch(int64_t bytes);

  // --- structure
  struct Loop {
    Value iv = no_value;
    Values carried;
  };
  Loop begin_loop(Value trip, const Values& init = {});
  Values end_loop(const Values& next = {});
  void ret();

  // --- index and address
  Value iconst(int64_t value);
  Value iadd(Value a, Value b);
  Value imul(Value a, Value b);
  Value isub(Value a, Value b) { return iadd(a, imul(b, iconst(-1))); }
  Value imin(Value a, Value b);
  Value imax(Value a, Value b);
  Value iload(const Address& address);
  Value ptradd(const Address& address, Value index = no_value);

  // --- memory
  Value load(Type type, const Address& address, Value mask = no_value, Value pass = no_value);
  void store(const Address& address, Value value, Value mask = no_value, bool non_temporal = false);
  void prefetch(const Address& address);

  // --- lanes
  Value vconst(Type type, std::vector<int64_t> bits);
  Value vconst_splat(Type type, int64_t bits);
  Value splat(Type type, Value index);
  Value shuffle(Value a, Value b, std::span<const int64_t> lanes);
  Value vmask(Type mask_type, const std::vector<int64_t>& lanes);
  Value cmp(Predicate pred, Value a, Value b);
  Value select(Value mask, Value a, Value b);
  Value binary(Op op, Value a, Value b);  // add sub mul div min max and_ or_
  Value fma(Value a, Value b, Value c);
  Value sqrt(Value a);
  Value shift(Op op, Value a, int64_t bits);  // shl shr
  Value cvt(DType to, Value a, bool saturate = false);
  Value bitcast(Type to, Value a);

  const Type& type(Value value) const { return program_.type(value); }
  Isa isa() const { return program_.isa; }
  // The value as a constant index, if it is one.
  std::optional<int64_t> constant(Value value) const;

  // Ends the Program: constants first, then the instructions in the order of the calls. Its values are named
  // as they were made; `renumber` names them in order. The Builder is spent.
  Program finish();

 private:
  // A new instruction at the end of the Program, to be filled in before the next one.
  Inst& append(Op op);
  Value give(Inst& inst, Type type);  // one more result
  Value compute(Op op, Type type, std::initializer_list<Value> args);
  Value share(Op op, Type type, std::span<const int64_t> data);
  void list_constants();
  Value index_op(Op op, Value a, Value b);

  Program program_;
  InstList constants_;  // params, iconst, vconst, vmask
  size_t leading_ = 0;  // more of them, where the Program has them: they were kept
  struct Splat {
    Type type;
    int64_t bits;
    Value value;
  };
  std::vector<Splat> splats_;                                   // vconsts that were asked for as such
  std::vector<std::optional<int64_t>> constant_of_;             // by Value
  std::vector<Value> params_;                                   // by slot
  boost::container::flat_map<int64_t, Value> index_constants_;  // by value
  // So many of the constants have been looked through for that map.
  size_t listed_leading_ = 0, listed_constants_ = 0;
  std::vector<InlineList<Type, 4>> open_loops_;
};

// Names values in the order of their definitions, so that a Program does not show how it was built.
void renumber(Program& program);

}  // namespace pooljit::ir
