// SizedCode: code for all extents (ir/general/general.h) at one size. It owns the size's words and shares the
// machine code. It is made in a microsecond.
#pragma once

#include <memory>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "runtime/code.h"
#include "runtime/engines.h"

namespace pooljit::runtime {

// The layer with all spatial dims free. Errors: "spec.*" for a spec that not every size can have.
ir::Result<frontend::PoolSpec> freed(frontend::PoolSpec spec);

// The layer at a size that has so many outputs more along each free dim than its smallest. Errors: "spec.*".
ir::Result<frontend::PoolSpec> with_more_outputs(const frontend::PoolSpec& free_spec, int64_t outputs);

// The nest of any size of a spec with free dims, of which code can be made by these choices as far as one can
// see. Errors: "general.unsupported".
ir::Result<ir::PoolNest> general_nest_of(const frontend::PoolSpec& free_spec, const Choices& choices);
// The code for all sizes. Errors: also those of the engine.
ir::Result<std::shared_ptr<Code>> make_general_code(const frontend::PoolSpec& free_spec,
                                                    const Choices& choices);

// ir::size_words() of each pool. Errors: "general.window".
ir::Result<std::vector<std::vector<int64_t>>> words_of_pools(const ir::PoolNest& general,
                                                             const ir::PoolNest& sized);

class SizedCode final : public Code {
 public:
  // general: made of ir::general_nest() of the layer; sized: the layer at the size. Errors: "general.window".
  static ir::Result<std::shared_ptr<SizedCode>> make(CodePtr general, ir::PoolNest sized);
  // words: words_of_pools().
  SizedCode(CodePtr general, ir::PoolNest sized, std::vector<std::vector<int64_t>> words);

  void run(const Call& call, const TaskRanges& ranges) const override;
  Call completed(const Call& call, std::span<MemberOutput>) const override { return with_size(call); }
  std::optional<MachineCode> machine() const override;
  const ir::PoolNest& lowered() const override { return general_->lowered(); }
  ir::SizeWords sizes() const override { return words_; }

 private:
  Call with_size(Call call) const;

  const CodePtr general_;
  const std::vector<std::vector<int64_t>> words_;  // of each pool
};

}  // namespace pooljit::runtime
