#include "runtime/proof/member.h"

#include <cstddef>

#include "ir/members.h"
#include "ir/schedules/lower.h"
#include "runtime/memory_view.h"
#include "runtime/sized_code.h"

namespace pooljit::runtime {
namespace {

// Buffers for inputs and results of members that are not compared. Each thread has its own, as several check
// at once.
class Unseen {
 public:
  void* room(size_t bytes) {
    if (bytes_.size() * sizeof bytes_[0] < bytes) bytes_.resize(bytes / sizeof bytes_[0] + 1);
    return bytes_.data();
  }

 private:
  std::vector<std::max_align_t> bytes_;
};

class MemberCode final : public Code {
 public:
  MemberCode(CodePtr all, std::shared_ptr<const ir::PoolNest> nest, size_t member)
      : Code(all->info), all_(std::move(all)), nest_(std::move(nest)), member_(member) {
    info.nest = nest_->members[member_];
  }

  void run(const Call& call, const TaskRanges& ranges) const override {
    std::array<MemberOutput, ir::most_member_outputs> written{};
    all_->run(completed(call, written), ranges);
  }

  Call completed(const Call& call, std::span<MemberOutput> written) const override {
    static thread_local std::array<Unseen, ir::most_member_outputs> outputs, indices;
    for (size_t i = 0; i < nest_->members.size(); ++i) {
      const ir::PoolNest& other = nest_->members[i];
      written[i] = {outputs[i].room(size_t(output_view(other, call.batch).span_bytes())),
                    indices[i].room(size_t(indices_view(other, call.batch).span_bytes()))};
    }
    written[member_] = {call.output, call.indices};
    Call all = call;
    all.members = written.data();
    place_operands(call, all);
    return all_->completed(all, {});
  }

  // The member's, where they are among all; for the others there are zeros to read.
  void place_operands(const Call& call, Call& all) const {
    static thread_local std::array<Unseen, ir::most_operands> unseen;
    const std::vector<MemoryView> views = operand_memory(*nest_, call.batch);
    const size_t first = first_operand(nest_->members, member_),
                 behind = first_operand(nest_->members, member_ + 1);
    for (size_t i = 0; i < views.size(); ++i)
      all.operands[i] =
          i >= first && i < behind ? call.operands[i - first] : unseen[i].room(size_t(views[i].span_bytes()));
  }

  std::optional<MachineCode> machine() const override {
    auto machine = all_->machine();
    if (machine) machine->member = static_cast<int>(member_);
    return machine;
  }

 private:
  const CodePtr all_;
  const std::shared_ptr<const ir::PoolNest> nest_;
  const size_t member_;
};

}  // namespace

ir::Result<ir::Program> Member::own(ir::Result<ir::Program> program) const {
  if (!program) return program;
  return ir::only_member(std::move(*program), pools_of(*all_), static_cast<int>(number_));
}

ir::Result<ir::Program> Member::lower(const ir::Schedule& schedule, ir::Isa isa) const {
  return own(ir::lower(lowered(), schedule, isa));
}

ir::Result<ir::Program> Member::program(const Choices& choices, ir::Stage stage) const {
  return own(make_program(lowered(), choices, stage));
}

ir::Result<CodePtr> Member::make(const Choices& choices) const {
  auto code = info(choices.engine).make(lowered(), choices);
  if (!code) return tl::unexpected(code.error());
  if (!general_) return code_of(std::move(*code));
  auto sized = SizedCode::make(std::move(*code), *all_);
  if (!sized) return tl::unexpected(sized.error());
  return code_of(std::move(*sized));
}

CodePtr Member::code_of(CodePtr all_code) const {
  if (is_alone()) return all_code;
  return std::make_shared<MemberCode>(std::move(all_code), all_, number_);
}

std::vector<Member> members_of(const ir::PoolNest& nest, const std::shared_ptr<const GeneralCode>& general) {
  const auto all = std::make_shared<const ir::PoolNest>(nest);
  std::vector<Member> members;
  for (size_t i = 0; i < pools_of(nest).size(); ++i) members.emplace_back(all, i, general);
  return members;
}

std::vector<Member> members_of(const Code& code) {
  const ir::SizeWords words = code.sizes();
  if (words.empty()) return members_of(code.info.nest);
  return members_of(code.info.nest, std::make_shared<const GeneralCode>(
                                        GeneralCode{code.lowered(), {words.begin(), words.end()}}));
}

}  // namespace pooljit::runtime
