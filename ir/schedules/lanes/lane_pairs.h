// Lane pairs: reduces bytes of a row whose windows move by two columns, without moving the bytes. Columns
// 2j and 2j + 1 are the bytes of word j. A window that begins near 2j ends up in that word's low byte: a
// shift joins the two bytes of a pair, and one shuffle moves words. Shuffling bytes of two vectors would
// take several instructions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedules/lanes/placed_lanes.h"

namespace pooljit::ir {

class LanePairs {
 public:
  // lists: for each tap, the byte that each lane's window takes, among 2 * `words` of one or two vectors.
  // What lane i takes ends up in word i. None if a tap is at even bytes in some windows and at odd ones in
  // others, or has no word.
  static std::optional<LanePairs> of(std::span<const PlacedLanes::List> lists, int64_t words);

  // The reduced words, in as many vectors as `bytes` has; only the low byte of each counts. The bytes have
  // the type of the elements. A tap may count twice, so they are for maxima or minima only.
  std::vector<Value> reduced(Builder& builder, Reducer& reducer, const std::vector<Value>& bytes) const;
  // The low bytes of words, as elements in one vector.
  static Value low_bytes(Builder& builder, DType dtype, const std::vector<Value>& words);
  // Shuffles and joins for one vector.
  int64_t work() const { return 2 * std::ssize(terms_); }

 private:
  // A tap, or both taps of a pair, and the words that each word takes.
  struct Term {
    bool even, odd;
    std::vector<int64_t> words;
  };
  std::vector<Term> terms_;
};

}  // namespace pooljit::ir
