// Member: one pool of a spec, as checks and proofs look at it. Most specs have one. Several pools of one
// tensor have one Program. A member's Program is that one without the stores of the others. Its code is the
// same, and the results of the others go to memory that is not looked at. If one Program serves all extents,
// a member is a pool of it at one size.
#pragma once

#include <memory>
#include <vector>

#include "ir/error.h"
#include "ir/nest.h"
#include "ir/program.h"
#include "runtime/engines.h"

namespace pooljit::runtime {

// Code for all extents: the nest of any size, and the words of the size that is looked at.
struct GeneralCode {
  ir::PoolNest nest;
  std::vector<std::vector<int64_t>> words;
};

class Member {
 public:
  // Pool number `number` of the nest. general: null for code for this size alone.
  explicit Member(ir::PoolNest nest) : Member(std::make_shared<const ir::PoolNest>(std::move(nest)), 0) {}
  Member(std::shared_ptr<const ir::PoolNest> all, size_t number,
         std::shared_ptr<const GeneralCode> general = nullptr)
      : all_(std::move(all)), general_(std::move(general)), number_(number) {}

  bool is_alone() const { return !is_pools(*all_); }
  size_t number() const { return number_; }
  const ir::PoolNest& nest() const { return pools_of(*all_)[number_]; }
  const ir::PoolNest& all() const { return *all_; }
  // The nest that is lowered and compiled, and that schedules are for: all pools.
  const ir::PoolNest& lowered() const { return general_ ? general_->nest : *all_; }
  // The words of the size that its Programs read.
  ir::SizeWords sizes() const { return general_ ? ir::SizeWords(general_->words) : ir::SizeWords(); }

  // Errors: those of ir::lower and of make_program; of the engine.
  ir::Result<ir::Program> lower(const ir::Schedule& schedule, ir::Isa isa) const;
  ir::Result<ir::Program> program(const Choices& choices, ir::Stage stage) const;
  // Its info has the member's nest, and the schedule of all.
  ir::Result<CodePtr> make(const Choices& choices) const;
  CodePtr code_of(CodePtr all_code) const;

 private:
  ir::Result<ir::Program> own(ir::Result<ir::Program> program) const;

  std::shared_ptr<const ir::PoolNest> all_;
  std::shared_ptr<const GeneralCode> general_;
  size_t number_;
};

std::vector<Member> members_of(const ir::PoolNest& nest,
                               const std::shared_ptr<const GeneralCode>& general = nullptr);
std::vector<Member> members_of(const Code& code);

}  // namespace pooljit::runtime
