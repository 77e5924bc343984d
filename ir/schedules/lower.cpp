#include "ir/schedules/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "ir/builder.h"
#include "ir/general/size_words.h"
#include "ir/member_steps.h"
#include "ir/members.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_text.h"
#include "ir/schedules/family.h"

namespace pooljit::ir {
namespace {

int operand_begin(const PoolNest& nest, size_t member) {
  return static_cast<int>(first_operand(nest.members, member));
}

// All for the whole tensor.
Result<Program> lower_whole(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  std::vector<MemberPart> members;
  for (size_t i = 0; i < nest.members.size(); ++i) {
    auto member = lower(nest.members[i], schedule.members[i], isa);
    if (!member) return member;
    members.push_back({std::move(*member), static_cast<int>(i), operand_begin(nest, i)});
    if (nest.has_any_size()) members.back().rows_word = rows_word(nest.members[i]);
  }
  return join_members(print(schedule), members, schedule.tasks, schedule.fused);
}

// Each for some channels at a time, some of the results of others.
Result<Program> lower_pieces(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  if (nest.channels % schedule.tasks.channels != 0)
    return invalid("schedule.members", fmt::format("{} channels are not {} equal pieces", nest.channels,
                                                   schedule.tasks.channels));
  const auto all = member_steps(nest, sources(schedule), nest.channels / schedule.tasks.channels);
  if (!all) return tl::unexpected(all.error());
  const auto copies = std::ranges::count_if(all->steps, &MemberStep::is_copy);
  if (copies != static_cast<std::ptrdiff_t>(schedule.copies.size()))
    return invalid("schedule.members",
                   fmt::format("{} schedules of copies for {} members that others are made of",
                               schedule.copies.size(), copies),
                   "each(channels=8, rows=1)[A; B] copies[C], one for each, in the order of the members");
  std::vector<MemberPart> parts;
  auto copy = schedule.copies.begin();
  for (const MemberStep& step : all->steps) {
    Schedule own = step.is_copy() ? *copy++ : schedule.members[static_cast<size_t>(step.member)];
    own.from = -1;
    auto part = lower(step.nest, own, isa);
    if (!part) return part;
    parts.push_back({std::move(*part), step.member, operand_begin(nest, static_cast<size_t>(step.member)),
                     step.reads, step.writes});
  }
  const auto apart = [&](const View& view) { return view.channel_offset(all->channels) * bytes(view.dtype); };
  MemberPieces pieces{.count = schedule.tasks.channels,
                      .input_bytes = apart(nest.input),
                      .output_bytes = {},
                      .indices_bytes = {},
                      .operand_bytes = {},
                      .rooms = all->rooms};
  for (const PoolNest& member : nest.members) {
    pieces.output_bytes.push_back(apart(member.output));
    pieces.indices_bytes.push_back(member.indices ? apart(*member.indices) : 0);
  }
  std::ranges::transform(operand_views(nest), std::back_inserter(pieces.operand_bytes), apart);
  return join_members(print(schedule), parts, pieces);
}

Result<Program> lower_members(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  // Their outputs may lie at any multiple of an element.
  const auto streams = [](const Schedule& one) { return one.stores == Stores::streamed; };
  if (streams(schedule) || std::ranges::any_of(schedule.members, streams))
    return unsupported("schedule.stores", "several pools are not stored past the caches",
                       "use stores=cached");
  if (nest.has_any_size() && (is_chained(schedule) || schedule.fused))
    return unsupported("schedule.sizes",
                       "members are fused, or made of each other's results, where the size is known",
                       "each(...) without from");
  if (is_chained(schedule) && schedule.fused)
    return unsupported("schedule.members",
                       "loops are not fused where one member is made of another's results",
                       "each(...) instead of fused(...), or no from");
  if (!is_chained(schedule) && !schedule.copies.empty())
    return invalid("schedule.members", "copies where no member is made of another's results",
                   "from=... in a member, or no copies");
  auto joined = is_chained(schedule) ? lower_pieces(nest, schedule, isa) : lower_whole(nest, schedule, isa);
  return joined ? verified("join_members", std::move(*joined)) : joined;
}

// Its values are named as they were made.
Result<Program> lower_unnamed(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  if (schedule.members.size() != nest.members.size())
    return invalid("schedule.members",
                   fmt::format("pools: {} in the schedule, {} in the layer", pools_of(schedule).size(),
                               pools_of(nest).size()),
                   "each(channels=1, rows=1)[A; B; ...] of pools(...), one for each; with include_input the "
                   "copy's first; of one pool A alone");
  if (is_pools(nest)) return lower_members(nest, schedule, isa);
  if (schedule.from >= 0)
    return invalid("schedule.from", fmt::format("from={} of a pool alone", schedule.from), "leave it out");
  const auto layer = Layer::of(nest, isa);
  if (!layer) return tl::unexpected(layer.error());
  if (const auto common = check_common(*layer, schedule); !common) return tl::unexpected(common.error());
  auto program = info(schedule.family()).lower(*layer, schedule);
  if (!program) return program;
  *program = verified("lower", std::move(*program));
  if (schedule.stores == Stores::cached) return program;
  Program streamed = verified("stream_stores", stream_stores(std::move(*program)));
  if (output_alignment(streamed) == 1)
    return unsupported("schedule.stores",
                       "not all whole vectors of the output lie at multiples of their size",
                       "use stores=cached");
  return streamed;
}

}  // namespace

Result<Program> lower(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  auto program = lower_unnamed(nest, schedule, isa);
  if (program) renumber(*program);
  return program;
}

Result<Program> lower_to(Stage stage, const PoolNest& nest, const Schedule& schedule, Isa isa) {
  if (stage == Stage::affine) return lower(nest, schedule, isa);
  auto program = lower_unnamed(nest, schedule, isa);
  return program ? run_passes(std::move(*program), stage) : program;
}

}  // namespace pooljit::ir
