#include "ir/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/fusion.h"
#include "ir/passes/pipeline.h"

namespace pooljit::ir {
namespace {

bool is_member_output(Param::Role role) {
  return role == Param::Role::output || role == Param::Role::indices;
}

// The most tasks that divide those of all members in such a dimension, and are no more than `most`.
int64_t common_extent(std::span<const MemberPart> members, std::string_view name, int64_t most) {
  int64_t each = 0;
  for (const MemberPart& member : members) {
    const std::vector<TaskDim>& tasks = member.program.tasks;
    const auto own = std::ranges::find(tasks, name, &TaskDim::name);
    each = std::gcd(each, own == tasks.end() || own->extent == TaskDim::size_extent ? 1 : own->extent);
  }
  int64_t tasks = std::min(each, most);
  while (each % tasks != 0) --tasks;
  return tasks;
}

std::vector<TaskDim> common_tasks(std::span<const MemberPart> members, const MemberTasks& most) {
  std::vector<TaskDim> common;
  for (const TaskDim& task : members[0].program.tasks)
    if (task.extent == TaskDim::batch_extent) common.push_back(task);
  constexpr std::string_view rows = "o0", channels = "c";
  if (const int64_t extent = common_extent(members, rows, most.rows); extent > 1)
    common.push_back({std::string(rows), extent});
  else if (const int64_t others = common_extent(members, channels, most.channels); others > 1)
    common.push_back({std::string(channels), others});
  return common;
}

std::vector<TaskDim> piece_tasks(const Program& any, int64_t pieces) {
  std::vector<TaskDim> tasks;
  for (const TaskDim& task : any.tasks)
    if (task.extent == TaskDim::batch_extent) tasks.push_back(task);
  tasks.push_back({"c", pieces});
  return tasks;
}

class Joiner {
 public:
  // pieces: none, or the last task goes through them.
  Joiner(std::string name, std::span<const MemberPart> parts, std::vector<TaskDim> tasks,
         const MemberPieces* pieces, bool fused = false)
      : parts_(parts),
        tasks_(std::move(tasks)),
        pieces_(pieces),
        fused_(fused),
        b_(std::move(name), parts_[0].program.isa) {}

  Program run() {
    for (const TaskDim& task : tasks_) b_.add_task(task.name, task.extent);
    reserve();
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const Value begin = b_.param(Param::Role::begin, static_cast<int>(i));
      const Value count = b_.param(Param::Role::count, static_cast<int>(i));
      now_.push_back(b_.iadd(begin, b_.begin_loop(count).iv));
    }
    std::vector<FusedPart> named;
    for (const MemberPart& part : parts_) {
      named.push_back({&part.program, params_of(part)});
      if (fused_) continue;
      fuse(b_, named);
      named.clear();
    }
    fuse(b_, named);
    for (size_t i = 0; i < tasks_.size(); ++i) b_.end_loop();
    b_.ret();
    Program joined = b_.finish();
    renumber(joined);
    return joined;
  }

 private:
  struct Pointer {
    Param::Role role;
    int number;
    Value value;
  };

  // Where a Program's tasks begin that has `each` of them for one of the shared task.
  struct Begin {
    size_t task;
    Value each, value;
  };

  // Memory that the Programs have one after the other, and rooms, which stay.
  void reserve() {
    int64_t shared = 0;
    for (const MemberPart& part : parts_) shared = std::max(shared, part.program.scratch_bytes);
    if (shared > 0) b_.add_scratch(shared);
    if (pieces_ == nullptr) return;
    for (const int64_t bytes : pieces_->rooms)
      rooms_.push_back(bytes == 0 ? Address{} : b_.add_scratch(bytes));
  }

  // By Value of the part's Program; no others.
  std::vector<Value> params_of(const MemberPart& part) {
    const Program& program = part.program;
    std::vector<Value> renamed(program.types.size(), no_value);
    for (const Inst& inst : program.insts)
      if (inst.op == Op::param)
        renamed[static_cast<size_t>(inst.results[0])] =
            param(part, program.params[static_cast<size_t>(inst.imm)]);
    return renamed;
  }

