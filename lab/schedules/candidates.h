// The schedules of a spec, each with its predicted cost: where a search begins.
#pragma once

#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/cost.h"
#include "ir/error.h"
#include "ir/nest.h"
#include "ir/schedule.h"
#include "runtime/kernel_options.h"

namespace pooljit::runtime {

// Schedules of every kind, for checks: all that the chooser offers and the registers suffice for, the default
// first; one of each other family, and of its walks, that can do the layer, picked by the seed; the default
// with streamed stores.
std::vector<ir::Schedule> varied_schedules(const ir::PoolNest& nest, ir::Isa isa, uint64_t seed);

struct Candidate {
  ir::Schedule schedule;
  ir::Cost cost;
  bool is_default = false;  // what is chosen where nothing was measured
  bool is_offered = false;  // one of ir::enumerate_schedules
};

struct Refusal {
  ir::Schedule schedule;
  ir::Error error;
};

struct Candidates {
  std::vector<Candidate> legal;  // the cheapest prediction first; each makes another Program
  std::vector<Refusal> illegal;  // in the order of ir::schedule_space
};

// Of the whole schedule space; legal is what Xbyak can make code of. The default is what compiling takes: the
// first that is offered, or the next one that has the registers it needs. Errors: those of lowering the first
// one, which no other could mend.
ir::Result<Candidates> find_candidates(const ir::PoolNest& nest, ir::Isa isa, int64_t batch,
                                       const ir::Machine& machine);

// The legal ones, without lowering any but for the default: what is offered first, best first, then the
// others in the order of the space. The registers may not suffice for some, and several may make one Program.
// Of several pools: what is offered, and the members' side by side. Errors: those of lowering the first one.
struct LegalSchedules {
  std::vector<ir::Schedule> schedules;
  size_t offered = 0;   // so many are ir::enumerate_schedules
  size_t standard = 0;  // the default
};
ir::Result<LegalSchedules> find_legal(const ir::PoolNest& nest, ir::Isa isa, const ir::Machine& machine);
// The schedules of the space that the rules refuse, and why. For several pools: none.
std::vector<Refusal> find_illegal(const ir::PoolNest& nest, ir::Isa isa);

struct ScheduleInfo {
  std::string schedule;          // for Options::schedule
  double predicted_seconds = 0;  // of a call on one thread, by the cost model: good for an order, no more
  bool is_default = false;       // what compile() takes where it is told nothing
};

// As the public interfaces show them: those of find_legal(), or with costs those of find_candidates().
// Errors: those of resolve() and of either.
ir::Result<std::vector<ScheduleInfo>> list_schedules(const frontend::PoolSpec& spec, const Options& options,
                                                     bool costs);

// One schedule. Errors: "schedule.*", those of lowering and of Xbyak.
ir::Result<Candidate> predict_one(const ir::PoolNest& nest, const ir::Schedule& schedule, ir::Isa isa,
                                  int64_t batch, const ir::Machine& machine);

}  // namespace pooljit::runtime
