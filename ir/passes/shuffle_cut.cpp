#include "ir/passes/shuffle_cut.h"

#include <algorithm>
#include <optional>

#include "ir/check.h"
#include "ir/passes/shuffle_forms.h"
#include "ir/passes/shuffle_units.h"

namespace pooljit::ir {
namespace {

bool is_identity(const LaneList& list, int64_t lanes) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] != static_cast<int64_t>(i)) return false;
  return static_cast<int64_t>(list.size()) == lanes;
}

// One shuffle to cut: `elements` of each operand, all positions in elements.
class Cut {
 public:
  Cut(Builder& builder, Value a, Value b, std::span<const int64_t> list)
      : b_(builder), a_(a), second_(b), list_(list.begin(), list.end()), type_(builder.type(a)) {}

  Value run() {
    if (const auto same = without_unread()) return *same;
    if (shuffle_form(b_.isa(), type_, two(), list_)) return b_.shuffle(a_, second_, list_);
    if (two() && 2 * type_.vector_bytes() <= vector_bytes())
      return cut_shuffle(b_, concat(b_, a_, second_), no_value, list_);
    if (result_bytes() > type_.vector_bytes() && !two()) return by_halves();
    if (result_bytes() < 4) return padded();
    if (const auto cut = moved_down()) return *cut;
    if (widest_units(type_, list_).width >= 4) return wide_two();
    if (const auto cut = by_quads()) return *cut;
    return info(b_.isa()).shuffles == Shuffles::whole ? by_words()
           : two()                                    ? each_then_blend()
                                                      : across_lanes();
  }

 private:
  // ------------------------------------------------------------------------------------------------- sizes
  bool two() const { return second_ != no_value; }
  int64_t elements() const { return type_.lanes; }
  int64_t size() const { return static_cast<int64_t>(list_.size()); }
  int64_t element_bytes() const { return bytes(type_.dtype); }
  int64_t result_bytes() const { return size() * element_bytes(); }
  int64_t per(int64_t unit_bytes) const { return unit_bytes / element_bytes(); }
  int vector_bytes() const { return info(b_.isa()).vector_bytes; }
  int64_t at(int64_t i) const { return list_[static_cast<size_t>(i)]; }

  // ------------------------------------------------------------------------------------------------- rules
  // An operand that no lane reads is none; the whole of an operand is itself.
  std::optional<Value> without_unread() {
    const auto in_b = [&](int64_t lane) { return lane >= elements(); };
    if (a_ == second_) {
      for (int64_t& lane : list_) lane %= elements();
      second_ = no_value;
    }
    if (two() && std::all_of(list_.begin(), list_.end(), in_b)) {
      for (int64_t& lane : list_) lane -= elements();
      a_ = second_;
      second_ = no_value;
    }
    if (std::none_of(list_.begin(), list_.end(), in_b)) second_ = no_value;
    if (!two() && is_identity(list_, elements())) return a_;
    return std::nullopt;
  }

  Value by_halves() {
    const auto middle = list_.begin() + size() / 2;
    const Value low = cut_shuffle(b_, a_, no_value, LaneList(list_.begin(), middle));
    const Value high = cut_shuffle(b_, a_, no_value, LaneList(middle, list_.end()));
    return concat(b_, low, high);
  }

  // Too small for the rules below: more lanes, of which the first count.
  Value padded() {
    LaneList more = list_;
    more.resize(static_cast<size_t>(per(4)), list_.back());
    return b_.shuffle(cut_shuffle(b_, a_, second_, more), no_value, lanes_from(0, size()));
  }

