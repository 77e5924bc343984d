#include "ir/cost.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace pooljit::ir {
namespace {

constexpr double reorder_window = 256;  // instructions; loops that fit overlap with what comes behind them
constexpr double hertz = 3e9;           // nominal

OpClass class_of(const Inst& inst) {
  switch (inst.op) {
    case Op::bitcast:  // renames a register
      return OpClass::free;
    case Op::load:
      return inst.args.empty() ? OpClass::load : OpClass::masked_load;
    case Op::store:
      return inst.args.size() == 1 ? OpClass::store : OpClass::masked_store;
    case Op::shuffle:
      return OpClass::shuffle;
    case Op::div:
      return OpClass::divide;
    case Op::sqrt:
      return OpClass::root;
    case Op::cvt:
      return OpClass::convert;
    case Op::select:
    case Op::propagate:
      return OpClass::choose;
    case Op::loop:
      return OpClass::branch;
    case Op::iadd:
    case Op::imul:
    case Op::imin:
    case Op::imax:
    case Op::iload:
    case Op::ptradd:
    case Op::splat:
      return OpClass::index;
    default:
      return info(inst.op).group == "arithmetic" || info(inst.op).group == "bits" || inst.op == Op::cmp
                 ? OpClass::arithmetic
                 : OpClass::free;
  }
}

double busiest(const OpCounts& counts) { return *std::max_element(counts.busy.begin(), counts.busy.end()); }

// --- counting

// Runs the index part of a Program, which is all that decides how often each instruction is executed. A loop
// whose inner loops run equally often each time is run once and multiplied. What the blocks are executed is
// added up, and only in the end their instructions.
class Counter {
 public:
  Counter(const Program& program, const OpCosts& costs, int64_t most_turns)
      : program_(program),
        costs_(costs),
        turns_left_(most_turns),
        known_(program.types.size()),
        matters_(program.types.size()),
        block_of_(program.insts.size()) {
    find_what_matters();
    blocks_.emplace_back();
    std::vector<size_t> open = {0};
    for (size_t i = 0; i < program.insts.size(); ++i) {
      const Inst& inst = program.insts[i];
      Block& block = blocks_[open.back()];
      take(inst, block.own);
      if (inst.op == Op::loop || any_matters(inst.results)) block.steps.push_back(i);
      if (inst.op == Op::loop) {
        block.is_innermost = false;
        block_of_[i] = blocks_.size();
        open.push_back(blocks_.size());
        blocks_.emplace_back();
      } else if (inst.op == Op::end) {
        block.end = i;
        open.pop_back();
      }
    }
    for (size_t i = 0; i < program.insts.size(); ++i) {
      if (program.insts[i].op != Op::loop) continue;
      Block& block = blocks_[block_of_[i]];
      if (block.is_innermost) {
        block.wait = std::max(0.0, chain(i) - busiest(block.own));
        block.hidden_turns = reorder_window / block.own.instructions;
      } else {
        block.repeats = !inner_trips_change(i);
      }
      add(OpClass::branch, block.own);
    }
  }

  OpCounts count() {
    run(blocks_[0], 1);
    OpCounts all;
    for (const Block& block : blocks_) add_scaled(all, block.own, block.turns);
    all.stalls = stalls_;
    all.are_all = turns_left_ >= 0;
    return all;
  }

 private:
  // The body of a loop, or the whole Program.
  struct Block {
    size_t end = 0;             // of a loop: its end
    OpCounts own;               // of a turn, with the loop's branch, without inner loops
    double turns = 0;           // so far
    std::vector<size_t> steps;  // what has to be evaluated: what matters, and inner loops
    bool is_innermost = true;
    bool repeats = true;      // its inner loops run equally often in each turn
    double wait = 0;          // cycles that a turn waits for the one before, beyond the work that it has
    double hidden_turns = 0;  // of a loop of fewer, what follows it is done meanwhile
  };
  const Block& body(size_t loop) const { return blocks_[block_of_[loop]]; }

  struct Flag {
    bool set = false;  // by value; std::vector<bool> takes several times the instructions
  };

  // An index, or a pointer as an offset, if it points into a table.
  struct Known {
    int64_t number = 0;
    int table = -1;
  };
  Known& known(Value value) { return known_[static_cast<size_t>(value)]; }

  void run(Block& block, double times) {
    block.turns += times;
    for (const size_t i : block.steps) {
      if (program_.insts[i].op == Op::loop)
        run_loop(i, times);
      else
        evaluate(program_.insts[i]);
    }
  }

  static void add_scaled(OpCounts& sum, const OpCounts& part, double times) {
    sum.instructions += times * part.instructions;
    sum.loads += times * part.loads;
    sum.stores += times * part.stores;
    for (size_t i = 0; i < unit_count; ++i) sum.busy[i] += times * part.busy[i];
    for (size_t i = 0; i < op_class_count; ++i) sum.executed[i] += times * part.executed[i];
  }

