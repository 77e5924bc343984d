// Member: one pool of a spec, as checks and proofs look at it. Most specs have one. Where there are several
// of one tensor, one Program makes all of them: of a member alone it is the same Program without the stores
// of the others, and the same code, which stores what the others make where nobody looks.
#pragma once

#include <memory>
#include <vector>

#include "ir/error.h"
#include "ir/nest.h"
#include "ir/program.h"
#include "runtime/engines.h"

namespace pooljit::runtime {

class Member {
 public:
  // Number `member` of nest.members, or the nest itself.
  explicit Member(ir::PoolNest nest) : all_(std::make_shared<const ir::PoolNest>(std::move(nest))) {}
  Member(std::shared_ptr<const ir::PoolNest> all, size_t member)
      : all_(std::move(all)), member_(static_cast<int>(member)) {}

  bool is_alone() const { return member_ < 0; }
  // Of nest.members; -1: alone.
  int number() const { return member_; }
  const ir::PoolNest& nest() const {
    return is_alone() ? *all_ : all_->members[static_cast<size_t>(member_)];
  }
  // What is lowered and compiled, and has the schedules: all members.
  const ir::PoolNest& all() const { return *all_; }

  // Errors: those of ir::lower and of make_program; of the engine.
  ir::Result<ir::Program> lower(const ir::Schedule& schedule, ir::Isa isa) const;
  ir::Result<ir::Program> program(const Choices& choices, ir::Stage stage) const;
  // Its info has the member's nest, and the schedule of all.
  ir::Result<CodePtr> make(const Choices& choices) const;
  CodePtr code_of(CodePtr all_code) const;

 private:
  ir::Result<ir::Program> alone(ir::Result<ir::Program> program) const;

  std::shared_ptr<const ir::PoolNest> all_;
  int member_ = -1;
};

std::vector<Member> members_of(const ir::PoolNest& nest);

}  // namespace pooljit::runtime
