#include "lab/schedules/candidates.h"

#include <algorithm>

#include "ir/choose/enumerate.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"
#include "jit/backend.h"
#include "jit/fork_gate.h"
#include "runtime/float_control.h"
#include "runtime/machine.h"
#include "runtime/options.h"

namespace pooljit::runtime {
namespace {

// Programs already seen, but for their names: schedules whose difference does not matter to a nest make one.
class Seen {
 public:
  bool insert(ir::Program program) {
    program.name.clear();
    if (std::find(programs_.begin(), programs_.end(), program) != programs_.end()) return false;
    programs_.push_back(std::move(program));
    return true;
  }

 private:
  std::vector<ir::Program> programs_;
};

// Offered schedules come first: of schedules that make the same Program the offered one is kept.
std::vector<ir::Schedule> with_others(const std::vector<ir::Schedule>& offered,
                                      const std::vector<ir::Schedule>& others) {
  std::vector<ir::Schedule> all = offered;
  all.reserve(offered.size() + others.size());
  for (const ir::Schedule& schedule : others)
    if (std::find(offered.begin(), offered.end(), schedule) == offered.end()) all.push_back(schedule);
  return all;
}

// Only allocating registers shows whether they suffice.
ir::Result<ir::Program> legal_program(ir::Program lowered) {
  auto program = ir::legalize(std::move(lowered));
  if (!program) return program;
  if (const auto blob = jit::emit(jit::BackendId::xbyak, *program); !blob)
    return tl::unexpected(blob.error());
  return program;
}

ir::Result<ir::Program> legal_program(const ir::PoolNest& nest, const ir::Schedule& schedule, ir::Isa isa) {
  return ir::lower(nest, schedule, isa).and_then([](ir::Program lowered) {
    return legal_program(std::move(lowered));
  });
}

// The default of what is offered: the first one that has the registers it needs. Errors: those of one that
// lacks something else, or of the last one.
ir::Result<size_t> standard_of(const ir::PoolNest& nest, const std::vector<ir::Schedule>& offered,
                               ir::Isa isa) {
  for (size_t i = 0;; ++i) {
    const auto program = legal_program(nest, offered[i], isa);
    if (program) return i;
    if (program.error().id != "schedule.registers" || i + 1 == offered.size())
      return tl::unexpected(program.error());
  }
}

bool lacks_registers(const ir::PoolNest& nest, const ir::Schedule& schedule, ir::Isa isa) {
  const auto program = legal_program(nest, schedule, isa);
  return !program && program.error().id == "schedule.registers";
}

enum class Walk : uint8_t { windows, rolling, strips };

Walk walk(const ir::Schedule& schedule) {
  using ir::ChannelsLastFields, ir::RowFields;
  const auto rolling = [](bool rolls) { return rolls ? Walk::rolling : Walk::windows; };
  if (const auto* const own = std::get_if<ChannelsLastFields>(&schedule.own))
    return own->scan == ChannelsLastFields::Scan::strips
               ? Walk::strips
               : rolling(own->scan == ChannelsLastFields::Scan::rolling);
  if (const RowFields* const own = row_fields(schedule))
    return rolling(own->scan == RowFields::Scan::rolling);
  return rolling(schedule.family() == ir::Family::row_passes && !takes_passes(schedule));
}

// Of each family that offers none, one by the seed that can; one that rolls, is in strips, is fused.
void add_forced(std::vector<ir::Schedule>& schedules, const ir::PoolNest& nest, ir::Isa isa, uint64_t seed) {
  std::vector<ir::Schedule> space = ir::schedule_space(nest, isa);
  std::rotate(space.begin(), space.begin() + static_cast<std::ptrdiff_t>(seed % space.size()), space.end());
  for (const ir::Schedule& one : space) {
    const auto is_same = [&](const ir::Schedule& other) {
      return other.family() == one.family() && walk(other) == walk(one) && other.fused == one.fused;
    };
    if (one.lanes == schedules[0].lanes && together(one) <= 2 && std::ranges::none_of(schedules, is_same) &&
        legal_program(nest, one, isa))
      schedules.push_back(one);
  }
}

// Where none is offered, the first one with streamed stores.
void add_streamed(std::vector<ir::Schedule>& schedules, const ir::PoolNest& nest, ir::Isa isa) {
  ir::Schedule streamed = schedules[0];
  streamed.stores = ir::Stores::streamed;
  if (streamed != schedules[0] && legal_program(nest, streamed, isa)) schedules.push_back(streamed);
}

}  // namespace

std::vector<ir::Schedule> varied_schedules(const ir::PoolNest& nest, ir::Isa isa, uint64_t seed) {
  std::vector<ir::Schedule> all = ir::enumerate_schedules(nest, isa, SIZE_MAX, machine().row);
  const ir::Schedule first = all.front();
  std::erase_if(all, [&](const ir::Schedule& one) { return lacks_registers(nest, one, isa); });
  if (all.empty()) return {first};
  add_forced(all, nest, isa, seed);
  add_streamed(all, nest, isa);
  return all;
}

ir::Result<Candidates> find_candidates(const ir::PoolNest& nest, ir::Isa isa, int64_t batch,
                                       const ir::Machine& machine) {
  const std::vector<ir::Schedule> offered = ir::enumerate_schedules(nest, isa, SIZE_MAX, machine);
  const auto standard = standard_of(nest, offered, isa);
  if (!standard) return tl::unexpected(standard.error());
  Candidates found;
  Seen seen;
  const std::vector<ir::Schedule> space = with_others(offered, ir::schedule_space(nest, isa));
  for (size_t i = 0; i < space.size(); ++i) {
    auto program = ir::lower(nest, space[i], isa);
    if (program && !seen.insert(*program)) continue;
    if (program) program = legal_program(std::move(*program));
    if (!program) {
      found.illegal.push_back({space[i], program.error()});
      continue;
    }
    found.legal.push_back(
        {space[i], ir::predict(*program, nest, batch, machine), i == *standard, i < offered.size()});
  }
  std::ranges::stable_sort(found.legal, ir::is_cheaper, &Candidate::cost);
  return found;
}

ir::Result<LegalSchedules> find_legal(const ir::PoolNest& nest, ir::Isa isa, const ir::Machine& machine) {
  const std::vector<ir::Schedule> offered = ir::enumerate_schedules(nest, isa, SIZE_MAX, machine);
  const auto standard = standard_of(nest, offered, isa);
  if (!standard) return tl::unexpected(standard.error());
  return LegalSchedules{with_others(offered, ir::legal_schedules(nest, isa)), offered.size(), *standard};
}

std::vector<Refusal> find_illegal(const ir::PoolNest& nest, ir::Isa isa) {
  std::vector<Refusal> illegal;
  if (const auto layer = ir::Layer::of(nest, isa))
    for (const ir::Schedule& schedule : ir::schedule_space(nest, isa))
      if (const auto checked = check(*layer, schedule); !checked)
        illegal.push_back({schedule, checked.error()});
  return illegal;
}

ir::Result<std::vector<ScheduleInfo>> list_schedules(const frontend::PoolSpec& spec, const Options& options,
                                                     bool costs) {
  const jit::HoldForks hold;
  const FloatControl control;
  const auto choices = resolve(options);
  if (!choices) return tl::unexpected(choices.error());
  const ir::PoolNest nest = make_nest(spec);
  std::vector<ScheduleInfo> infos;
  if (!costs) {
    const auto found = find_legal(nest, choices->isa, machine().row);
    if (!found) return tl::unexpected(found.error());
    for (size_t i = 0; i < found->schedules.size(); ++i)
      infos.push_back({ir::print(found->schedules[i]), 0, i == found->standard});
    return infos;
  }
  const auto found = find_candidates(nest, choices->isa, spec.batch.value_or(1), machine().row);
  if (!found) return tl::unexpected(found.error());
  for (const Candidate& candidate : found->legal)
    infos.push_back({ir::print(candidate.schedule), candidate.cost.seconds, candidate.is_default});
  return infos;
}

ir::Result<Candidate> predict_one(const ir::PoolNest& nest, const ir::Schedule& schedule, ir::Isa isa,
                                  int64_t batch, const ir::Machine& machine) {
  const std::vector<ir::Schedule> offered = ir::enumerate_schedules(nest, isa, SIZE_MAX, machine);
  const auto program = legal_program(nest, schedule, isa);
  if (!program) return tl::unexpected(program.error());
  const auto standard = standard_of(nest, offered, isa);
  return Candidate{schedule, ir::predict(*program, nest, batch, machine),
                   standard && offered[*standard] == schedule,
                   std::ranges::find(offered, schedule) != offered.end()};
}

}  // namespace pooljit::runtime