  void take(const Inst& inst, OpCounts& counts) const {
    const OpClass op = class_of(inst);
    if (op == OpClass::free) return;
    counts.loads += inst.op == Op::load ? 1 : 0;
    counts.stores += inst.op == Op::store ? 1 : 0;
    add(op, counts);
  }

  void add(OpClass op, OpCounts& counts) const {
    counts.instructions += 1;
    counts.executed[static_cast<size_t>(op)] += 1;
    counts.busy[static_cast<size_t>(unit_of(op))] += costs_.cycles[static_cast<size_t>(op)];
    counts.busy[static_cast<size_t>(Unit::decode)] += costs_.decode;
  }

  template <typename Values>
  bool any_matters(const Values& values) const {
    return std::ranges::any_of(values, [&](Value value) { return matters_[static_cast<size_t>(value)].set; });
  }

  // Indices and pointers that trip counts depend on, through tables or not.
  void find_what_matters() {
    bool grew = false;
    const auto mark = [&](Value value) {
      bool& matters = matters_[static_cast<size_t>(value)].set;
      grew = grew || !matters;
      matters = true;
    };
    do {
      grew = false;
      std::vector<const Inst*> ends;  // of the open loops, walking back
      for (size_t i = program_.insts.size(); i-- > 0;) {
        const Inst& inst = program_.insts[i];
        if (inst.op == Op::end) ends.push_back(&inst);
        if (inst.op == Op::loop) {
          const Inst& end = *ends.back();
          ends.pop_back();
          mark(inst.args[0]);
          for (size_t carried = 1; carried < inst.args.size(); ++carried) {
            if (!any_matters(std::array{inst.results[carried], end.results[carried - 1]})) continue;
            mark(inst.results[carried]);
            mark(inst.args[carried]);
            mark(end.args[carried - 1]);
          }
        } else if (inst.op != Op::end && any_matters(inst.results)) {
          for (const Value value : inst.args) mark(value);
          if (inst.addr.base != no_value) mark(inst.addr.base);
        }
      }
    } while (grew);
  }

  void evaluate(const Inst& inst) {
    const auto arg = [&](size_t i) { return known(inst.args[i]).number; };
    Known& result = known(inst.results[0]);
    switch (inst.op) {
      case Op::param:
        result = parameter(program_.params[static_cast<size_t>(inst.imm)]);
        break;
      case Op::iconst:
        result.number = inst.imm;
        break;
      case Op::iadd:
        result.number = arg(0) + arg(1);
        break;
      case Op::imul:
        result.number = arg(0) * arg(1);
        break;
      case Op::imin:
        result.number = std::min(arg(0), arg(1));
        break;
      case Op::imax:
        result.number = std::max(arg(0), arg(1));
        break;
      case Op::ptradd:
        result = known(inst.addr.base);
        result.number += inst.addr.offset + (inst.args.empty() ? 0 : arg(0));
        break;
      case Op::iload:
        result.number = read_table(inst.addr);
        break;
      default:
        break;
    }
  }

  // All tasks of a batch of one.
  Known parameter(const Param& param) const {
    if (param.role == Param::Role::table) return {0, param.number};
    if (param.role != Param::Role::count) return {};
    const int64_t extent = program_.tasks[static_cast<size_t>(param.number)].extent;
    return {extent == TaskDim::batch_extent ? 1 : extent, -1};
  }

  int64_t read_table(const Address& address) {
    const Known& base = known(address.base);
    if (base.table < 0) return 0;
    const auto& table = program_.tables[static_cast<size_t>(base.table)];
    const int64_t at = (base.number + address.offset) / int64_t{sizeof(int64_t)};
    // Only in a loop that is run once instead of often: nothing depends on it.
    return at >= 0 && at < static_cast<int64_t>(table.size()) ? table[static_cast<size_t>(at)] : 0;
  }

  void run_loop(size_t loop, double times) {
    const Inst& head = program_.insts[loop];
    Block& block = blocks_[block_of_[loop]];
    const Inst& end = program_.insts[block.end];
    const int64_t trip = known(head.args[0]).number;
    const size_t carried = head.args.size() - 1;
    for (size_t i = 0; i < carried; ++i) known(head.results[i + 1]) = known(head.args[i + 1]);
    const int64_t at_once = block.repeats ? trip : 1;
    for (int64_t iv = 0; iv < trip && --turns_left_ >= 0; iv += at_once) {
      known(head.results[0]).number = iv;
      run(block, times * static_cast<double>(at_once));
      for (size_t i = 0; i < carried; ++i) step(head.results[i + 1], end.args[i], at_once);
    }
    if (static_cast<double>(trip) >= block.hidden_turns)
      stalls_ += times * static_cast<double>(trip) * block.wait;
    for (size_t i = 0; i < carried; ++i) known(end.results[i]) = known(head.results[i + 1]);
  }

  // Pointers and indices are carried by steps of one size.
  void step(Value carried, Value next, int64_t times) {
    known(carried).number += times * (known(next).number - known(carried).number);
  }

