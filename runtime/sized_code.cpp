#include "runtime/sized_code.h"

#include <algorithm>
#include <iterator>

#include "ir/check.h"
#include "ir/general/general.h"
#include "ir/general/size_words.h"
#include "ir/pools.h"
#include "ir/schedules/family.h"
#include "ir/schedules/layer.h"

namespace pooljit::runtime {
namespace {

ir::Extents extents_of(const frontend::PoolSpec& pool) {
  return pool.global || is_adaptive(pool) ? ir::Extents::any_windows : ir::Extents::any;
}

ir::Result<ir::PoolNest> any_nest(const frontend::PoolSpec& sized) {
  std::vector<ir::Extents> of_pools;
  if (sized.include_input) of_pools.push_back(ir::Extents::any);
  std::ranges::transform(pools_of(sized), std::back_inserter(of_pools), extents_of);
  return general_pools(make_nest(sized), of_pools);
}

// Whether there is code by the schedule, as far as one can see without making it.
ir::Result<void> suits(const ir::PoolNest& nest, const ir::Schedule& schedule, ir::Isa isa) {
  for (size_t i = 0; i < pools_of(nest).size(); ++i) {
    auto pool = ir::Layer::of(pools_of(nest)[i], isa).and_then([&](const ir::Layer& layer) {
      return check(layer, pools_of(schedule)[i]);
    });
    if (!pool) return pool;
  }
  return {};
}

// What every layer has code by, if it has some: its refusal says why there is none. What is offered where
// nothing suits is for one size.
ir::Schedule least(ir::Schedule offered) {
  for (ir::Schedule& one : pools_of(offered)) {
    one = schedule_of(ir::Family::channels_last, 1);
    one.tail = ir::Tail::split;
  }
  return offered;
}

// Facts of the general code hold at each size, but for the layer.
CodeInfo info_at(const CodeInfo& general, ir::PoolNest sized) {
  CodeInfo info;
  info.nest = std::move(sized);
  info.signature = general.signature;
  info.backend = general.backend;
  info.isa = general.isa;
  info.schedule = general.schedule;
  info.origin = general.origin;
  info.proof = general.proof;
  info.tasks = general.tasks;
  info.code_bytes = general.code_bytes;
  info.scratch_bytes = general.scratch_bytes;
  info.output_alignment = general.output_alignment;
  info.held_bytes = general.held_bytes;
  info.compile_time = general.compile_time;
  return info;
}

}  // namespace

ir::Result<frontend::PoolSpec> freed(frontend::PoolSpec spec) {
  const auto free_dims = [](frontend::PoolSpec& pool) {
    for (frontend::SpecDim& dim : pool.dims) dim.is_free = true;
  };
  free_dims(spec);
  std::ranges::for_each(spec.members, free_dims);
  return frontend::parse_spec(print(spec), frontend::FreeDims::allowed);
}

ir::Result<frontend::PoolSpec> with_more_outputs(const frontend::PoolSpec& free_spec, int64_t outputs) {
  std::vector<int64_t> extents;
  for (size_t i = 0; i < free_spec.dims.size(); ++i) {
    int64_t step = free_spec.dims[i].stride;
    for (const frontend::PoolSpec& member : free_spec.members) step = std::max(step, member.dims[i].stride);
    extents.push_back(free_spec.dims[i].input + (free_spec.dims[i].is_free ? outputs * step : 0));
  }
  return with_sizes(free_spec, extents);
}

ir::Result<ir::PoolNest> general_nest_of(const frontend::PoolSpec& free_spec, const Choices& choices) {
  if (is_unpool(free_spec))
    return ir::unsupported("general.unsupported", "an unpool is a routine of the runtime, for each size");
  // At a size with several outputs along each free dim: strides of one do not tell planes from pixels.
  const auto sized = with_more_outputs(free_spec, 1);
  if (!sized) return ir::unsupported("general.unsupported", sized.error().message, sized.error().hint);
  auto nest = any_nest(*sized);
  if (!nest || choices.schedule) return nest;
  const ir::Schedule offered = offered_schedules(*nest, choices).front();
  const auto is_done = suits(*nest, offered, choices.isa);
  if (is_done) return nest;
  const auto why = suits(*nest, least(offered), choices.isa);
  const ir::Error& refused = why ? is_done.error() : why.error();
  return ir::unsupported("general.unsupported", refused.message, refused.hint);
}

ir::Result<std::shared_ptr<Code>> make_general_code(const frontend::PoolSpec& free_spec,
                                                    const Choices& choices) {
  auto nest = general_nest_of(free_spec, choices);
  if (!nest) return tl::unexpected(nest.error());
  const EngineInfo& engine = info(choices.engine);
  auto code = engine.make(std::move(*nest), choices);
  if (!code) return code;
  (*code)->info.backend = engine.text;
  (*code)->info.signature = signature(free_spec);
  return code;
}

ir::Result<std::vector<std::vector<int64_t>>> words_of_pools(const ir::PoolNest& general,
                                                             const ir::PoolNest& sized) {
  std::vector<std::vector<int64_t>> all;
  for (size_t i = 0; i < pools_of(sized).size(); ++i) {
    auto words = ir::size_words(pools_of(general)[i], pools_of(sized)[i]);
    if (!words) return tl::unexpected(words.error());
    all.push_back(std::move(*words));
  }
  return all;
}

ir::Result<std::shared_ptr<SizedCode>> SizedCode::make(CodePtr general, ir::PoolNest sized) {
  POOLJIT_CHECK(general->versions().size() == 1, "stores past the caches need a known size");
  auto words = words_of_pools(general->info.nest, sized);
  if (!words) return tl::unexpected(words.error());
  return std::make_shared<SizedCode>(std::move(general), std::move(sized), std::move(*words));
}

SizedCode::SizedCode(CodePtr general, ir::PoolNest sized, std::vector<std::vector<int64_t>> words)
    : Code(info_at(general->info, std::move(sized))),
      general_(std::move(general)),
      words_(std::move(words)) {}

Call SizedCode::with_size(Call call) const {
  call.sized = &info.nest;
  call.sizes = words_;
  return call;
}

void SizedCode::run(const Call& call, const TaskRanges& ranges) const {
  general_->run(with_size(call), ranges);
}

std::optional<MachineCode> SizedCode::machine() const {
  auto machine = general_->machine();
  if (machine) machine->sizes = words_, machine->members = pools_of(info.nest);
  return machine;
}

}  // namespace pooljit::runtime
