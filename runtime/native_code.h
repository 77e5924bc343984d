// NativeCode: a Program's machine code, and how its argument block is filled.
#pragma once

#include <memory>
#include <vector>

#include "ir/program.h"
#include "jit/backend.h"
#include "runtime/code.h"

namespace pooljit::runtime {

// Fills args[i] for params[i]. Ranges are those of the Program's tasks, tables the memory that holds its
// tables.
void fill_arguments(std::span<const ir::Param> params, const std::vector<std::vector<int64_t>>& tables,
                    const Call& call, const TaskRanges& ranges, uint64_t* args);

class NativeCode final : public Code {
 public:
  // Keeps what the call needs of the Program: parameters and tables; and what jit::announce() gave, if it was
  // asked.
  NativeCode(CodeInfo info, const ir::Program& program, jit::CodeBlob blob,
             std::shared_ptr<void> names = nullptr);
  void run(const Call& call, const TaskRanges& ranges) const override;
  std::optional<MachineCode> machine() const override {
    return MachineCode{&blob_, params_, &tables_, 0, pools_of(info.nest)};
  }

 private:
  void enter(const Call& call, const TaskRanges& ranges) const;

  std::vector<ir::Param> params_;
  std::vector<std::vector<int64_t>> tables_;
  jit::CodeBlob blob_;
  std::shared_ptr<void> names_;
};

}  // namespace pooljit::runtime
