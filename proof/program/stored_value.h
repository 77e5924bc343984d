// The term of a result before the steps of an epilogue and the conversion to the output's dtype. These are
// undone one by one, the last first. Each is undone only in a shape that does, for every value, what
// docs/semantics.md says of it. Shapes are those that lowering and passes write (ir/reductions/epilogue.cpp,
// stored.cpp, ir/passes/expand_convert.cpp); any other is refused.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/nest.h"
#include "proof/program/terms.h"
#include "proof/program/written_out.h"

namespace pooljit::ir {

class StoredValue {
 public:
  StoredValue(const TermGraph& graph, WrittenOut& written, const PoolNest& nest)
      : graph_(graph), written_(written), nest_(nest), operands_(operand_views(nest)) {}

  // The result that went through the nest's steps to be stored at the place, in its result_dtype(). Where it
  // is a constant, what the steps make of it was perhaps computed already: then no_term, if that is what they
  // make of `nothing`, the result of an empty window. Throws Unreadable.
  TermId result(TermId stored, int64_t n, int64_t c, const std::vector<int64_t>& position,
                double nothing) const;

  // The term of dtype `from` of which the term is the conversion to `to`; no_term if it is none that can be
  // read.
  TermId converted_from(TermId id, DType from, DType to) const;

 private:
  struct OutputElement {
    int64_t n, c;
    const std::vector<int64_t>& position;
  };
  // Null, no_term, false: it is something else.
  TermId cvt(TermId id, DType to, DType from) const;
  bool is_number(TermId id, DType dtype, double value) const;
  bool is_integer(TermId id, int64_t value) const;
  bool is_nan_test(TermId mask, TermId of) const;
  TermId with_constant(TermId id, Op op, DType dtype, int64_t value) const;
  TermId float_before(TermId id, DType from, DType to) const;
  TermId integer_before(TermId id, DType from, DType to) const;
  TermId narrowed(TermId id, DType from, DType to) const;
  TermId rounded(TermId id, DType from, DType to) const;
  TermId rectified(TermId id) const;
  TermId before_part(TermId id, size_t step, const StepPart& part, const OutputElement& place) const;
  TermId before_step(TermId id, size_t step, const OutputElement& place) const;
  bool is_operand(TermId id, size_t number, const OutputElement& place) const;
  TermId beside_operand(TermId id, Op op, size_t number, const OutputElement& place) const;
  TermId beside_number(TermId id, Op op, double number) const;
  int64_t of_nothing(double nothing, size_t steps, bool is_stored) const;
  void expect_nothing(TermId constant, double nothing, size_t steps, bool is_stored) const;

  const TermGraph& graph_;
  WrittenOut& written_;
  const PoolNest& nest_;
  const std::vector<View> operands_;
};

}  // namespace pooljit::ir
