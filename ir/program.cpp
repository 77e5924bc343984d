#include "ir/program.h"

#include <algorithm>

namespace pooljit::ir {
namespace {

constexpr std::string_view without_underscore(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

constexpr OpInfo op_table[] = {
#define OP(name, group, operands, result, effect, equation) \
  {Op::name, without_underscore(#name), #group, operands, result, Effect::effect, equation},
#include "ir/ops.def"
#undef OP
};

}  // namespace

const OpInfo& info(Op op) { return op_table[static_cast<size_t>(op)]; }

std::span<const OpInfo> ops() { return op_table; }

int64_t output_alignment(const Program& program) {
  int64_t alignment = 1;
  for (const Inst& inst : program.insts)
    if (inst.non_temporal)
      alignment = std::max(alignment, int64_t{program.type(inst.args[0]).vector_bytes()});
  return alignment;
}

}  // namespace pooljit::ir
