#include "ir/program.h"

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

}  // namespace pooljit::ir