  Value param(const MemberPart& part, const Param& own) {
    switch (own.role) {
      case Param::Role::table:
        return b_.param(own.role, b_.add_table(part.program.tables[static_cast<size_t>(own.number)]));
      case Param::Role::begin:
      case Param::Role::count:
        return range(part, part.program.tasks[static_cast<size_t>(own.number)], own.role);
      case Param::Role::input:
        return part.reads < 0 ? piece(own.role, 0) : room(part.reads);
      case Param::Role::output:
        return part.writes < 0 ? piece(own.role, part.member) : room(part.writes);
      case Param::Role::indices:
        return piece(own.role, part.member);
      case Param::Role::operand:
        return piece(own.role, part.first_operand + own.number);
      case Param::Role::size:
        return b_.param(own.role, part.member);
      default:
        return b_.param(own.role, own.number);
    }
  }

  Value room(int number) { return b_.ptradd(rooms_[static_cast<size_t>(number)]); }

  // Where the present piece of a tensor begins.
  Value piece(Param::Role role, int number) {
    const Value tensor = b_.param(role, number);
    if (pieces_ == nullptr || pieces_->count == 1) return tensor;
    for (const Pointer& known : pointers_)
      if (known.role == role && known.number == number) return known.value;
    const auto of = [&](const std::vector<int64_t>& bytes) { return bytes[static_cast<size_t>(number)]; };
    const int64_t apart = role == Param::Role::input     ? pieces_->input_bytes
                          : role == Param::Role::output  ? of(pieces_->output_bytes)
                          : role == Param::Role::indices ? of(pieces_->indices_bytes)
                                                         : of(pieces_->operand_bytes);
    const Value bytes = b_.imul(now_.back(), b_.iconst(apart));
    const Value begin = b_.ptradd({.base = tensor}, bytes);
    pointers_.push_back({role, number, begin});
    return begin;
  }

  Value word(const MemberPart& part, int number) {
    const Value words = b_.param(Param::Role::size, part.member);
    return b_.iload({words, {}, number * int64_t{sizeof(int64_t)}});
  }

  // Where a Program's tasks begin for the present one of all, or how many it has.
  Value range(const MemberPart& part, const TaskDim& own, Param::Role role) {
    const bool is_batch = own.extent == TaskDim::batch_extent;
    const auto shared = std::ranges::find(tasks_, own.name, &TaskDim::name);
    const bool is_begin = role == Param::Role::begin;
    if (own.extent == TaskDim::size_extent) return is_begin ? b_.iconst(0) : word(part, part.rows_word);
    if (shared == tasks_.end() || (pieces_ != nullptr && !is_batch))
      return b_.iconst(is_begin ? 0 : own.extent);
    const Value each = b_.iconst(is_batch ? 1 : own.extent / shared->extent);
    if (!is_begin) return each;
    // Once for all parts that begin at the same.
    const Begin wanted{static_cast<size_t>(shared - tasks_.begin()), each, no_value};
    for (const Begin& known : begins_)
      if (known.task == wanted.task && known.each == each) return known.value;
    begins_.push_back(wanted);
    begins_.back().value = b_.imul(now_[wanted.task], each);
    return begins_.back().value;
  }

  const std::span<const MemberPart> parts_;
  const std::vector<TaskDim> tasks_;
  const MemberPieces* pieces_;
  const bool fused_;
  Builder b_;
  std::vector<Value> now_;  // by task: which one is being done
  std::vector<Begin> begins_;
  std::vector<Address> rooms_;
  std::vector<Pointer> pointers_;  // of the present piece
};

// Drops what is read and written through pointers into the outputs and operands of other members.
class OthersLeftOut {
 public:
  // slots: of parameters, new by old; -1: it goes.
  explicit OthersLeftOut(std::vector<int64_t> slots) : slots_(std::move(slots)) {}

  void run(Program& program) {
    gone_.assign(program.types.size(), false);
    for (Inst& inst : program.insts) rework(inst);
    program.insts.drop_if([&](const Inst& inst) {
      if (inst.op == Op::param) return inst.imm < 0;
      return inst.addr.base != no_value && is_gone(inst.addr.base);
    });
  }

