#include "ir/schedules/choose/chooser.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "ir/choose/shortlist.h"
#include "ir/cost.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_fields.h"
#include "ir/schedules/choose/facts.h"
#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/lower.h"

namespace pooljit::ir {
namespace {

constexpr MakeOffer offers[] = {
#define FAMILY(name, ...) offer_##name,
#include "ir/schedules.def"
#undef FAMILY
};

// Windows share along their rows, or in registers, what they have in common.
bool shares(const Schedule& schedule) {
  if (const RowFields* const rows = row_fields(schedule)) return rows->scan == RowFields::Scan::rolling;
  if (const auto* const own = std::get_if<ChannelsLastFields>(&schedule.own))
    return own->scan == ChannelsLastFields::Scan::rolling;
  if (const auto* const own = std::get_if<RowPassesFields>(&schedule.own))
    return own->scan != RowPassesFields::Scan::passes;
  return schedule.family() == Family::whole_planes;
}

// Facts of a layer and a schedule of it.
void set_schedule(Facts& facts, const Schedule& schedule) {
  const RowFields* const rows = row_fields(schedule);
  facts.family = schedule.family();
  facts.lanes = schedule.lanes;
  facts.is_in_place = rows && rows->scan == RowFields::Scan::tap_by_tap;
  facts.shares = shares(schedule);
  facts.splits_tail = schedule.tail == Tail::split;
}

// Lanes that move, twice where others are half as wide.
int64_t counted(const Facts& facts, int64_t lanes) {
  const int64_t twice = facts.answer(Question::counted_twice);
  return twice == 0 ? lanes : 2 * lanes - (2 - twice);
}

// The most lanes that could count for the family: it is not asked where others fill as many already.
int most_filled(const Layer& layer, Family family) {
  if (family == Family::channels_first)
    return layer.fitting_lanes(info(family).lanes, layer.nest().dims.back().output);
  return layer.most_lanes(info(family).lanes);
}

// None: there is no code, or so many rows of it differ that counting would take longer than compiling.
std::optional<Cost> cost_of(const Layer& layer, const Schedule& schedule) {
  constexpr int64_t most_turns = 20'000;
  const Result<Program> program = lower_to(Stage::legal, layer.nest(), schedule, layer.isa());
  if (!program) return std::nullopt;
  const Cost cost = predict(*program, layer.nest(), 1, layer.machine(), most_turns);
  return cost.counts.are_all ? std::optional(cost) : std::nullopt;
}

// Those that are predicted to gain enough, the fastest first.
std::vector<Schedule> predicted_faster(Facts& facts, std::vector<Schedule> vectors, const Cost& most) {
  const Layer& layer = facts.layer;
  using Priced = std::pair<Cost, Schedule>;
  std::vector<Priced> priced;
  for (Schedule& one : vectors) {
    set_schedule(facts, one);
    facts.lies_apart = holds_lanes_apart(layer.nest(), one);
    if (const auto cost = cost_of(layer, one);
        cost && cost->cycles * static_cast<double>(facts.answer(Question::least_gain)) < 100 * most.cycles)
      priced.emplace_back(*cost, std::move(one));
  }
  std::ranges::stable_sort(priced, is_cheaper, &Priced::first);
  std::vector<Schedule> found;
  for (Priced& one : priced) found.push_back(std::move(one.second));
  return found;
}

// Schedules with vectors, for a layer that is left to one lane: of the shortlist, 3 of 1,200 random layers
// with AVX2, 3.6 to 5.4 times as fast. Where there are none, vectors of elements that lie apart, or of which
// one lane is used.
std::vector<Schedule> predicted_vectors(Facts& facts, const Schedule& scalar) {
  constexpr size_t few = 16;
  const Layer& layer = facts.layer;
  // Gradients read their windows from tables, however many there are; the few that lie apart are counted.
  const bool are_many = facts.has_many_unlike();
  if (are_many && !layer.nest().is_backward()) return {};
  std::vector<Schedule> vectors;
  if (!are_many) vectors = shortlist_of_neighbours(layer.nest(), layer.isa(), few);
  std::erase_if(vectors, [](const Schedule& one) { return one.lanes == 1; });
  std::vector<Schedule> others = offer_lanes_apart(layer);
  for (const Schedule& one : vectors)
    if (fills_one_lane(layer.nest(), one)) others.push_back(one);
  std::erase_if(vectors, [&](const Schedule& one) { return fills_one_lane(layer.nest(), one); });
  if (vectors.empty() && others.empty()) return {};
  auto most = cost_of(layer, scalar);
  if (!most) return {};  // no code: the next offer is taken
  std::vector<Schedule> found = predicted_faster(facts, std::move(vectors), *most);
  if (!found.empty() || others.empty()) return found;
  // One lane may roll, too.
  if (const auto rolling = as_rolling(scalar, 2); rolling && check(layer, *rolling))
    if (const auto cost = cost_of(layer, *rolling); cost && is_cheaper(*cost, *most)) most = cost;
  return predicted_faster(facts, std::move(others), *most);
}

// Each window takes its taps alone: most instructions, and code that takes long to make.
bool takes_each_window_alone(const Schedule& schedule) {
  if (const RowFields* const rows = row_fields(schedule)) return rows->scan == RowFields::Scan::tap_by_tap;
  const auto* const own = std::get_if<ChannelsLastFields>(&schedule.own);
  return own && own->scan != ChannelsLastFields::Scan::rolling;
}

// The instructions of these say less of their time than those of others.
bool is_counted_badly(const Schedule& schedule) {
  return schedule.family() == Family::whole_pixels || schedule.family() == Family::separable;
}

// Vectors that input and output of an image would fill.
double vectors_of(const Facts& facts) { return static_cast<double>(facts.moved()) / facts.vector_bytes(); }

// Windows of many taps: where the rules' choice has many instructions, the first of the shortlist are counted
// too, and the one with the fewest is taken, if these are much fewer.
std::optional<Schedule> counted_fewer(Facts& facts, const Schedule& chosen) {
  constexpr size_t tried = 8;
  const Layer& layer = facts.layer;
  set_schedule(facts, chosen);
  const auto much = static_cast<double>(facts.answer(Question::counted_fewer));
  if (much == 0) return std::nullopt;
  const auto instructions_of = [&](const Schedule& schedule) {
    const auto cost = cost_of(layer, schedule);
    return cost ? cost->counts.instructions : std::numeric_limits<double>::infinity();
  };
  double fewest = instructions_of(chosen);
  const auto doubling = static_cast<double>(facts.answer(Question::counted_doubling));
  if (std::isinf(fewest) || fewest <= doubling * std::log2(facts.taps) * vectors_of(facts))
    return std::nullopt;
  fewest /= much / 100;
  std::optional<Schedule> found;
  for (Schedule& one : shortlist_of_neighbours(layer.nest(), layer.isa(), tried)) {
    if (one == chosen || is_counted_badly(one) || takes_each_window_alone(one)) continue;
    if (const double instructions = instructions_of(one); instructions < fewest)
      fewest = instructions, found = std::move(one);
  }
  return found;
}

// Outputs of one batch, packed, that are better stored past the caches.
bool leaves_caches(const Facts& facts) {
  const PoolNest& nest = facts.nest;
  const View& output = nest.output;
  int64_t elements = nest.channels, last = output.channel_offset(nest.channels - 1);
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    elements *= nest.dims[d].output;
    last += (nest.dims[d].output - 1) * output.strides[d];
  }
  return last + 1 == elements && elements * facts.stored >= facts.answer(Question::streamed_bytes);
}

// Whole lines, in few places at once: by passes, row_passes ends one row before it begins the next; rolling,
// it ends a strip of one.
bool streams_well(const Facts& facts, const Schedule& streamed) {
  constexpr int64_t line = 64;
  const Layer& layer = facts.layer;
  const bool has_rows = info(streamed.family()).lanes != LaneUse::fixed && !takes_passes(streamed);
  if (info(layer.isa()).vector_bytes < line ||
      (has_rows && together(streamed) > facts.answer(Question::streamed_rows)))
    return false;
  const Result<Program> program = lower(layer.nest(), streamed, layer.isa());
  return program && output_alignment(*program) == line;
}

// Each schedule that is better streamed so before itself; of `most` = 1, for the first one only.
std::vector<Schedule> with_streamed(const Facts& facts, const std::vector<Schedule>& found, size_t most) {
  std::vector<Schedule> all;
  for (size_t i = 0; i < found.size(); ++i) {
    Schedule streamed = found[i];
    streamed.stores = Stores::streamed;
    if (i < most && streams_well(facts, streamed)) all.push_back(streamed);
    all.push_back(found[i]);
  }
  return all;
}

}  // namespace

