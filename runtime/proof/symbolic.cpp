#include "runtime/proof/symbolic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/window_taps.h"
#include "proof/bytes/prove_bytes.h"
#include "proof/program/prove.h"

namespace pooljit::runtime {
namespace {

// Taps that the symbolic run of a Program may take in: about a second, at the usual limit.
double symbolic_work(const ProofLimits& limits) { return 300'000 * (limits.work / ProofLimits{}.work); }

}  // namespace

double work(const ir::PoolNest& nest) { return ir::taps_of_planes(nest, nest.channels); }

double work_of_run(const Member& member) {
  const auto pools = pools_of(member.all());
  return std::accumulate(pools.begin(), pools.end(), 0.0,
                         [](double sum, const ir::PoolNest& pool) { return sum + work(pool); });
}

ir::Result<void> prove_program(const Member& member, const Choices& choices, const ProofLimits& limits,
                               Proof& proof) {
  const ir::PoolNest& nest = member.nest();
  if (work_of_run(member) > symbolic_work(limits)) return {};
  const auto stage = info(choices.engine).is_native ? consumed_stage(choices.engine) : ir::Stage::affine;
  const auto program = member.program(choices, stage);
  if (!program) return tl::unexpected(program.error());
  const auto proved = ir::prove(*program, nest, std::min(proof.probes.batch, int64_t{1}), member.sizes());
  if (proved)
    proof.program_outputs = proved->outputs;
  else if (proved.error().kind != ir::ErrorKind::unsupported)
    proof.failure = "program: " + ir::to_string(proved.error());
  return {};
}

void say_only_probed(std::string_view why, Proof& proof) {
  proof.left.push_back(fmt::format("the bytes are executed by probes only: {}", why));
}

bool execute_bytes(const Code& code, ir::Isa isa, const ProofLimits& limits, Proof& proof) {
  const auto machine = code.machine();
  if (!machine) return true;
  const jit::x86::KernelCode kernel{machine->blob,   machine->params,         code.info.tasks,
                                    machine->tables, code.info.scratch_bytes, code.info.output_alignment,
                                    machine->member, machine->members,        machine->sizes};
  const double more = limits.work / ProofLimits{}.work;
  jit::x86::BytesLimits bytes;
  bytes.taps *= more;
  for (int64_t* const limit : {&bytes.steps, &bytes.range_steps, &bytes.tensor_bytes})
    *limit = static_cast<int64_t>(std::min(static_cast<double>(*limit) * more, 1e15));
  const auto proved =
      jit::x86::prove_bytes(kernel, code.info.nest, std::max(proof.probes.batch, int64_t{1}), isa, bytes);
  if (proved) {
    proof.bytes_outputs = proved->outputs;
    proof.bytes_kinds = proved->kinds;
    proof.ranges = proved->ranges;
    if (proved->batch < proof.probes.batch) proof.left.emplace_back("one batch is executed, not two");
    if (static_cast<double>(proved->ranges) < proved->all_ranges)
      proof.left.push_back(fmt::format(
          "ranges of tasks: {} of {:.0f} are executed; others run the same loops with other counts",
          proved->ranges, proved->all_ranges));
    return true;
  }
  if (proved.error().id == "prove.size") return false;
  if (proved.error().id == "prove.wrong")
    proof.failure = "bytes: " + proved.error().message;
  else
    say_only_probed(proved.error().message, proof);
  return true;
}

}  // namespace pooljit::runtime
