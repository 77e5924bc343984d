#include "runtime/proof/read_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/pools.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "proof/bytes/inspect.h"
#include "runtime/proof/probes.h"
#include "runtime/proof/rounds.h"

namespace pooljit::runtime {
namespace {

// What data may go through on its way to an output: else no output would be what the argument takes it for.
std::string wrong_fact(const ir::PoolNest& nest, const jit::CodeFacts& facts, bool by_keys) {
  const ProofArgument argument = *argument_of(nest);
  const bool is_norm = argument == ProofArgument::norm, is_power = is_norm && has_tested_values(nest);
  if (!facts.may_be_called) return "code: it does not begin with endbr64";
  if (facts.products && !is_power && argument != ProofArgument::product)
    return fmt::format("code: at {}: data is multiplied with data", facts.product);
  if (facts.squares && !(is_norm && nest.norm_type == 2) && !is_power)
    return "code: data is multiplied with itself";
  // Indices and keys are computed with, and so are elements that are converted or go through steps.
  const bool only_moves = argument == ProofArgument::extremum && !nest.indices &&
                          nest.output.dtype == nest.input.dtype && !ir::is_half(nest.input.dtype) &&
                          !by_keys && nest.epilogue.empty();
  if (only_moves && facts.computes) return "code: elements are computed with where they should be compared";
  return "";
}

}  // namespace

bool compares_keys(const Code& code, const Member& member, ir::Isa isa) {
  const auto may_have_keys = [](const ir::PoolNest& nest) {
    return ir::is_float(nest.input.dtype) && !nest.indices;
  };
  const ir::PoolNest& all = member.lowered();
  if (std::ranges::none_of(pools_of(all), may_have_keys)) return false;
  const auto schedule = ir::parse_schedule(code.info.schedule);
  if (!schedule) return false;  // the reference has none
  const auto program = ir::lower(all, *schedule, isa);
  return program && std::any_of(program->insts.begin(), program->insts.end(), [&](const ir::Inst& inst) {
           const bool compares = inst.op == ir::Op::cmp || inst.op == ir::Op::min || inst.op == ir::Op::max;
           return compares && !ir::is_float(program->type(inst.args[0]).dtype);
         });
}

void inspect(const Code& code, bool by_keys, Proof& proof) {
  const auto machine = code.machine();
  if (!machine) return;
  const auto facts = jit::inspect(*machine->blob, machine->params);
  if (!facts) {
    proof.failure = "code: " + facts.error().message;
    return;
  }
  proof.code = *facts;
  const std::string wrong = wrong_fact(code.info.nest, *facts, by_keys);
  const bool may_be_others = std::ranges::any_of(machine->members, [&](const ir::PoolNest& other) {
    return wrong_fact(other, *facts, by_keys).empty();
  });
  if (wrong.empty() || !may_be_others)
    proof.failure = wrong;
  else
    proof.left.emplace_back(
        "that what the bytes compute is for other members alone, where they are only probed");
}

}  // namespace pooljit::runtime