  // The concatenation of two operands from some place on: two moves of whole lanes at most, then one
  // inside the lanes.
  std::optional<Value> moved_down() {
    const int64_t per_lane = per(lane_bytes);
    if (!two() || result_bytes() != type_.vector_bytes() || elements() <= per_lane) return std::nullopt;
    for (int64_t i = 1; i < size(); ++i)
      if (at(i) != at(0) + i) return std::nullopt;
    const int64_t lane = at(0) / per_lane * per_lane;
    const auto from = [&](int64_t begin) {
      return cut_shuffle(b_, a_, second_, lanes_from(begin, elements()));
    };
    const Value low = from(lane), high = from(lane + per_lane);
    LaneList in_lane;
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t place = i % per_lane + at(0) - lane;
      const int64_t element = i - i % per_lane + place % per_lane;
      in_lane.push_back(place < per_lane ? element : elements() + element);
    }
    return b_.shuffle(low, high, in_lane);
  }

  // Two operands, units of 4 bytes at least, no two-source permute.
  Value wide_two() {
    if (const auto cut = in_lane_then_qwords()) return *cut;
    if (const auto cut = blend_then_permute()) return *cut;
    return each_then_blend();
  }

  // An in-lane shuffle of two, then the middle qwords change places: what even and odd lanes need.
  std::optional<Value> in_lane_then_qwords() {
    if (result_bytes() != 32) return std::nullopt;
    LaneList swapped = list_, in_lane;
    const auto qword = [&](int64_t number) { return list_.begin() + number * per(8); };
    for (int64_t number : {0, 2, 1, 3}) in_lane.insert(in_lane.end(), qword(number), qword(number) + per(8));
    if (!shuffle_form(b_.isa(), type_, true, in_lane)) return std::nullopt;
    const LaneList all = lanes_from(0, size());
    swapped.clear();
    for (int64_t number : {0, 2, 1, 3})
      swapped.insert(swapped.end(), all.begin() + number * per(8), all.begin() + (number + 1) * per(8));
    return b_.shuffle(b_.shuffle(a_, second_, in_lane), no_value, swapped);
  }

  // Where no place is wanted from both operands, they fit into one.
  std::optional<Value> blend_then_permute() {
    LaneList both = lanes_from(0, elements());
    std::vector<bool> from_a(both.size(), false);
    for (int64_t lane : list_)
      if (lane < elements()) from_a[static_cast<size_t>(lane)] = true;
    LaneList places;
    for (int64_t lane : list_) {
      const auto place = static_cast<size_t>(lane % elements());
      if (lane >= elements() && from_a[place]) return std::nullopt;
      if (lane >= elements()) both[place] = lane;
      places.push_back(lane % elements());
    }
    return cut_shuffle(b_, b_.shuffle(a_, second_, both), no_value, places);
  }

  // What each operand gives, at its place; then one of the two for each lane.
  Value each_then_blend() {
    LaneList from_a, from_b, blend;
    for (int64_t i = 0; i < size(); ++i) {
      const bool in_b = at(i) >= elements();
      from_a.push_back(in_b ? i : at(i));
      from_b.push_back(in_b ? at(i) - elements() : i);
      blend.push_back(in_b ? size() + i : i);
    }
    const Value a = cut_shuffle(b_, a_, no_value, from_a);
    return b_.shuffle(a, cut_shuffle(b_, second_, no_value, from_b), blend);
  }

  // Every 4 bytes of the result come from one lane of one operand: first each lane puts together the 4-byte
  // units that are wanted of it, then those are permuted as a whole.
  std::optional<Value> by_quads() {
    const int64_t per_quad = per(4), per_lane = per(lane_bytes);
    if (size() % per_quad != 0) return std::nullopt;
    LaneList arranged[2] = {lanes_from(0, elements()), lanes_from(0, elements())};
    std::vector<int64_t> used(static_cast<size_t>(2 * elements() / per_lane + 2), 0);
    LaneList permuted;
    for (int64_t quad = 0; quad < size(); quad += per_quad) {
      const int64_t lane = at(quad) / per_lane;
      const bool in_b = at(quad) >= elements();
      for (int64_t i = 0; i < per_quad; ++i)
        if (at(quad + i) / per_lane != lane || (at(quad + i) >= elements()) != in_b) return std::nullopt;
      int64_t& count = used[static_cast<size_t>(lane)];
      if (count == 4) return std::nullopt;
      // a fills its lanes from below and b from above, so that they often fit into one register.
      const int64_t place = lane * per_lane % elements() + (in_b ? 3 - count : count) * per_quad;
      if (place + per_quad > elements()) return std::nullopt;
      ++count;
      for (int64_t i = 0; i < per_quad; ++i) {
        arranged[in_b][static_cast<size_t>(place + i)] = at(quad + i) % elements();
        permuted.push_back((in_b ? elements() : 0) + place + i);
      }
    }
    const Value a = cut_shuffle(b_, a_, no_value, arranged[0]);
    const Value b = two() ? cut_shuffle(b_, second_, no_value, arranged[1]) : no_value;
    return cut_shuffle(b_, a, b, permuted);
  }

  // Bytes where 16-bit units can go anywhere: the unit of each even byte, the unit of each odd byte, then
  // each byte to its half of the unit.
  Value by_words() {
    LaneList words[2], halves[2], blend;
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t unit = at(i) / 2 * 2;
      const int64_t pair = i / 2 * 2;
      for (int64_t half : {0, 1}) {
        if (i % 2 == half) words[half].insert(words[half].end(), {unit, unit + 1});
        halves[half].push_back(i % 2 == half ? pair + at(i) % 2 : i);
      }
      blend.push_back(i % 2 ? size() + i : i);
    }
    Value half[2];
    for (int which : {0, 1}) {
      const Value moved = cut_shuffle(b_, a_, second_, words[which]);
      half[which] = cut_shuffle(b_, moved, no_value, halves[which]);
    }
    return b_.shuffle(half[0], half[1], blend);
  }

  // One operand of two lanes: what stays in its lane, what changes it, and one of the two for each byte.
  Value across_lanes() {
    const int64_t per_lane = per(lane_bytes);
    LaneList swap = lanes_from(per_lane, per_lane), stays, changes, blend;
    for (int64_t i = 0; i < per_lane; ++i) swap.push_back(i);
    for (int64_t i = 0; i < size(); ++i) {
      const bool changed = at(i) / per_lane != i / per_lane;
      stays.push_back(changed ? i : at(i));
      changes.push_back(changed ? (at(i) + per_lane) % (2 * per_lane) : i);
      blend.push_back(changed ? size() + i : i);
    }
    const Value swapped = b_.shuffle(a_, no_value, swap);
    const Value a = cut_shuffle(b_, a_, no_value, stays);
    return cut_shuffle(b_, a, cut_shuffle(b_, swapped, no_value, changes), blend);
  }

  Builder& b_;
  Value a_, second_;
  LaneList list_;
  Type type_;
};

}  // namespace

Value cut_shuffle(Builder& builder, Value a, Value b, std::span<const int64_t> lanes) {
  return Cut(builder, a, b, lanes).run();
}

Value lower_half(Builder& builder, Value a) {
  return builder.shuffle(a, no_value, lanes_from(0, builder.type(a).lanes / 2));
}

Value upper_half(Builder& builder, Value a) {
  const int lanes = builder.type(a).lanes;
  return cut_shuffle(builder, a, no_value, lanes_from(lanes / 2, lanes / 2));
}

Value concat(Builder& builder, Value low, Value high) {
  return builder.shuffle(low, high, lanes_from(0, 2 * builder.type(low).lanes));
}

}  // namespace pooljit::ir
