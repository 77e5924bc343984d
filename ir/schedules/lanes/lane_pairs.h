// Lane pairs: bytes of a row whose windows move by two columns, reduced in the lanes where they lie. Columns
// 2j and 2j + 1 are the bytes of word j, and a window that begins near 2j ends up in that word's low byte: a
// shift joins both of a pair, and words move by one shuffle, where bytes of two vectors take several.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedules/lanes/placed_lanes.h"

namespace pooljit::ir {

class LanePairs {
 public:
  // lists: by tap, the byte that each lane's window takes, among 2 * `words` of one or two vectors; what lane
  // i takes comes to word i. None where a tap is at even bytes in some windows and at odd ones in others, or
  // has no word.
  static std::optional<LanePairs> of(std::span<const PlacedLanes::List> lists, int64_t words);

  // Words, in as many vectors as there are of bytes; the low byte of each counts. The bytes have the type of
  // the elements, of whose maxima or minima a tap may count twice.
  std::vector<Value> reduced(Builder& builder, Reducer& reducer, const std::vector<Value>& bytes) const;
  // Their low bytes, as elements in one vector.
  static Value low_bytes(Builder& builder, DType dtype, const std::vector<Value>& words);
  // How many shuffles and joins that takes for a vector.
  int64_t work() const { return 2 * std::ssize(terms_); }

 private:
  // A tap, or both of a pair, of the words that each word takes.
  struct Term {
    bool even, odd;
    std::vector<int64_t> words;
  };
  std::vector<Term> terms_;
};

}  // namespace pooljit::ir
