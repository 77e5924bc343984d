#include "ir/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <iterator>

#include "ir/builder.h"
#include "ir/member_steps.h"
#include "ir/members.h"
#include "ir/passes/pipeline.h"
#include "ir/reductions/epilogue.h"
#include "ir/reductions/reducer.h"
#include "ir/schedules/choose/chooser.h"
#include "ir/schedules/choose/members.h"
#include "ir/schedules/family.h"

namespace pooljit::ir {
namespace {

const FamilyInfo* const families[] = {
#define FAMILY(name, text, note) &name##_family,
#include "ir/schedules.def"
#undef FAMILY
};

constexpr std::array<std::string_view, 3> tail_names = {"mask", "split", "overlap"};
constexpr std::array<std::string_view, 2> taps_names = {"unroll", "loop"};
constexpr std::array<std::string_view, 4> order_names = {"row_major", "rows_first", "rolling", "strips"};
constexpr std::array<std::string_view, 2> stores_names = {"cached", "streamed"};

Result<void> check_common(const Layer& layer, const Schedule& schedule) {
  const LaneUse use = info(schedule.family).lanes;
  const int most = layer.most_lanes(use);
  if (schedule.lanes < 1 || !std::has_single_bit(static_cast<unsigned>(schedule.lanes)) ||
      schedule.lanes > most)
    return invalid(
        "schedule.lanes",
        fmt::format("lanes={} is not a power of two from 1 to {} ({} lanes of {} bytes fill a vector of {})",
                    schedule.lanes, most, most, layer.lane_bytes(use), info(layer.isa()).text));
  if (schedule.unroll < 1 || schedule.unroll > 16)
    return invalid("schedule.unroll", fmt::format("unroll={} is not in 1 .. 16", schedule.unroll));
  if (schedule.tail == Tail::mask && !layer.can_mask())
    return unsupported("schedule.tail",
                       fmt::format("{} cannot mask loads and stores of {}", info(layer.isa()).text,
                                   info(layer.nest().input.dtype).spec_name),
                       "use tail=split or tail=overlap");
  if (schedule.order == Order::strips && schedule.family != Family::channels_last)
    return unsupported("schedule.order", "only channels_last walks in strips", "use another order");
  return {};
}

tl::unexpected<Error> parse_error(std::string_view text, std::string_view what) {
  return invalid("schedule.text", fmt::format("'{}' in the schedule '{}' is not known", what, text),
                 "write e.g. channels_last(lanes=16, unroll=2, tail=mask, taps=unroll, order=row_major)");
}

bool parse_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename Enum, size_t n>
bool parse_name(std::string_view text, const std::array<std::string_view, n>& names, Enum& value) {
  const auto* found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return false;
  value = static_cast<Enum>(found - names.begin());
  return true;
}

bool parse_field(std::string_view name, std::string_view value, Schedule& schedule) {
  if (name == "lanes") return parse_number(value, schedule.lanes);
  if (name == "unroll") return parse_number(value, schedule.unroll);
  if (name == "tail") return parse_name(value, tail_names, schedule.tail);
  if (name == "taps") return parse_name(value, taps_names, schedule.taps);
  if (name == "order") return parse_name(value, order_names, schedule.order);
  if (name == "stores") return parse_name(value, stores_names, schedule.stores);
  if (name == "from") return parse_number(value, schedule.from);
  return false;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string print(const Schedule& schedule) {
  if (!schedule.members.empty()) {
    std::string text = fmt::format("{}(channels={}, rows={})[", schedule.fused ? "fused" : "each",
                                   schedule.tasks.channels, schedule.tasks.rows);
    for (size_t i = 0; i < schedule.members.size(); ++i)
      text += (i == 0 ? "" : "; ") + print(schedule.members[i]);
    return text + "]";
  }
  const bool streams = schedule.stores == Stores::streamed;
  return fmt::format("{}(lanes={}, unroll={}, tail={}, taps={}, order={}{}{})",
                     families[static_cast<size_t>(schedule.family)]->text, schedule.lanes, schedule.unroll,
                     tail_names[static_cast<size_t>(schedule.tail)],
                     taps_names[static_cast<size_t>(schedule.taps)],
                     order_names[static_cast<size_t>(schedule.order)], streams ? ", stores=streamed" : "",
                     schedule.from >= 0 ? fmt::format(", from={}", schedule.from) : "");
}

namespace {

bool parse_tasks(std::string_view text, MemberTasks& tasks) {
  for (const auto& [head, number] : {std::pair(std::string_view("channels="), &tasks.channels),
                                     std::pair(std::string_view("rows="), &tasks.rows)}) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view field = trim(text.substr(0, comma));
    if (!field.starts_with(head) || !parse_number(field.substr(head.size()), *number) || *number < 1)
      return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return trim(text).empty();
}

bool is_of_members(std::string_view text) { return text.starts_with("each") || text.starts_with("fused"); }

// "each(channels=8, rows=1)[A; B]".
Result<Schedule> parse_members(std::string_view all) {
  Schedule schedule;
  const size_t open = std::min(all.find('('), all.size()), close = std::min(all.find(")["), all.size());
  const std::string_view head = all.substr(0, open);
  schedule.fused = head == "fused";
  if ((!schedule.fused && head != "each") || all.back() != ']' || close == all.size() || close < open ||
      !parse_tasks(all.substr(open + 1, close - open - 1), schedule.tasks))
    return parse_error(all, all.substr(0, close));
  std::string_view text = all.substr(close + 2, all.size() - close - 3);
  while (!trim(text).empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    auto member = parse_schedule(trim(text.substr(0, end)));
    if (!member) return member;
    if (!member->members.empty()) return parse_error(all, text.substr(0, end));
    schedule.members.push_back(std::move(*member));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (schedule.members.empty()) return parse_error(all, "[]");
  return schedule;
}

}  // namespace

Result<Schedule> parse_schedule(std::string_view text) {
  if (is_of_members(text)) return parse_members(text);
  const size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return parse_error(text, text);
  Schedule schedule;
  const std::string_view name = trim(text.substr(0, open));
  const auto* family = std::find_if(std::begin(families), std::end(families),
                                    [&](const FamilyInfo* row) { return row->text == name; });
  if (family == std::end(families)) return parse_error(text, name);
  schedule.family = (*family)->family;
  std::string_view fields = text.substr(open + 1, text.size() - open - 2);
  while (!trim(fields).empty()) {
    const size_t comma = std::min(fields.find(','), fields.size());
    const std::string_view field = trim(fields.substr(0, comma));
    fields.remove_prefix(std::min(comma + 1, fields.size()));
    const size_t equals = std::min(field.find('='), field.size());
    const std::string_view value = equals == field.size() ? "" : field.substr(equals + 1);
    if (!parse_field(field.substr(0, equals), value, schedule)) return parse_error(text, field);
  }
  return schedule;
}

const FamilyInfo& info(Family family) { return *families[static_cast<size_t>(family)]; }

std::vector<Parameter> parameters(const Schedule& schedule) {
  std::vector<Parameter> all = info(schedule.family).named(schedule);
  all.insert(all.begin(), {"lanes", std::to_string(schedule.lanes)});
  all.push_back({"tail", std::string(tail_names[static_cast<size_t>(schedule.tail)])});
  if (schedule.stores == Stores::streamed) all.push_back({"stores", "streamed"});
  return all;
}

std::vector<Schedule> enumerate_schedules(const PoolNest& nest, Isa isa, size_t most,
                                          const Machine& machine) {
  if (!nest.members.empty()) return offer_members(nest, isa, most, machine);
  const auto layer = Layer::of(nest, isa, machine);
  if (!layer) return {Schedule{}};  // lower() will say why
  return decide(*layer, most).schedules;
}

std::vector<Schedule> schedule_space(const PoolNest& nest, Isa isa) {
  std::vector<Schedule> space;
  if (!nest.members.empty()) {
    std::vector<std::vector<Schedule>> of_members;
    for (const PoolNest& member : nest.members) of_members.push_back(schedule_space(member, isa));
    space = side_by_side(of_members, SIZE_MAX);
    const size_t each = space.size();
    for (size_t i = 0; i < each; ++i) space.push_back(space[i]), space.back().fused = true;
    return space;
  }
  const auto layer = Layer::of(nest, isa);
  if (!layer) return space;
  for (const FamilyInfo* family : families) {
    const Knobs knobs = family->knobs(*layer);
    for (int lanes = layer->most_lanes(family->lanes); lanes >= 1; lanes /= 2)
      for (const int unroll : knobs.unroll)
        for (const Order order : knobs.order)
          for (const Taps taps : knobs.taps)
            for (const Tail tail : knobs.tail)
              space.push_back({family->family, lanes, unroll, tail, taps, order, Stores::cached});
  }
  return space;
}

Result<void> check(const Layer& layer, const Schedule& schedule) {
  if (auto common = check_common(layer, schedule); !common) return common;
  return info(schedule.family).check(layer, schedule);
}

std::vector<int> sources(const Schedule& schedule) {
  std::vector<int> from;
  for (const Schedule& member : schedule.members) from.push_back(member.from);
  return from;
}

bool is_chained(const Schedule& schedule) {
  return std::ranges::any_of(schedule.members, [](const Schedule& member) { return member.from >= 0; });
}

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
  std::vector<MemberPart> parts;
  for (const MemberStep& step : all->steps) {
    // A copy has nothing to choose.
    Schedule own = step.reads == step.member ? enumerate_schedules(step.nest, isa, 1)[0]
                                             : schedule.members[static_cast<size_t>(step.member)];
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
  if (schedule.members.size() != nest.members.size())
    return invalid("schedule.members",
                   fmt::format("{} schedules for {} pools", schedule.members.size(), nest.members.size()),
                   "each(channels=1, rows=1)[A; B; ...], one for each; with include_input the copy's first");
  // Their outputs may lie at any multiple of an element.
  if (std::ranges::any_of(schedule.members,
                          [](const Schedule& one) { return one.stores == Stores::streamed; }))
    return unsupported("schedule.stores", "several pools are not stored past the caches",
                       "use stores=cached");
  if (is_chained(schedule) && schedule.fused)
    return unsupported("schedule.members",
                       "loops are not fused where one member is made of another's results",
                       "each(...) instead of fused(...), or no from");
  auto joined = is_chained(schedule) ? lower_pieces(nest, schedule, isa) : lower_whole(nest, schedule, isa);
  return joined ? verified("join_members", std::move(*joined)) : joined;
}

}  // namespace

Result<Program> lower(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  if (!nest.members.empty()) return lower_members(nest, schedule, isa);
  if (!schedule.members.empty())
    return invalid("schedule.members", "schedules of several pools for one", "one of a family's");
  if (schedule.from >= 0)
    return invalid("schedule.from", fmt::format("from={} of a pool alone", schedule.from), "leave it out");
  const auto layer = Layer::of(nest, isa);
  if (!layer) return tl::unexpected(layer.error());
  if (const auto common = check_common(*layer, schedule); !common) return tl::unexpected(common.error());
  auto program = info(schedule.family).lower(*layer, schedule);
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

int extra_registers(const PoolNest& nest, const ReductionFacts& facts) {
  return std::max(facts.extra_registers, epilogue_registers(nest));
}

}  // namespace pooljit::ir
