// Products: terms read as products of input elements. Roundings of the Program are ignored here, as for sums
// (proof/program/linear.h): the reading proves which elements are multiplied, and how often each. Of integers
// it also says how many bits of the product a term has.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "proof/program/terms.h"
#include "proof/program/written_out.h"

namespace pooljit::ir {

struct Factors {
  std::vector<int64_t> elements;  // offsets in bytes, ascending; one that is taken twice stands twice
  int bits = 64;  // of integers: the low ones that are the product's, extended as its dtype says
};

class Products {
 public:
  // is_open: a Program that cannot be read may well be right.
  Products(const TermGraph& graph, WrittenOut& written, bool is_open)
      : graph_(graph), written_(written), is_open_(is_open) {}
  // Throws Unreadable.
  const Factors& read(TermId id);

 private:
  Factors make(TermId id);
  Factors packed(TermId id);
  Factors converted(const LaneTerm& term);
  const Factors& factor(TermId id, DType dtype);
  Factors product(TermId a, TermId b, DType dtype);

  const TermGraph& graph_;
  WrittenOut& written_;
  bool is_open_;
  Readings<Factors> factors_;
};

}  // namespace pooljit::ir
