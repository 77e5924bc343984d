#include "ir/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "ir/builder.h"
#include "ir/passes/pipeline.h"
#include "ir/reductions/epilogue.h"
#include "ir/reductions/reducer.h"
#include "ir/schedules/family.h"
#include "ir/schedules/pixel_strips.h"

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

// Lanes of the schedule's vectors that are filled: with vectors over channels the last one may be mostly
// empty. A few idle lanes cost less than what other families do in their place.
int filled_lanes(const PoolNest& nest, const Schedule& schedule) {
  if (families[static_cast<size_t>(schedule.family)]->lanes != LaneUse::fixed) return schedule.lanes;
  const int64_t vectors = (nest.channels + schedule.lanes - 1) / schedule.lanes;
  const int64_t filled = nest.channels / vectors;
  return 5 * filled >= 4 * int64_t{schedule.lanes} ? schedule.lanes : static_cast<int>(filled);
}

// Outputs of one batch, packed, that are better stored past the caches. Streaming makes kernels faster from
// 2 MiB on, but below this it costs whoever reads the output next more than that (docs/performance.md).
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
bool streams_well(const PoolNest& nest, const Schedule& streamed, Isa isa) {
  constexpr int64_t line = 64;
  constexpr int most_rows = 4;
  const bool has_rows = families[static_cast<size_t>(streamed.family)]->lanes != LaneUse::fixed &&
                        (streamed.family != Family::row_passes || streamed.order == Order::rolling);
  if (info(isa).vector_bytes < line || (has_rows && streamed.unroll > most_rows)) return false;
  const Result<Program> program = lower(nest, streamed, isa);
  return program && output_alignment(*program) == line;
}