 private:
  bool is_gone(Value value) const { return gone_[static_cast<size_t>(value)]; }
  void go(Value value) { gone_[static_cast<size_t>(value)] = true; }

  void rework(Inst& inst) {
    if (inst.op == Op::param) {
      inst.imm = slots_[static_cast<size_t>(inst.imm)];
      if (inst.imm < 0) go(inst.results[0]);
    } else if (inst.op == Op::ptradd && is_gone(inst.addr.base)) {
      go(inst.results[0]);
    } else if (inst.op == Op::loop) {
      // The trip count and the counter stay.
      std::vector<bool> carried(inst.args.size(), true);
      for (size_t i = 1; i < inst.args.size(); ++i) {
        carried[i] = !is_gone(inst.args[i]);
        if (!carried[i]) go(inst.results[i]);
      }
      keep(inst, carried);
      open_.push_back(std::move(carried));
    } else if (inst.op == Op::end) {
      std::vector<bool> carried(open_.back().begin() + 1, open_.back().end());
      for (size_t i = 0; i < carried.size(); ++i)
        if (!carried[i]) go(inst.results[i]);
      keep(inst, carried);
      open_.pop_back();
    }
  }

  static void keep(Inst& inst, const std::vector<bool>& kept) {
    Values args, results;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (!kept[i]) continue;
      args.push_back(inst.args[i]);
      results.push_back(inst.results[i]);
    }
    inst.args = args, inst.results = results;
  }

  std::vector<int64_t> slots_;
  std::vector<bool> gone_;               // by Value
  std::vector<std::vector<bool>> open_;  // of loops: which arguments stay
};

Result<Program> fitting(Program joined) {
  if (joined.params.size() > most_params)
    return unsupported("schedule.members",
                       fmt::format("the members take {} parameters together, a kernel takes {}",
                                   joined.params.size(), most_params),
                       "fewer members in one spec");
  if (joined.scratch_bytes > most_scratch_bytes)
    return unsupported("schedule.members",
                       fmt::format("the members take {} bytes of scratch memory, a kernel takes {}",
                                   joined.scratch_bytes, most_scratch_bytes),
                       "fewer channels at a time: more tasks");
  return joined;
}

}  // namespace

Result<Program> join_members(std::string name, std::span<const MemberPart> members, const MemberTasks& most,
                             bool fused) {
  if (fused &&
      std::ranges::any_of(members, [](const MemberPart& one) { return one.program.scratch_bytes > 0; }))
    return unsupported("schedule.members", "loops of members that use scratch memory are not fused",
                       "each(...) instead of fused(...)");
  return fitting(Joiner(std::move(name), members, common_tasks(members, most), nullptr, fused).run());
}

Result<Program> join_members(std::string name, std::span<const MemberPart> parts,
                             const MemberPieces& pieces) {
  std::vector<TaskDim> tasks = piece_tasks(parts[0].program, pieces.count);
  return fitting(Joiner(std::move(name), parts, std::move(tasks), &pieces).run());
}

Program only_member(Program joined, std::span<const PoolNest> pools, int number) {
  if (pools.size() == 1) return joined;
  const auto pool = static_cast<size_t>(number);
  const auto first = static_cast<int>(first_operand(pools, pool)),
             behind = static_cast<int>(first_operand(pools, pool + 1));
  Program alone = joined;
  alone.params.clear();
  std::vector<int64_t> slots;  // new, by old; -1: it goes
  for (const Param& param : joined.params) {
    const bool is_operand = param.role == Param::Role::operand, is_output = is_member_output(param.role);
    const bool goes = is_output    ? param.number != number
                      : is_operand ? param.number < first || param.number >= behind
                                   : false;
    slots.push_back(goes ? -1 : std::ssize(alone.params));
    if (goes) continue;
    const int own = is_output ? 0 : is_operand ? param.number - first : param.number;
    alone.params.push_back({param.role, own});
  }
  OthersLeftOut(std::move(slots)).run(alone);
  alone = cleanup(std::move(alone));
  renumber(alone);
  return alone;
}

}  // namespace pooljit::ir
