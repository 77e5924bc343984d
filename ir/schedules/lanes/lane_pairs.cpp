#include "ir/schedules/lanes/lane_pairs.h"

#include <algorithm>
#include <numeric>

#include "ir/check.h"

namespace pooljit::ir {

std::optional<LanePairs> LanePairs::of(std::span<const PlacedLanes::List> lists, int64_t words) {
  LanePairs pairs;
  for (const PlacedLanes::List& list : lists) {
    Term term{};
    // Bytes that no lane reads stay in their places.
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

namespace {

// Of a vector of bytes, in words: its even and odd bytes, and what is joined of both, as the low byte; each
// made when it is asked for.
class ByteHalves {
 public:
  ByteHalves(Builder& builder, Reducer& reducer, Value bytes)
      : b_(builder), reducer_(reducer), bytes_(bytes) {}

  Value words(bool even, bool odd) {
    if (!odd) return as_words(bytes_);
    if (odd_ == no_value) odd_ = b_.shift(Op::shr, as_words(bytes_), 8);
    if (!even) return odd_;
    if (both_ == no_value) both_ = as_words(reducer_.join_values(bytes_, b_.bitcast(b_.type(bytes_), odd_)));
    return both_;
  }

 private:
  Value as_words(Value bytes) { return b_.bitcast(Type::vec(DType::u16, b_.type(bytes).lanes / 2), bytes); }

  Builder& b_;
  Reducer& reducer_;
  const Value bytes_;
  Value odd_ = no_value, both_ = no_value;
};

}  // namespace

std::vector<Value> LanePairs::reduced(Builder& builder, Reducer& reducer,
                                      const std::vector<Value>& bytes) const {
  const Type type = builder.type(bytes[0]), words = Type::vec(DType::u16, type.lanes / 2);
  std::vector<ByteHalves> halves;
  for (const Value vector : bytes) halves.emplace_back(builder, reducer, vector);
  std::vector<Value> results(bytes.size(), no_value);
  for (const Term& term : terms_) {
    std::vector<Value> pairs;
    for (ByteHalves& vector : halves) pairs.push_back(vector.words(term.even, term.odd));
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
