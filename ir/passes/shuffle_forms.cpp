#include "ir/passes/shuffle_forms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "ir/passes/shuffle_units.h"

namespace pooljit::ir {
namespace {

using Form = std::optional<ShuffleForm>;

// A list with narrower units, each made when it is looked at: most patterns see from the first few that they
// do not fit.
class View {
 public:
  View(const Units& widest, int to_width)
      : width(to_width),
        per_source(widest.per_source * widest.width / to_width),
        count(widest.count * widest.width / to_width),
        widest_(widest),
        part_bits_(std::countr_zero(static_cast<unsigned>(widest.width / to_width))),
        per_lane_(lane_bytes / to_width) {}

  const int width, per_source, count;
  int at(int i) const {
    const int of_widest = i >> part_bits_;
    return (widest_.at[static_cast<size_t>(of_widest)] << part_bits_) + i - (of_widest << part_bits_);
  }
  int operand(int i) const { return at(i) >= per_source ? 1 : 0; }
  int unit(int i) const { return at(i) & (per_source - 1); }
  int per_lane() const { return per_lane_; }

 private:
  const Units& widest_;
  const int part_bits_, per_lane_;
};

// Each pattern gets the list with its widest units and whether b is among the operands.
struct List {
  Isa isa;
  bool two;
  Units widest;

