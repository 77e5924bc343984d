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

// With vectors over channels the last one may be mostly empty. A few idle lanes cost less than what other
// families do in their place; a quarter of them less than shuffling strided rows of pixels.
int filled_channels(const Layer& layer, const Schedule& schedule) {
  const int64_t vectors = (layer.nest().channels + schedule.lanes - 1) / schedule.lanes;
  const bool are_strided = layer.nest().dims.back().stride > 1 && layer.can_mask() && !short_sums(layer);
  const int64_t filled = layer.nest().channels / vectors, parts = are_strided ? 4 : 5;
  return parts * filled >= (parts - 1) * int64_t{schedule.lanes} ? schedule.lanes : static_cast<int>(filled);
}

// Sums of bytes and halves that stay where they are count as such, though each vector is two of lanes twice
// as wide; those that move are one of these, which is as much work for half the lanes. Not where nothing is
// shared among windows of many taps; of two that fill as many, those that do not move, but for images that
// are better read row by row.
int counted(const Layer& layer, Family family, bool takes_taps_in_place, int lanes) {
  constexpr int64_t few_columns = 3;
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  const bool are_strided_halves = row.stride > 1 && nest.channels < layer.most_lanes(LaneUse::fixed) &&
                                  layer.lane_bytes(LaneUse::moved) == 2 * layer.lane_bytes(LaneUse::fixed);
  const bool is_tap_by_tap = takes_taps_in_place && row.kernel > few_columns;
  if (info(family).lanes != LaneUse::moved || is_tap_by_tap || !(short_sums(layer) || are_strided_halves))
    return lanes;
  return 2 * lanes - (says(layer, Question::whole_rows_first) ? 0 : 1);
}

bool takes_taps_in_place(const Schedule& schedule) {
  const RowFields* const rows = row_fields(schedule);
  return rows && rows->scan == RowFields::Scan::tap_by_tap;
}

// Results that lie apart are stored one by one.
bool stores_apart(const Layer& layer, Family family) {
  const View& output = layer.nest().output;
  if (family == Family::channels_last) return output.channel_block == 1 && output.channel_stride != 1;
  return family == Family::channels_first && output.strides.back() != 1;
}