// Each schedule that is better streamed so before itself; of `most` = 1, for the first one only.
std::vector<Schedule> with_streamed(const PoolNest& nest, const std::vector<Schedule>& found, Isa isa,
                                    size_t most) {
  std::vector<Schedule> all;
  for (size_t i = 0; i < found.size(); ++i) {
    Schedule streamed = found[i];
    streamed.stores = Stores::streamed;
    if (i < most && streams_well(nest, streamed, isa)) all.push_back(streamed);
    all.push_back(found[i]);
  }
  return all;
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
  return false;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string print(const Schedule& schedule) {
  const bool streams = schedule.stores == Stores::streamed;
  return fmt::format("{}(lanes={}, unroll={}, tail={}, taps={}, order={}{})",
                     families[static_cast<size_t>(schedule.family)]->text, schedule.lanes, schedule.unroll,
                     tail_names[static_cast<size_t>(schedule.tail)],
                     taps_names[static_cast<size_t>(schedule.taps)],
                     order_names[static_cast<size_t>(schedule.order)], streams ? ", stores=streamed" : "");
}

Result<Schedule> parse_schedule(std::string_view text) {
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

std::vector<Schedule> enumerate_schedules(const PoolNest& nest, Isa isa, size_t most) {
  std::array<int, 3> widest = {};
  for (const LaneUse lanes : {LaneUse::moved, LaneUse::fixed, LaneUse::joined}) {
    const Result<int> needed = working_bytes(nest, isa, lanes);
    if (!needed) return {Schedule{}};  // lower() will say why
    widest[static_cast<size_t>(lanes)] = *needed;
  }
  std::vector<Schedule> found;
  std::vector<std::vector<Schedule>> by_family;
  const bool masks = can_mask(nest, isa);
  constexpr int few_lanes = 4;
  // More lanes first: a family that fills its vectors beats one that cannot.
  const auto filled = [&](const auto& schedules) {
    if (schedules.empty()) return 0;
    const int full = info(isa).vector_bytes / widest[static_cast<size_t>(LaneUse::moved)];
    // It takes shorter vectors where rows of bytes are short, or are added, but others take such windows tap
    // by tap.
    if (schedules[0].family == Family::row_passes && bytes(nest.input.dtype) == 1)
      return prefers_whole_rows(nest) ? info(isa).vector_bytes : full;
    // Where elements cannot be masked, others take borders and the ends of rows output by output.
    const bool takes_borders =
        schedules[0].family == Family::row_passes || schedules[0].family == Family::whole_planes;
    if (!masks && takes_borders && schedules[0].lanes >= few_lanes) return full;
    return filled_lanes(nest, schedules[0]);
  };
  int fullest = 0;
  for (const FamilyInfo* family : families) {
    const int family_bytes = widest[static_cast<size_t>(family->lanes)];
    // One that cannot fill more lanes than what is found will not be the first.
    if (most == 1 && fullest >= info(isa).vector_bytes / family_bytes) continue;
    by_family.push_back(family->enumerate(nest, isa, family_bytes, most));
    fullest = std::max(fullest, filled(by_family.back()));
  }
  std::stable_sort(by_family.begin(), by_family.end(),
                   [&](const auto& a, const auto& b) { return filled(a) > filled(b); });
  for (const auto& schedules : by_family) found.insert(found.end(), schedules.begin(), schedules.end());
  return leaves_caches(nest) ? with_streamed(nest, found, isa, most) : found;
}

std::vector<Schedule> schedule_space(Isa isa) {
  std::vector<Schedule> space;
  for (const FamilyInfo* family : families)
    for (int lanes = info(isa).vector_bytes; lanes >= 1; lanes /= 2)
      for (const int unroll : {1, 2, 3, 4, 8, 16})
        for (const Order order : {Order::rolling, Order::rows_first, Order::row_major, Order::strips})
          for (const Taps taps : {Taps::unroll, Taps::loop})
            for (const Tail tail : {Tail::mask, Tail::overlap, Tail::split})
              space.push_back({family->family, lanes, unroll, tail, taps, order, Stores::cached});
  return space;
}

Result<Program> lower(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  const FamilyInfo& family = *families[static_cast<size_t>(schedule.family)];
  const Result<int> widest = working_bytes(nest, isa, family.lanes);
  if (!widest) return tl::unexpected(widest.error());
  const int most = info(isa).vector_bytes / *widest;
  if (schedule.lanes < 1 || !std::has_single_bit(static_cast<unsigned>(schedule.lanes)) ||
      schedule.lanes > most)
    return invalid(
        "schedule.lanes",
        fmt::format("lanes={} is not a power of two from 1 to {} ({} lanes of {} bytes fill a vector of {})",
                    schedule.lanes, most, most, *widest, info(isa).text));
  if (schedule.unroll < 1 || schedule.unroll > 16)
    return invalid("schedule.unroll", fmt::format("unroll={} is not in 1 .. 16", schedule.unroll));
  if (schedule.tail == Tail::mask && !can_mask(nest, isa))
    return unsupported("schedule.tail",
                       fmt::format("{} cannot mask loads and stores of {}", info(isa).text,
                                   info(nest.input.dtype).spec_name),
                       "use tail=split or tail=overlap");
  if (schedule.order == Order::strips && schedule.family != Family::channels_last)
    return unsupported("schedule.order", "only channels_last walks in strips", "use another order");
  auto program = family.lower(nest, schedule, isa);
  if (!program || schedule.stores == Stores::cached) return program;
  Program streamed = stream_stores(std::move(*program));
  if (output_alignment(streamed) == 1)
    return unsupported("schedule.stores",
                       "not all whole vectors of the output lie at multiples of their size",
                       "use stores=cached");
  return streamed;
}

Result<int> working_bytes(const PoolNest& nest, Isa isa, LaneUse lanes) {
  const auto facts = reduction_facts(nest, isa, lanes);
  if (!facts) return tl::unexpected(facts.error());
  return std::max(facts->working_bytes, epilogue_bytes(nest));
}

int extra_registers(const PoolNest& nest, const ReductionFacts& facts) {
  return std::max(facts.extra_registers, epilogue_registers(nest));
}

bool can_mask(const PoolNest& nest, Isa isa) {
  if (info(isa).mask == MaskEncoding::k_bits) return true;
  const auto wide = [](const View& view) { return bytes(view.dtype) >= 4; };
  const std::vector<View> operands = operand_views(nest);
  return wide(nest.input) && wide(nest.output) && (!nest.indices || wide(*nest.indices)) &&
         std::all_of(operands.begin(), operands.end(), wide);
}

int fitting_lanes(int64_t count, Isa isa, int working_bytes) {
  const int most = info(isa).vector_bytes / working_bytes;
  int lanes = 1;
  while (lanes < most && lanes < count) lanes *= 2;
  return lanes;
}

void add_tails(std::vector<Schedule>& found, Schedule schedule, const PoolNest& nest, Isa isa,
               int64_t count) {
  const auto add = [&](Tail tail) {
    schedule.tail = tail;
    found.push_back(schedule);
  };
  const bool exact = count % schedule.lanes == 0;
  if (exact) add(can_mask(nest, isa) ? Tail::mask : Tail::split);
  if (!exact && count >= schedule.lanes) add(Tail::overlap);
  if (!exact && can_mask(nest, isa)) add(Tail::mask);
  if (!exact) add(Tail::split);
}

Value load_channels(Builder& builder, const ReductionFacts& facts, Type type, const Address& address,
                    const Slice& slice) {
  if (slice.stored.empty()) return builder.load(type, address);
  const Value mask = builder.vmask(type.mask_of(), slice.stored);
  return builder.load(type, address, mask, builder.vconst_splat(type, facts.identity));
}

std::vector<Slice> slices(int64_t begin, int64_t end, int lanes, Tail tail) {
  std::vector<Slice> found;
  for (; begin + lanes <= end; begin += lanes) found.push_back({begin, lanes, {}});
  const int64_t rest = end - begin;
  if (rest == 0) return found;
  if (tail == Tail::overlap) {
    found.push_back({end - lanes, lanes, {}});
  } else if (tail == Tail::mask) {
    const int fitting = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(rest)));
    Slice slice{begin, fitting, std::vector<int64_t>(static_cast<size_t>(fitting), 0)};
    std::fill_n(slice.stored.begin(), rest, 1);
    if (rest == fitting) slice.stored.clear();
    found.push_back(slice);
  } else {
    const std::vector<Slice> smaller = slices(begin, end, lanes / 2, tail);
    found.insert(found.end(), smaller.begin(), smaller.end());
  }
  return found;
}

}  // namespace pooljit::ir