  // Whether the trip count of a loop inside depends on the turn of this one.
  bool inner_trips_change(size_t loop) {
    std::vector<Flag> varies(program_.types.size());
    bool grew = true, found = false;
    const auto any = [&](const auto& values) {
      return std::ranges::any_of(values, [&](Value value) { return varies[static_cast<size_t>(value)].set; });
    };
    const auto mark = [&](const auto& values) {
      for (const Value value : values) {
        bool& one = varies[static_cast<size_t>(value)].set;
        grew = grew || !one;
        one = true;
      }
    };
    mark(program_.insts[loop].results);
    // What an inner loop carries may begin constant and vary later: until nothing new is found.
    std::vector<size_t> open;
    while (grew && !found) {
      grew = false;
      for (size_t i = loop + 1; i < body(loop).end; ++i) {
        const Inst& inst = program_.insts[i];
        const bool base = inst.addr.base != no_value && varies[static_cast<size_t>(inst.addr.base)].set;
        if (inst.op == Op::loop) {
          open.push_back(i);
          found = found || varies[static_cast<size_t>(inst.args[0])].set;
        }
        if (any(inst.args) || base) mark(inst.results);
        if (inst.op != Op::end) continue;
        if (any(inst.args)) mark(program_.insts[open.back()].results);
        open.pop_back();
      }
    }
    return found;
  }

  // Cycles from what a turn of an innermost loop gets of the one before to what it hands on. Others are taken
  // not to wait.
  double chain(size_t loop) const {
    const Inst& head = program_.insts[loop];
    std::vector<double> depth(program_.types.size(), -1);  // -1: does not depend on the turn before
    for (size_t i = 2; i < head.results.size() + 1; ++i)
      if (program_.type(head.results[i - 1]).kind == Type::Kind::vec)
        depth[static_cast<size_t>(head.results[i - 1])] = 0;
    for (size_t i = loop + 1; i < body(loop).end; ++i) {
      const Inst& inst = program_.insts[i];
      double deepest = -1;
      for (Value value : inst.args) deepest = std::max(deepest, depth[static_cast<size_t>(value)]);
      if (deepest < 0) continue;
      for (Value value : inst.results)
        depth[static_cast<size_t>(value)] = deepest + latency_of(class_of(inst));
    }
    double longest = 0;
    for (Value value : program_.insts[body(loop).end].args)
      longest = std::max(longest, depth[static_cast<size_t>(value)]);
    return longest;
  }

  const Program& program_;
  const OpCosts& costs_;
  int64_t turns_left_;
  std::vector<Known> known_;
  std::vector<Flag> matters_;
  std::vector<size_t> block_of_;  // by loop: its place in blocks_
  std::vector<Block> blocks_;     // the whole Program is the first
  double stalls_ = 0;
};

double elements(const PoolNest& nest) {
  double count = static_cast<double>(nest.channels);
  for (const NestDim& dim : nest.dims) count *= static_cast<double>(dim.output);
  return count;
}

double bytes_moved(const PoolNest& nest) {
  double inputs = static_cast<double>(nest.channels);
  for (const NestDim& dim : nest.dims) inputs *= static_cast<double>(dim.input);
  const double indexed = nest.is_backward() ? inputs : elements(nest);
  return inputs * bytes(nest.input.dtype) + elements(nest) * bytes(nest.output.dtype) +
         (nest.indices ? indexed * bytes(nest.indices->dtype) : 0);
}

int level_of(double footprint, const Caches& caches) {
  for (size_t level = 0; level < caches.bytes.size(); ++level)
    if (footprint <= static_cast<double>(caches.bytes[level])) return static_cast<int>(level) + 1;
  return static_cast<int>(caches.bytes.size()) + 1;
}

}  // namespace

OpCounts count_ops(const Program& legal, const OpCosts& costs, int64_t most_turns) {
  return Counter(legal, costs, most_turns).count();
}

Cost predict(const Program& legal, const PoolNest& nest, int64_t batch, const Machine& machine,
             int64_t most_turns) {
  const OpCosts& costs = costs_of(machine.name, legal.isa);
  Cost cost;
  cost.counts = count_ops(legal, costs, most_turns);
  cost.outputs = elements(nest);
  const auto& busy = cost.counts.busy;
  cost.limit = static_cast<Unit>(std::max_element(busy.begin(), busy.end()) - busy.begin());
  cost.cycles = (busiest(cost.counts) + cost.counts.stalls) / cost.outputs;
  const double batches = static_cast<double>(std::max<int64_t>(batch, 1));
  cost.level = level_of(batches * bytes_moved(nest), machine.caches);
  cost.memory_cycles =
      bytes_moved(nest) / cost.outputs / costs.level_bytes[static_cast<size_t>(cost.level) - 1];
  cost.seconds = batches * cost.outputs * std::max(cost.cycles, cost.memory_cycles) / hertz;
  return cost;
}

}  // namespace pooljit::ir