  bool has_width(int width) const { return width <= widest.width; }
  View at(int width) const { return {widest, width}; }
  View at_most(int width) const { return at(std::min(width, widest.width)); }
};

// The first unit if the units are consecutive ones of a followed by b, else -1.
int consecutive_from(const Units& units) {
  for (int i = 1; i < units.count; ++i)
    if (units.at[static_cast<size_t>(i)] != units.at[0] + i) return -1;
  return units.at[0];
}

bool stays_in_lane(const View& units) {
  for (int i = 0; i < units.count; ++i)
    if (units.unit(i) / units.per_lane() != i / units.per_lane()) return false;
  return true;
}

// True if each lane does what lane 0 does.
bool same_in_each_lane(const View& units) {
  const int step = units.per_lane();
  for (int i = step; i < units.count; ++i)
    if (units.at(i) != units.at(i - step) + step) return false;
  return true;
}

// ------------------------------------------------------------------------------------------------ one source
Form low(const List& list) {
  if (consecutive_from(list.widest) != 0) return {};
  return ShuffleForm{Move::low, list.widest.width, 0};
}

Form part(const List& list) {
  const Units& units = list.widest;
  const int offset = consecutive_from(units) * units.width;
  for (int size : {16, 32})
    if (offset > 0 && offset % size == 0 && units.result_bytes() <= size)
      return ShuffleForm{Move::part, size, offset / size};
  return {};
}

Form splat(const List& list) {
  const Units& units = list.widest;
  if (units.width > 8) return {};
  for (int i = 0; i < units.count; ++i)
    if (units.at[static_cast<size_t>(i)] != 0) return {};
  return ShuffleForm{Move::splat, units.width, 0};
}

Form shift_down(const List& list) {
  const Units& units = list.widest;
  const int first = consecutive_from(units);
  if (first < 0 || units.register_bytes() != lane_bytes) return {};
  return ShuffleForm{Move::shift_down, 1, first * units.width};
}

Form dwords_in_lane(const List& list) {
  if (!list.has_width(4)) return {};
  const View units = list.at(4);
  if (!stays_in_lane(units) || !same_in_each_lane(units)) return {};
  int64_t imm = 0;
  for (int i = 0; i < units.count && i < 4; ++i) imm |= int64_t{units.unit(i) % 4} << 2 * i;
  return ShuffleForm{Move::dwords_in_lane, 4, imm};
}

Form qwords(const List& list) {
  if (!list.has_width(8)) return {};
  const View units = list.at(8);
  if (list.widest.register_bytes() != 32) return {};
  int64_t imm = 0;
  for (int i = 0; i < units.count; ++i) imm |= int64_t{units.unit(i)} << 2 * i;
  return ShuffleForm{Move::qwords, 8, imm};
}

Form bytes_in_lane(const List& list) {
  if (!stays_in_lane(list.at(list.widest.width))) return {};
  return ShuffleForm{Move::bytes_in_lane, 1, 0};
}

Form permute(const List& list) {
  const int bytes = list.widest.register_bytes();
  if (list.isa < Isa::avx512) {
    if (bytes != 32 || !list.has_width(4)) return {};
    return ShuffleForm{Move::permute, 4, 0};
  }
  for (int width : {8, 4, 2})
    if (list.has_width(width) && (bytes > lane_bytes || width == 2))
      return ShuffleForm{Move::permute, width, 0};
  return {};
}

// ----------------------------------------------------------------------------------------------- two sources
Form unpack(const List& list) {
  for (int width : {8, 4, 2, 1}) {
    if (!list.has_width(width)) continue;
    const View units = list.at(width);
    for (int half : {0, 1}) {
      bool fits = true;
      for (int i = 0; i < units.count && fits; ++i) {
        const int place = i & (units.per_lane() - 1);
        const int unit = i - place + half * units.per_lane() / 2 + place / 2;
        fits = units.operand(i) == place % 2 && units.unit(i) == unit;
      }
      if (fits) return ShuffleForm{half ? Move::unpack_high : Move::unpack_low, width, 0};
    }
  }
  return {};
}

Form insert(const List& list) {
  const Units& units = list.widest;
  for (int size : {32, 16}) {
    if (size % units.width != 0 || units.result_bytes() <= size || units.source_bytes() < size) continue;
    const int per_part = size / units.width;
    for (int number = 0; number < units.result_bytes() / size; ++number) {
      bool fits = true;
      for (int i = 0; i < units.count && fits; ++i) {
        const bool inside = i / per_part == number;
        fits = units.operand(i) == inside && units.unit(i) == (inside ? i % per_part : i);
      }
      if (fits) return ShuffleForm{Move::insert, size, number};
    }
  }
  return {};
}

Form blend(const List& list) {
  const View units = list.at_most(8);
  int64_t imm = 0;
  for (int i = 0; i < units.count; ++i) {
    if (units.unit(i) != i) return {};
    imm |= int64_t{units.operand(i)} << i;
  }
  return ShuffleForm{Move::blend, units.width, imm};
}

Form shuffle_two(const List& list) {
  for (int width : {8, 4}) {
    if (!list.has_width(width)) continue;
    const View units = list.at(width);
    const int half = units.per_lane() / 2;
    if (!stays_in_lane(units) || (width == 4 && !same_in_each_lane(units))) continue;
    bool fits = true;
    int64_t imm = 0;
    for (int i = 0; i < units.count && fits; ++i) {
      fits = units.operand(i) == i % units.per_lane() / half;
      if (width == 8) imm |= int64_t{units.unit(i) % 2} << i;
      if (width == 4 && i < 4) imm |= int64_t{units.unit(i) % 4} << 2 * i;
    }
    if (fits) return ShuffleForm{Move::shuffle_two, width, imm};
  }
  return {};
}

Form lanes(const List& list) {
  const Units& units = list.widest;
  if (list.isa >= Isa::avx512 || units.width != lane_bytes || units.count != 2 || units.per_source != 2)
    return {};
  return ShuffleForm{Move::lanes, lane_bytes, units.at[0] | units.at[1] << 4};
}

Form align(const List& list) {
  const Units& units = list.widest;
  const int first = consecutive_from(units);
  if (first < 0 || units.source_bytes() != units.register_bytes()) return {};
  if (units.source_bytes() == lane_bytes) return ShuffleForm{Move::align, 1, first * units.width};
  if (list.isa < Isa::avx512 || units.width < 4) return {};
  const int width = units.width > 8 ? 8 : units.width;
  return ShuffleForm{Move::align, width, first * units.width / width};
}

Form align_in_lane(const List& list) {
  const Units& widest = list.widest;
  const View units = list.at_most(8);
  const int first = units.at(0), per_lane = units.per_lane();
  if (widest.source_bytes() != widest.register_bytes() || widest.result_bytes() != widest.source_bytes() ||
      first >= per_lane)
    return {};
  for (int i = 0; i < units.count; ++i) {
    const int lane = i / per_lane, place = i % per_lane + first;
    const int unit = lane * per_lane + place % per_lane;
    if (units.operand(i) != place / per_lane || units.unit(i) != unit) return {};
  }
  return ShuffleForm{Move::align_in_lane, 1, first * units.width};
}

Form permute_two(const List& list) {
  if (list.isa < Isa::avx512) return {};
  for (int width : {8, 4, 2})
    if (list.has_width(width)) return ShuffleForm{Move::permute_two, width, 0};
  return {};
}

using Pattern = Form (*)(const List&);

// Cheapest first.
constexpr Pattern one_source[] = {low,    part,          splat,  shift_down, dwords_in_lane,
                                  qwords, bytes_in_lane, permute};
constexpr Pattern two_sources[] = {unpack, insert, blend,         shuffle_two,
                                   lanes,  align,  align_in_lane, permute_two};

Form match(const List& list) {
  const auto first_of = [&](const auto& patterns) -> Form {
    for (const Pattern pattern : patterns)
      if (Form form = pattern(list)) return form;
    return {};
  };
  return list.two ? first_of(two_sources) : first_of(one_source);
}

// A Program has few different shuffles, and both the legaliser and the back end ask about each.
struct Known {
  Isa isa = least_isa;
  bool two = false;
  Type source;
  size_t count = 0;                         // 0: nothing is known yet
  std::array<uint8_t, most_units> lanes{};  // zeros behind them
  Form form;
};
constinit thread_local std::array<Known, 64> known{};

// Lists differ in few low bits; the places that they get do not.
size_t place_of(size_t hash) { return (hash * 0x9E3779B97F4A7C15) >> 58; }
static_assert(known.size() == size_t{1} << (64 - 58));

}  // namespace

Form shuffle_form(Isa isa, const Type& source, bool two, std::span<const int64_t> lane_list) {
  if (lane_list.size() > most_units) return {};
  std::array<uint8_t, most_units> lanes{};
  for (size_t i = 0; i < lane_list.size(); ++i) lanes[i] = static_cast<uint8_t>(lane_list[i]);
  size_t hash = lane_list.size();
  for (size_t i = 0; i < lane_list.size(); i += sizeof hash) {
    size_t word;
    std::memcpy(&word, lanes.data() + i, sizeof word);
    hash = hash * 31 + word + (word >> 29);
  }
  Known& one = known[place_of(hash + static_cast<size_t>(two) + 2 * static_cast<size_t>(source.dtype))];
  const bool is_known = one.count == lane_list.size() && one.isa == isa && one.two == two &&
                        one.source == source && one.lanes == lanes;
  if (!is_known)
    one = {isa, two, source, lane_list.size(), lanes, match({isa, two, widest_units(source, lane_list)})};
  return one.form;
}

}  // namespace pooljit::ir