// Lanes that are filled: a family that fills its vectors beats one that cannot.
int filled_lanes(const Layer& layer, const Schedule& schedule) {
  constexpr int few_lanes = 4;
  // It takes shorter vectors where rows of bytes are short, or are added, but others take such windows tap by
  // tap.
  if (schedule.family() == Family::row_passes && bytes(layer.nest().input.dtype) == 1 && !short_sums(layer))
    return says(layer, Question::whole_rows_first) ? info(layer.isa()).vector_bytes
                                                   : layer.most_lanes(LaneUse::moved);
  // Where elements cannot be masked, others take borders and the ends of rows output by output.
  const bool takes_borders =
      schedule.family() == Family::row_passes || schedule.family() == Family::whole_planes;
  if (!layer.can_mask() && takes_borders && schedule.lanes >= few_lanes)
    return layer.most_lanes(LaneUse::moved);
  if (schedule.family() == Family::interleaved && layer.nest().has_any_size())
    return static_cast<int>(outputs_of_tile(as_one_channel(layer.nest()).dims.back(), schedule.lanes));
  const int filled =
      info(schedule.family()).lanes == LaneUse::fixed ? filled_channels(layer, schedule) : schedule.lanes;
  constexpr int lanes_to_store_one = 4;
  if (schedule.lanes > 1 && stores_apart(layer, schedule.family()))
    return std::max(filled / lanes_to_store_one, 2);
  return filled;
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

// Code of many unlike windows takes long to make, too long to make it for each of several schedules.
bool has_many_unlike(const PoolNest& nest) {
  constexpr int64_t many = 64;
  return std::ranges::any_of(
      nest.dims, [](const NestDim& dim) { return dim.kind != DimKind::pool && dim.output > many; });
}

// Those that are predicted to take less time than that, the fastest first.
std::vector<Schedule> predicted_faster(const Layer& layer, std::vector<Schedule> vectors, const Cost& most) {
  using Priced = std::pair<Cost, Schedule>;
  std::vector<Priced> priced;
  for (Schedule& one : vectors)
    if (const auto cost = cost_of(layer, one);
        cost && is_cheaper(*cost, most) && cost->cycles * least_gain(layer.nest(), one) <= most.cycles)
      priced.emplace_back(*cost, std::move(one));
  std::ranges::stable_sort(priced, is_cheaper, &Priced::first);
  std::vector<Schedule> found;
  for (Priced& one : priced) found.push_back(std::move(one.second));
  return found;
}

// Schedules with vectors, for a layer that is left to one lane: of the shortlist, 3 of 1,200 random layers
// with AVX2, 3.6 to 5.4 times as fast. Where there are none, vectors of elements that lie apart, or of which
// one lane is used.
std::vector<Schedule> predicted_vectors(const Layer& layer, const Schedule& scalar) {
  constexpr size_t few = 16;
  // Gradients read their windows from tables, however many there are; the few that lie apart are counted.
  const bool are_many = has_many_unlike(layer.nest());
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
  std::vector<Schedule> found = predicted_faster(layer, std::move(vectors), *most);
  if (!found.empty() || others.empty()) return found;
  // One lane may roll, too.
  if (const auto rolling = as_rolling(scalar, 2); rolling && check(layer, *rolling))
    if (const auto cost = cost_of(layer, *rolling); cost && is_cheaper(*cost, *most)) most = cost;
  return predicted_faster(layer, std::move(others), *most);
}

// Windows share along their rows, or in registers, what they have in common.
bool shares(const Schedule& schedule) {
  if (const RowFields* const rows = row_fields(schedule)) return rows->scan == RowFields::Scan::rolling;
  if (const auto* const own = std::get_if<ChannelsLastFields>(&schedule.own))
    return own->scan == ChannelsLastFields::Scan::rolling;
  if (const auto* const own = std::get_if<RowPassesFields>(&schedule.own))
    return own->scan != RowPassesFields::Scan::passes;
  return schedule.family() == Family::whole_planes;
}

// A quarter of a vector, or less.
bool fills_little(const Layer& layer, const Schedule& schedule) {
  return schedule.lanes * 4 * bytes(layer.nest().input.dtype) <= info(layer.isa()).vector_bytes;
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
double vectors_of(const Layer& layer) {
  return static_cast<double>(moved_bytes(layer.nest())) / info(layer.isa()).vector_bytes;
}

// Windows of many taps: there the rules of the families were measured least and lose most. What shares takes
// two instructions a vector for each doubling of a window, and those for borders and ends of rows. Where the
// rules' choice has more than twice as many, the first of the shortlist are counted too, and the one with the
// fewest is taken, if these are much fewer. Of the 7,474 layers of three machines' samples 14 % ask the
// shortlist and 144 change, to 0.68 of the time in the mean; of those that lost most, a third.
std::optional<Schedule> counted_fewer(const Layer& layer, const Schedule& chosen) {
  constexpr size_t tried = 8;
  constexpr int64_t few_taps = 9;
  constexpr double of_a_doubling = 4, much = 1.4, much_of_what_shares = 1.6;
  const PoolNest& nest = layer.nest();
  int64_t taps = 1;
  for (const NestDim& dim : nest.dims) taps *= dim.most_taps();
  if (taps <= few_taps || nest.is_backward() || is_one_window(nest) || has_many_unlike(nest) ||
      (shares(chosen) && !fills_little(layer, chosen)) || is_counted_badly(chosen))
    return std::nullopt;
  const auto instructions_of = [&](const Schedule& schedule) {
    const auto cost = cost_of(layer, schedule);
    return cost ? cost->counts.instructions : std::numeric_limits<double>::infinity();
  };
  double fewest = instructions_of(chosen);
  if (std::isinf(fewest) || fewest <= of_a_doubling * std::log2(taps) * vectors_of(layer))
    return std::nullopt;
  fewest /= shares(chosen) ? much_of_what_shares : much;
  std::optional<Schedule> found;
  for (Schedule& one : shortlist_of_neighbours(nest, layer.isa(), tried)) {
    if (one == chosen || is_counted_badly(one) || takes_each_window_alone(one)) continue;
    if (const double instructions = instructions_of(one); instructions < fewest)
      fewest = instructions, found = std::move(one);
  }
  return found;
}

// Outputs of one batch, packed, that are better stored past the caches. Streaming makes kernels faster from 2
// MiB on, but below this it costs the next reader of the output more than that (docs/notes/performance.md).
bool leaves_caches(const PoolNest& nest) {
  constexpr int64_t least_bytes = 8'000'000;
  const View& output = nest.output;
  int64_t elements = nest.channels, last = output.channel_offset(nest.channels - 1);
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    elements *= nest.dims[d].output;
    last += (nest.dims[d].output - 1) * output.strides[d];
  }
  return last + 1 == elements && elements * bytes(output.dtype) >= least_bytes;
}

// Whole lines, in few places at once: by passes, row_passes ends one row before it begins the next; rolling,
// it ends a strip of one.
bool streams_well(const Layer& layer, const Schedule& streamed) {
  constexpr int64_t line = 64;
  constexpr int most_rows = 4;
  const bool has_rows = info(streamed.family()).lanes != LaneUse::fixed && !takes_passes(streamed);
  if (info(layer.isa()).vector_bytes < line || (has_rows && together(streamed) > most_rows)) return false;
  const Result<Program> program = lower(layer.nest(), streamed, layer.isa());
  return program && output_alignment(*program) == line;
}

// Each schedule that is better streamed so before itself; of `most` = 1, for the first one only.
std::vector<Schedule> with_streamed(const Layer& layer, const std::vector<Schedule>& found, size_t most) {
  std::vector<Schedule> all;
  for (size_t i = 0; i < found.size(); ++i) {
    Schedule streamed = found[i];
    streamed.stores = Stores::streamed;
    if (i < most && streams_well(layer, streamed)) all.push_back(streamed);
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
  int fullest = 0;
  for (size_t i = 0; i < std::size(offers); ++i) {
    Considered considered{static_cast<Family>(i), {}};
    considered.is_asked =
        most > 1 || fullest < counted(layer, considered.family, false, most_filled(layer, considered.family));
    if (considered.is_asked) considered.offer = offers[i](layer, most);
    if (layer.rule_notes()) considered.rules = std::exchange(*layer.rule_notes(), {});
    if (!considered.offer.schedules.empty()) {
      const Schedule& first = considered.offer.schedules.front();
      considered.filled =
          counted(layer, considered.family, takes_taps_in_place(first), filled_lanes(layer, first));
    }
    fullest = std::max(fullest, considered.filled);
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
      better = predicted_vectors(layer, decision.schedules.front());
      decision.predicted = better.size();
    } else if (auto fewer = counted_fewer(layer, decision.schedules.front())) {
      better.push_back(std::move(*fewer));
      decision.counted = true;
    }
    for (const Schedule& one : better) std::erase(decision.schedules, one);
    decision.schedules.insert(decision.schedules.begin(), better.begin(), better.end());
  }
  decision.streams = leaves_caches(layer.nest());
  if (decision.streams) decision.schedules = with_streamed(layer, decision.schedules, most);
  return decision;
}

}  // namespace pooljit::ir