void add_tails(std::vector<Schedule>& found, Schedule schedule, const Layer& layer, int64_t count) {
  const auto add = [&](Tail tail) {
    schedule.tail = tail;
    found.push_back(schedule);
  };
  const bool exact = count % schedule.lanes == 0;
  if (exact) return add(exact_tail(layer));
  if (count >= schedule.lanes) add(Tail::overlap);
  if (layer.can_mask()) add(Tail::mask);
  add(Tail::split);
}

Decision decide(const Layer& layer, size_t most) {
  Decision decision;
  Facts facts(layer, LaneUse::moved, 1);
  int64_t fullest = 0;
  for (size_t i = 0; i < std::size(offers); ++i) {
    Considered considered{static_cast<Family>(i), {}};
    facts.family = considered.family;
    facts.is_in_place = false;
    considered.is_asked = most > 1 || fullest < counted(facts, most_filled(layer, considered.family));
    if (considered.is_asked) considered.offer = offers[i](layer, most);
    if (!considered.offer.schedules.empty()) {
      set_schedule(facts, considered.offer.schedules.front());
      considered.filled = static_cast<int>(counted(facts, facts.answer(Question::counted_lanes)));
    }
    if (layer.rule_notes()) considered.rules = std::exchange(*layer.rule_notes(), {});
    fullest = std::max<int64_t>(fullest, considered.filled);
    decision.families.push_back(std::move(considered));
  }
  std::vector<const Considered*> order;
  for (const Considered& considered : decision.families) order.push_back(&considered);
  std::ranges::stable_sort(order, [](const auto* a, const auto* b) { return a->filled > b->filled; });
  for (const Considered* considered : order)
    decision.schedules.insert(decision.schedules.end(), considered->offer.schedules.begin(),
                              considered->offer.schedules.end());
  if (!decision.schedules.empty() && layer.nest().extents == Extents::known) {
    std::vector<Schedule> better;
    if (decision.schedules.front().lanes == 1) {
      better = predicted_vectors(facts, decision.schedules.front());
      decision.predicted = better.size();
    } else if (auto fewer = counted_fewer(facts, decision.schedules.front())) {
      better.push_back(std::move(*fewer));
      decision.counted = true;
    }
    for (const Schedule& one : better) std::erase(decision.schedules, one);
    decision.schedules.insert(decision.schedules.begin(), better.begin(), better.end());
  }
  decision.streams = leaves_caches(facts);
  if (decision.streams) decision.schedules = with_streamed(facts, decision.schedules, most);
  return decision;
}

}  // namespace pooljit::ir
