// Provenance: terms read as maxima (or minima) of input elements, and as the indices of the winners.
//
// A value is a sequence of elements. It stands for the first of the largest, or, where NaNs propagate, for a
// NaN if one of them is; with an index, for the last NaN. Two sequences are joined by what lowering writes
// (ir/reductions/max.cpp): x wins over the sequence before it if it is greater, or a NaN; or NaNs are lost at
// first, and put in at the end where a mask has seen one of the same elements. Two sequences whose indices
// ascend are merged where indices decide between equal winners. Every other operation on elements is refused,
// so a sequence that is read is a theorem about the Program.
//
// Floats may be compared as integer keys (ir/reductions/float_keys.h). Their order is that of floats, -0
// below +0, with NaNs at one end: the lemma is checked for all floats of 16 bits by a test, and for those of
// 32 and 64 bits, whose fields differ in width only, where it could break. Which of equal floats a key comes
// from is then not known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/nest.h"
#include "proof/program/sequence.h"
#include "proof/program/terms.h"

namespace pooljit::ir {

// The treatment of NaNs among the elements.
enum class Nans : uint8_t {
  kept,   // one element, or none yet: a NaN stays itself
  win,    // any NaN makes the result NaN
  last,   // the result is a NaN only if all are
  never,  // the result is no NaN: they count as absent
  lost,   // nothing is known of the result if there is one; right otherwise
};

// The form of an element: itself, or a key, with NaNs above all numbers or below.
enum class KeyForm : uint8_t { none, nans_above, nans_below };

struct Joined {
  Sequence<int64_t> elements;  // offsets in bytes, in the order in which ties are decided
  Nans nans = Nans::never;
  DType dtype = DType::f32;
  KeyForm key = KeyForm::none;
  bool was_key = false;  // joined as keys: which of equal elements it is, is not known
};

struct Winner {
  // The index that the result has where this element wins. An element of -1 stands for "no element yet".
  struct Row {
    int64_t element, index;
  };
  Sequence<Row> rows;  // in the order in which ties are decided
  Nans nans = Nans::kept;
};

class Provenance {
 public:
  // is_max: largest or smallest; input: the elements' type.
  Provenance(const TermGraph& graph, bool is_max, DType input)
      : graph_(graph), is_max_(is_max), input_(input) {}

  // Both throw Unreadable.
  const Joined& value(TermId id);
  const Winner& winner(TermId id);

 private:
  // The meaning of a mask: x wins over y where it is greater (or a NaN); no_term: it has no such meaning.
  // With indices: also where it is equal and has the smaller one, and of two NaNs where it has the larger
  // one.
  struct Wins {
    TermId x = no_term, y = no_term;
    bool nan_wins = false;
    TermId x_index = no_term, y_index = no_term;
    bool by_place() const { return x_index != no_term; }
  };
  // The winner of some elements where it equals the best of all; elsewhere `none`, which no index exceeds.
  struct Candidates {
    Sequence<Winner::Row> rows;
    TermId best = no_term;
    int64_t none = 0;
  };
  // The elements of which a mask says that one is a NaN; throws if it says anything else.
  std::vector<int64_t> seen_nans(TermId mask);
  TermId nan_test(TermId mask);  // of what; no_term: it is none
  Wins comparison(TermId mask);
  Wins wins(TermId mask);
  // --- proof/program/provenance_places.cpp
  Wins place_wins(TermId mask);
  std::optional<std::pair<TermId, TermId>> less(TermId mask) const;
  bool are_equal(TermId mask, TermId x, TermId y) const;
  bool is_place_of_nan(TermId mask, const Wins& found);
  static Sequence<Winner::Row> merged(const Sequence<Winner::Row>& before,
                                      const Sequence<Winner::Row>& after);
  Sequence<Winner::Row> merged(const Wins& found) {
    return merged(rows(found.y_index, found.y), rows(found.x_index, found.x));
  }
  // --- proof/program/provenance_equals.cpp
  Wins equality(const LaneTerm& mask) const;
  Wins kept(TermId id) const;
  Candidates candidates(TermId id);
  Candidates if_best(const LaneTerm& term);
  Candidates least(const LaneTerm& term);
  Winner first_of_best(const LaneTerm& term);
  std::optional<Winner> largest_of_kept(const LaneTerm& term);
  static std::vector<int64_t> distinct(std::vector<int64_t> elements);
  static bool are_of(const Sequence<Winner::Row>& rows, const Joined& value);
  Joined joined_by_place(const Wins& found);
  bool is_pick(const LaneTerm& term) const { return term.op == (is_max_ ? Op::max : Op::min); }

  Joined read_value(TermId id);
  Joined constant_value(const LaneTerm& term) const;
  Joined converted(const LaneTerm& term);
  Joined picked(const LaneTerm& term);
  std::optional<Joined> as_key(const LaneTerm& term);
  TermId mirrored(const LaneTerm& term) const;
  std::optional<Joined> shifted_key(const LaneTerm& term);
  Joined picked_key(const LaneTerm& term, const Joined& x, const Joined& y);
  KeyForm key_of(const LaneTerm& term);
  const Joined& key_operand(TermId id, KeyForm key);
  std::optional<Joined> carried_bits(const LaneTerm& term);
  std::optional<Joined> first_bits(const LaneTerm& term);
  Joined bits_of_half(TermId id);
  static Joined joined_by(const Wins& found, const Joined& x, const Joined& y);
  std::optional<Joined> rounded(TermId id);
  std::optional<Joined> put_together(TermId id);
  Joined selected(const LaneTerm& term);
  Joined with_seen_nans(const LaneTerm& term);
  static Joined append(const Joined& before, const Joined& after, Nans nans);
  Winner read_winner(TermId id);
  Winner of_later(const Wins& found, TermId index_of_x, TermId index_of_y);
  Winner moved(const LaneTerm& term);
  static Winner added(const Winner& a, const Winner& b, DType dtype);
  Sequence<Winner::Row> rows(TermId index, TermId value);

  const TermGraph& graph_;
  bool is_max_;
  DType input_;
  Readings<Joined> values_;
  std::map<std::pair<TermId, KeyForm>, Joined> nothing_;  // of constants that are taken as keys
  Readings<Winner> winners_;
};

// The bits of the value that no element is beyond: -inf or the lowest for a maximum.
int64_t identity_bits(DType dtype, bool is_max);

}  // namespace pooljit::ir
