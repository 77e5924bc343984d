// Proves that a Program computes its nest, for every input. The Program is run once in the symbolic domain
// (proof/program/terms.h), and the term that it left in each output element is read back:
//   maximum, minimum: exactly the window's elements, what becomes of NaNs, ties in row-major order where it
//     matters, and each winner's index (proof/program/provenance.h);
//   sum, average, an average's gradient: each element's weight, and the divisor (proof/program/linear.h); how
//   the
//     sum is rounded is left;
//   conversions on store and the steps of an epilogue, exactly (proof/program/stored_value.h).
// Every access is checked, and each output element is written.
//
// Costs some hundred nanoseconds per operation on a lane: for small tensors.
#pragma once

#include <cstdint>
#include <span>

#include "ir/error.h"
#include "ir/nest.h"
#include "ir/program.h"
#include "proof/program/terms.h"

namespace pooljit::ir {

// Whether there is a reading of what the nest stores: one of the window's elements, or a weighted sum or
// the product of them. Errors: "prove.unsupported".
Result<void> has_reading(const PoolNest& nest);

struct ProgramProof {
  int64_t outputs = 0;  // elements, indices included
  int64_t terms = 0;    // different ones that the Program computes
};

// Errors: "prove.program" names the output and what is wrong with it, or what cannot be read; "interp.*";
// unsupported: "prove.unsupported" for what has no reading: other reductions, indices where a stride of 0
// repeats elements (docs/proof.md).
// sizes: of a Program for all extents, which is then proved for those of the nest.
Result<ProgramProof> prove(const Program& program, const PoolNest& nest, int64_t batch = 1,
                           SizeWords sizes = {});

// The terms that a run left in the outputs: by offset in bytes, the term of the element there; no_term: it
// takes in elements of which no term was wanted.
struct StoredTerms {
  Terms::Stored output, indices;
};
struct PlaneIndex {
  int64_t n, c;
};
// The same reading of what something else left there than a Program: machine code that was made for the ISA.
// is_legal: from a legal Program; planes: of which it is read; empty: of all. Errors: as of prove(), and
// "prove.wrong" where what is read is not what the nest says, whatever else might be read.
Result<ProgramProof> prove_stored(const StoredTerms& stored, TermGraph& graph, const PoolNest& nest,
                                  int64_t batch, Isa isa, bool is_legal,
                                  std::span<const PlaneIndex> planes = {});

// Whether two Programs of a nest, whatever its operator, leave equal terms in equal places: then they do the
// same for every input. False says nothing. Errors: "interp.*"; unsupported: "prove.unsupported" where a mask
// that depends on the input guards memory.
Result<bool> store_the_same(const Program& a, const Program& b, const PoolNest& nest, int64_t batch = 1);

}  // namespace pooljit::ir
