// What it gains to make several pools of one tensor by one kernel, beside a kernel for each.
#pragma once

#include <string>
#include <vector>

#include "runtime/compile.h"
#include "runtime/measure.h"

namespace pooljit::tools {

struct PoolsReport {
  std::string spec, backend, isa, schedule, schedule_origin;
  size_t code_bytes = 0;
  int threads = 1;
  runtime::Timing call;
  // The members' own kernels one after the other, each into an output of its own; what concatenates these,
  // and the copy of the input, is not counted.
  runtime::Timing apart;
  struct Member {
    std::string spec;
    runtime::Timing call;
  };
  std::vector<Member> members;
  double compile_seconds = 0, members_compile_seconds = 0;

  const Member& slowest() const;
};

// A kernel for each member, as a spec of its own in the layout that its results have; without the schedule of
// all. Errors: those of compile.
ir::Result<std::vector<runtime::KernelPtr>> compile_members(const frontend::PoolSpec& spec,
                                                            runtime::Options options);

// All take turns on the same input. Errors: those of compile and of Kernel::run; "bench.empty".
ir::Result<PoolsReport> measure_pools(const runtime::KernelPtr& kernel, const runtime::Options& options);

void print_report(const PoolsReport& report);
std::string json_text(const PoolsReport& report);

}  // namespace pooljit::tools
