// Liveness: which values of a legal Program need a register, from where to where, and which of them share
// one. Values that are moved into each other without overlapping (what a loop carries, and its inits and
// nexts) become one web, so that the move vanishes.
//
// Points: at 2 i instruction i reads its operands, at 2 i + 1 it writes its results.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "ir/program.h"
#include "jit/xbyak/operand_rules.h"

namespace pooljit::jit {

enum class RegClass : uint8_t { none, gpr, vec, mask };

// True if an instruction of 64 bits can have the number in itself.
inline bool fits_immediate(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
}

struct Range {
  int begin = 0, end = -1;
  bool overlaps(const Range& other) const { return begin <= other.end && other.begin <= end; }
};

struct Web {
  RegClass cls = RegClass::none;
  Range range;
  float weight = 0;  // reads and writes, by how often their loop runs
};

class Liveness {
 public:
  explicit Liveness(const ir::Program& program);

  const OperandRules& rules() const { return rules_; }
  int points() const { return 2 * static_cast<int>(program_.insts.size()); }
  const std::vector<Web>& webs() const { return webs_; }
  // The web of a value; -1 if it has none (constants, loads that became memory operands, unused counters).
  int web(ir::Value value) const { return of(value).web; }
  // The web of the register that counts down in the loop that begins at instruction `begin`; -1 if the loop
  // needs none: it runs once, or its own counter is used.
  int countdown_web(int begin) const;

  // The end of the loop that begins at `inst`, and the other way round.
  int partner(int inst) const { return at(inst).partner; }
  // Loops around an instruction, and the first instruction of the one at that depth.
  int depth(int inst) const { return at(inst).depth; }
  int loop_at(int inst, int depth) const;
  float weight(int inst) const { return at(inst).weight; }
  bool is_innermost(int loop) const { return !at(loop).has_inner; }

  // Instruction that defines a value.
  int definition(ir::Value value) const { return of(value).defined; }
  const ir::Inst& defining(ir::Value value) const { return code(definition(value)); }
  // Through bitcasts and the like, to what has the same bits.
  ir::Value root(ir::Value value) const { return of(value).root; }
  // True for a load whose only reader takes it as a memory operand: no code at its own place.
  bool is_folded(ir::Value load) const { return of(load).is_folded; }
  // True for an operation and the select behind it that are one masked instruction, which works in the
  // register of what the select keeps elsewhere: code at the operation's place, none at the select's.
  bool is_merged(int inst) const { return at(inst).is_merged; }
  bool is_used(ir::Value value) const { return of(value).uses > 0; }
  bool is_constant(ir::Value value) const { return of(value).is_constant; }
  // True for what may need a constant in a register or in memory, one of its own or an operand.
  bool concerns_constants(int inst) const { return at(inst).concerns_constants; }

  int last_param() const { return last_param_; }  // the last instruction that is one; -1: there is none
  // True if an index constant does not fit into an instruction of 64 bits.
  bool has_long_index() const { return has_long_index_; }

 private:
  struct OfInst;
  struct OfValue;
  OfInst& at(int inst) { return insts_[static_cast<size_t>(inst)]; }
  const OfInst& at(int inst) const { return insts_[static_cast<size_t>(inst)]; }
  OfValue& of(ir::Value value) { return values_[static_cast<size_t>(value)]; }
  const OfValue& of(ir::Value value) const { return values_[static_cast<size_t>(value)]; }
  const ir::Inst& code(int inst) const { return program_.insts[static_cast<size_t>(inst)]; }
  bool is_countdown(ir::Value value) const { return static_cast<size_t>(value) >= program_.types.size(); }

  void read_program();
  void read_result(const ir::Inst& inst, int i);
  void find_uses();
  void fold_load(const ir::Inst& inst, int loads);
  void merge(int select, int line);
  bool dies_in_merge(ir::Value value, int select, int line) const;
  void use(ir::Value value, int inst, float weight);
  void extend(ir::Value value, int point);
  void extend_over_loops();
  void join_all();
  void join_carried(int end);
  void join_overwritten(int inst);
  int find_web(ir::Value value) const;
  bool join(ir::Value a, ir::Value b, bool same_bits);
  void make_webs();
  RegClass class_of(ir::Value value) const;

  const ir::Program& program_;
  OperandRules rules_;
  struct OfInst {
    int partner = -1, depth = 0;
    int outer = -1;      // the loop around it
    int countdown = -1;  // its pseudo-value, of a loop
    float weight = 0;    // how often it runs
    bool has_inner = false, is_merged = false, concerns_constants = false;
  };
  struct OfValue {
    Range range;
    float weight = 0;
    int defined = -1, uses = 0, web = -1;
    int depth = 0;  // loops that it lives in, of those around its definition
    ir::Value root = ir::no_value;
    int leader = -1, next_in_web = -1;  // union-find, and the members as a ring
    bool may_fold = false, is_folded = false, is_constant = false;
  };
  std::vector<OfInst> insts_;
  std::vector<OfValue> values_;  // after the Program's, one countdown per loop
  boost::container::small_vector<int, 16> loops_, ends_, propagations_;  // instructions, in order
  boost::container::small_vector<ir::Value, 16> aliases_;                // whose root is another value
  int last_param_ = -1;
  bool has_long_index_ = false;
  std::vector<Web> webs_;
};

}  // namespace pooljit::jit
