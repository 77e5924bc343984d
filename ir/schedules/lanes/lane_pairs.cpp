#include "ir/schedules/lanes/lane_pairs.h"

#include <algorithm>
#include <numeric>

#include "ir/check.h"

namespace pooljit::ir {

std::optional<LanePairs> LanePairs::of(std::span<const PlacedLanes::List> lists, int64_t words) {
  LanePairs pairs;
  for (const PlacedLanes::List& list : lists) {
    Term term{};
    // What is not looked at stays where it is.
    term.words.resize(static_cast<size_t>(words));
    std::iota(term.words.begin(), term.words.end(), 0);
    for (size_t lane = 0; lane < list.size(); ++lane) {
      const int64_t byte = list[lane];
      if (byte == PlacedLanes::anything) continue;
      if (byte >= 2 * words || static_cast<int64_t>(lane) >= words) return std::nullopt;
      (byte % 2 == 0 ? term.even : term.odd) = true;
      term.words[lane] = byte / 2;
    }
    if (term.even && term.odd) return std::nullopt;
    const auto same = std::ranges::find(pairs.terms_, term.words, &Term::words);
    if (same == pairs.terms_.end())
      pairs.terms_.push_back(std::move(term));
    else
      same->even = same->even || term.even, same->odd = same->odd || term.odd;
  }
  return pairs;
}

std::vector<Value> LanePairs::reduced(Builder& builder, Reducer& reducer,
                                      const std::vector<Value>& bytes) const {
  const Type type = builder.type(bytes[0]), words = Type::vec(DType::u16, type.lanes / 2);
  std::vector<Value> results(bytes.size(), no_value);
  for (const Term& term : terms_) {
    std::vector<Value> pairs;
    for (const Value even : bytes) {
      const Value both = builder.bitcast(words, even);
      const Value odd = term.odd ? builder.bitcast(type, builder.shift(Op::shr, both, 8)) : no_value;
      const Value joined = !term.odd ? even : term.even ? reducer.join_values(even, odd) : odd;
      pairs.push_back(builder.bitcast(words, joined));
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::vector<LaneSource> from;
      for (int lane = 0; lane < words.lanes; ++lane) {
        const int64_t word = term.words[i * static_cast<size_t>(words.lanes) + static_cast<size_t>(lane)];
        from.push_back({static_cast<size_t>(word / words.lanes), word % words.lanes});
      }
      const Value moved = builder.bitcast(type, gather_lanes(builder, pairs, words.lanes, from));
      results[i] = results[i] == no_value ? moved : reducer.join_values(results[i], moved);
    }
  }
  for (Value& result : results) result = builder.bitcast(words, result);
  return results;
}

Value LanePairs::low_bytes(Builder& builder, DType dtype, const std::vector<Value>& words) {
  POOLJIT_CHECK(words.size() <= 2, "more vectors of words than one of bytes holds");
  Value bytes = builder.cvt(DType::u8, words[0]);
  if (words.size() == 2) {
    const int lanes = 2 * builder.type(words[0]).lanes;
    bytes = builder.shuffle(bytes, builder.cvt(DType::u8, words[1]), lanes_from(0, lanes));
  }
  return builder.bitcast(Type::vec(dtype, builder.type(bytes).lanes), bytes);
}

}  // namespace pooljit::ir
